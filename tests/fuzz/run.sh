#!/usr/bin/env bash
# Builds the fuzz targets with clang-22 and runs each for a while:
#   run.sh [SECONDS [TARGET...]]   default: 60 seconds of each; 0 only builds
# A build of its own in build-fuzz (or $FUZZ_BUILD), whose corpora grow from run to run. Its log has
# a line for each slice: when, commit, target, seconds of the processor, exit status.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(program_text schedule_text wire import infer)
clang=${CLANGXX:-clang++-22}
command -v "$clang" >/dev/null || { echo "run.sh: $clang is not there: install clang-22 and libclang-rt-22-dev" >&2; exit 1; }

build=${FUZZ_BUILD:-build-fuzz}
mkdir -p "$build"/proto "$build"/obj
for p in proto/{workload,schedule,target} compiler/import/onnx; do
  [ "$build/$p.pb.cc" -nt "$p.proto" ] || protoc -I . --cpp_out="$build" "$p.proto"
done
flags=(-std=c++20 -O1 -g -I . -isystem "$build" -DFMT_SHARED -DSPDLOG_COMPILED_LIB -DSPDLOG_FMT_EXTERNAL
       -fsanitize=address,undefined -fno-sanitize-recover=undefined)
libraries=(-lfmt -lspdlog -lcrypto -lprotobuf -lpthread)

# Sources are compiled once, with coverage but without the fuzzer's main.
sources=$(ls base/*.cc compiler/{target,tir,te,schedule,wire,graph,ops,partition,import}/*.cc \
  compiler/graph/*/*.cc tests/support/*.cc tests/fuzz/front_end.cc tests/fuzz/wire_mutator.cc \
  "$build"/proto/*.pb.cc "$build"/compiler/import/*.pb.cc)
newest_header=$(find base compiler tests/support tests/fuzz \( -name '*.h' -o -name '*.inc' \) -printf '%T@ %p\n' |
  sort -n | tail -1 | cut -d' ' -f2)
stale=() objects=()
for source in $sources; do
  object=$build/obj/$(echo "$source" | tr / _).o
  objects+=("$object")
  [ "$object" -nt "$source" ] && [ "$object" -nt "$newest_header" ] || stale+=("$source" "$object")
done
export COMPILE="$(command -v ccache || true) $clang ${flags[*]} -fsanitize=fuzzer-no-link"
[ ${#stale[@]} -eq 0 ] || printf '%s\n' "${stale[@]}" |
  xargs -P "${FUZZ_JOBS:-$(nproc)}" -n 2 sh -c 'exec $COMPILE -c "$0" -o "$1"'
"$clang" "${flags[@]}" tests/fuzz/make_seeds.cc "${objects[@]}" "${libraries[@]}" -o "$build"/make_seeds
"$build"/make_seeds "$build"/seeds
mkdir -p "$build"/seeds/import
for model in tests/conformance/cases/*/model.onnx /usr/share/libonnx-testdata/data/*/*/model.onnx; do
  [ "$(stat -c %s "$model" 2>/dev/null || echo 9999)" -gt 4096 ] ||
    cp "$model" "$build/seeds/import/$(basename "$(dirname "$model")").onnx"
done

status=0
for target in "${targets[@]}"; do
  extra=()
  case $target in
    import) extra=(tests/fuzz/mutate_message.cc) ;;
    wire) extra=(-DFUZZ_PREFIX=1 tests/fuzz/mutate_message.cc) ;;
  esac
  "$clang" "${flags[@]}" -fsanitize=fuzzer tests/fuzz/fuzz_$target.cc "${extra[@]}" "${objects[@]}" \
    "${libraries[@]}" -o "$build"/fuzz_$target
  [ "$seconds" != 0 ] || continue
  mkdir -p "$build"/corpus/$target "$build"/seeds/$target "$build"/findings
  echo "== $target"
  code=0
  { TIMEFORMAT=%U
    time "$build"/fuzz_$target -max_total_time="$seconds" -timeout=60 -rss_limit_mb=3072 \
      -print_final_stats=0 -artifact_prefix="$build"/findings/$target- \
      "$build"/corpus/$target "$build"/seeds/$target tests/fuzz/regressions/$target 2>&3 || code=$?
  } 3>&2 2>"$build"/time
  echo "$(date -u +%FT%TZ) $(git rev-parse --short HEAD) $target $(tail -1 "$build"/time) $code" >>"$build"/log
  [ $code = 0 ] || status=1
done
exit $status
