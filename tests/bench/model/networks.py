#!/usr/bin/env python3
"""Compiles whole networks and compares them with other runtimes.

    networks.py FOLDER --bin build/bin --library-dir build/lib [--fetch] [--only NAME ...]
                [--threads 1] [--db records.db] [--peers ort,openvino] [--rounds 6] [--seconds 0.2]
                [--check] [--shape INPUT=1x3x48x320 ...] [--json FILE]

Takes every .onnx file of FOLDER; --fetch first puts there the light models of the installed package
onnx, with seeded weights, and PP-OCR's two from the wheel rapidocr-onnxruntime (by pip). Prints a row
for each: kernels; seconds and peak memory of `temper compile`; the median milliseconds of each
runtime, in turns that begin when the others' threads sleep (../kernels/turns.py); the faster peer's
time by ours, median over the rounds with its 10th and 90th percentile; the largest difference to the
first peer's outputs in their standard deviations. --check compares outputs without timing. Exit
status 1 where a network fails or differs by more than 1e-3. Needs numpy, onnx and the peers. Its
shape is given with --shape where an input leaves dimensions open; for PP-OCR's models it is known.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import models
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../kernels"))
import turns  # noqa: E402

TOLERANCE = 1e-3


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--bin", required=True, help="folder of the program temper")
    p.add_argument("--library-dir", required=True, help="folder of libtemper.so")
    p.add_argument("--fetch", action="store_true")
    p.add_argument("--only", action="append", help="a file's name without .onnx")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--db")
    p.add_argument("--peers", default="ort,openvino")
    p.add_argument("--rounds", type=int, default=6)
    p.add_argument("--seconds", type=float, default=0.2, help="of each turn")
    p.add_argument("--check", action="store_true")
    p.add_argument("--shape", action="append", default=[])
    p.add_argument("--json")
    return p.parse_args()


def compile_model(flags, path, output, shapes):
    """What `temper compile` reports, and its peak memory."""
    arguments = [f"{flags.bin}/temper", "compile", path, "-o", output, "--json", "--threads",
                 str(flags.threads)]
    arguments += [a for shape in shapes for a in ("--shape", shape)]
    arguments += ["--db", flags.db] if flags.db else []
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(arguments, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            raise RuntimeError(f"temper compile: {err.read().strip()}")
        report = json.loads(out.read().splitlines()[-1])
    return {"kernels": len(report["kernels"]), "compile_seconds": report["seconds"],
            "compile_mb": usage.ru_maxrss / 1000 * 1.024,
            "model_mb": os.path.getsize(path) / 1e6}


def difference(ours, theirs):
    """The largest, in standard deviations of `theirs`."""
    if len(ours) != len(theirs):
        raise RuntimeError(f"{len(ours)} outputs for {len(theirs)}")
    worst = 0.0
    for x, y in zip(ours, theirs):
        if x.shape != y.shape or x.dtype != y.dtype:
            raise RuntimeError(f"{x.dtype}{x.shape} for {y.dtype}{y.shape}")
        x, y = x.astype(np.float64), y.astype(np.float64)
        scale = float(y.std()) or float(np.abs(y).max()) or 1.0
        worst = max(worst, float(np.abs(x - y).max()) / scale)
    return worst


def compare(flags, runtimes, folder):
    outputs = {}
    for kind, runtime in runtimes.items():
        path = os.path.join(folder, kind + ".npz")
        runtime.ask(f"0 save {path}")
        with np.load(path) as file:
            outputs[kind] = [file[name] for name in file.files]
    peers = [kind for kind in runtimes if kind != "temper"]
    result = {"difference": difference(outputs["temper"], outputs[peers[0]])}
    if flags.check:
        return result
    times = {kind: [] for kind in runtimes}
    for number in range(flags.rounds):
        order = list(runtimes)
        for kind in order if number % 2 == 0 else reversed(order):
            turns.settle(runtimes.values())
            times[kind].append(statistics.median(runtimes[kind].ask(f"0 {flags.seconds}")) / 1e3)
    result["ms"] = {kind: statistics.median(t) for kind, t in times.items()}
    best = min(peers, key=lambda kind: result["ms"][kind])
    ratios = np.array(times[best]) / np.array(times["temper"])
    result["ratio"] = [float(q) for q in np.percentile(ratios, [50, 10, 90])]
    return result


def measure(flags, path, shapes):
    with tempfile.TemporaryDirectory() as folder:
        compiled, feeds = f"{folder}/model.so", f"{folder}/feeds.npz"
        # In a process of its own: a child's peak memory counts what its parent has when it starts.
        subprocess.run([sys.executable, os.path.join(HERE, "models.py"), path, feeds, *shapes],
                       check=True)
        result = compile_model(flags, path, compiled, shapes)
        runtimes = {}
        try:
            for kind in ["temper", *flags.peers.split(",")]:
                runtimes[kind] = turns.Contestant(
                    sys.executable, kind, flags.threads, feeds,
                    [compiled if kind == "temper" else path], flags.library_dir)
            others = turns.Others(runtimes.values())
            result.update(compare(flags, runtimes, folder))
            others.warn(path)
        finally:
            for runtime in runtimes.values():
                runtime.close()
    return result


def show(name, threads, r):
    cells = [name, str(threads), str(r["kernels"]),
             f"{r['compile_seconds']:.1f} s, {r['compile_mb']:.0f} MB"]
    if "ms" in r:
        cells += [f"{ms:.2f}" for ms in r["ms"].values()]
        cells.append("{:.3f} ({:.3f} to {:.3f})".format(*r["ratio"]))
    cells.append(f"{r['difference']:.1e}")
    print(f"| {' | '.join(cells)} |", flush=True)


def main():
    flags = parse()
    if flags.fetch:
        models.fetch(flags.folder)
    names = flags.only or sorted(f[:-5] for f in os.listdir(flags.folder) if f.endswith(".onnx"))
    results, failed = [], False
    for name in names:
        path = os.path.join(flags.folder, name + ".onnx")
        try:
            result = measure(flags, path, flags.shape or models.SHAPES.get(name, []))
        except RuntimeError as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            results.append({"name": name, "error": str(error)})
            failed = True
            continue
        results.append({"name": name, "threads": flags.threads, **result})
        show(name, flags.threads, result)
        failed = failed or result["difference"] > TOLERANCE
    if flags.json:
        with open(flags.json, "w") as file:
            json.dump(results, file, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
