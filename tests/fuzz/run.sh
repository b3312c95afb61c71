#!/usr/bin/env bash
# Builds the fuzz targets with clang-22 and runs each for SECONDS (default 60): run.sh [SECONDS]
# A build of its own in build-fuzz; corpora are kept there between runs.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
clang=${CLANGXX:-clang++-22}
command -v "$clang" >/dev/null || { echo "run.sh: $clang is not there: install clang-22 and libclang-rt-22-dev" >&2; exit 1; }

build=build-fuzz
mkdir -p $build/proto $build/obj
for p in proto/{workload,schedule,target} compiler/import/onnx; do
  protoc -I . --cpp_out=$build $p.proto
done
flags=(-std=c++20 -O1 -g -I . -isystem $build -DFMT_SHARED -DSPDLOG_COMPILED_LIB -DSPDLOG_FMT_EXTERNAL
       -fsanitize=address,undefined -fno-sanitize-recover=undefined)
libraries=(-lfmt -lspdlog -lcrypto -lprotobuf -lpthread)

# Sources are compiled once, with coverage but without the fuzzer's main.
sources=$(ls base/*.cc compiler/{target,tir,te,schedule,wire}/*.cc tests/support/*.cc $build/proto/*.pb.cc \
  compiler/graph/*.cc compiler/graph/*/*.cc compiler/import/*.cc $build/compiler/import/*.pb.cc)
newest_header=$(find base compiler tests/support -name '*.h' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2)
objects=()
for source in $sources; do
  object=$build/obj/$(echo "$source" | tr / _).o
  objects+=("$object")
  [ "$object" -nt "$source" ] && [ "$object" -nt "$newest_header" ] && continue
  "$clang" "${flags[@]}" -fsanitize=fuzzer-no-link -c "$source" -o "$object"
done
"$clang" "${flags[@]}" tests/fuzz/make_seeds.cc "${objects[@]}" "${libraries[@]}" -o $build/make_seeds
$build/make_seeds $build/seeds
mkdir -p $build/seeds/import
for model in tests/conformance/cases/*/model.onnx; do
  [ "$(stat -c %s "$model")" -gt 4096 ] || cp "$model" "$build/seeds/import/$(basename "$(dirname "$model")").onnx"
done
for target in program_text schedule_text wire import; do
  "$clang" "${flags[@]}" -fsanitize=fuzzer tests/fuzz/fuzz_$target.cc "${objects[@]}" "${libraries[@]}" \
    -o $build/fuzz_$target
  mkdir -p $build/corpus/$target
  echo "== $target"
  $build/fuzz_$target -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=0 \
    -artifact_prefix=$build/ $build/corpus/$target $build/seeds/$target
done
