#!/usr/bin/env python3
"""What two threads gain over one: single kernels of the families, and kernels within networks.

    gains.py --bin build/bin [--family conv ...] [--only NAME ...] [--network MODEL.onnx ...]
             [--db records.db] [--threads 2] [--seconds 0.3] [--mflop 50] [--target native]
             [--keep FOLDER]

Every kernel of the families (matmul, batch_matmul, conv and conv1x1 unless told) and of the networks
with at least --mflop million operations is compiled for one thread and for several, and both are run
in turns with as many peak loops (../model/model_gain, which is looked for in --bin). Prints a row a
kernel: microseconds on one thread and on all, the gain, and its share of what the peak loops gain;
then the median and the least share. --keep compiles into a folder, and only what it lacks: run it
with --seconds 0 first, then timed while the machine is quiet. Needs onnx and numpy.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

import families
import onnx

COMPUTE_BOUND = ["matmul", "batch_matmul", "conv", "conv1x1"]


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--bin", required=True, help="folder of the programs temper and model_gain")
    p.add_argument("--family", action="append", choices=list(families.FAMILIES))
    p.add_argument("--only", action="append", help="a kernel's name")
    p.add_argument("--network", action="append", default=[], help="an ONNX file")
    p.add_argument("--db")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seconds", type=float, default=0.3, help="of each kernel or network; 0: none")
    p.add_argument("--mflop", type=float, default=50)
    p.add_argument("--target", default="native")
    p.add_argument("--keep")
    return p.parse_args()


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stderr}")
    return done.stdout


def operations(family, sizes):
    """Multiply-adds count as two; of other families nothing is known here."""
    if family == "matmul":
        return 2 * sizes[0] * sizes[1] * sizes[2]
    if family == "batch_matmul":
        return 2 * sizes[0] * sizes[1] * sizes[2] * sizes[3]
    if family in ("conv", "conv1x1"):
        side, channels, results, window, stride = sizes
        return 2 * ((side - 1) // stride + 1) ** 2 * channels * results * window ** 2
    return float("inf")


def models(flags, folder):
    """Names and ONNX files of what is measured."""
    for name, family, sizes in families.names(flags.family or COMPUTE_BOUND):
        if flags.only and name not in flags.only:
            continue
        if operations(family, sizes) < flags.mflop * 1e6:
            continue
        path = f"{folder}/{name}.onnx"
        if not os.path.exists(path):
            onnx.save(families.make(family, sizes)[0], path)
        yield name, path
    for path in flags.network:
        yield os.path.basename(path)[:-5], path


def measure(flags, folder, name, path):
    compiled = []
    for threads in (1, flags.threads):
        output = f"{folder}/{name}-{threads}.so"
        compiled.append(output)
        if not os.path.exists(output):
            run(f"{flags.bin}/temper", "compile", path, "-o", output, "--threads", str(threads),
                "--target", flags.target, *(["--db", flags.db] if flags.db else []))
    if flags.seconds == 0:
        return []
    text = run(f"{flags.bin}/model_gain", *compiled, str(flags.threads), str(flags.seconds),
               str(flags.mflop))
    lines = text.splitlines()
    print(f"{name}: {lines[-1]}", file=sys.stderr, flush=True)
    return [line.split(maxsplit=4) for line in lines[1:-1]]


def measure_all(flags, folder):
    shares, failed = [], False
    print("| kernel | one thread, us | all, us | gain | share of the peak loops' |")
    print("| --- | --- | --- | --- | --- |")
    for name, path in models(flags, folder):
        try:
            rows = measure(flags, folder, name, path)
        except RuntimeError as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            failed = True
            continue
        for one, every, gain, share, nodes in rows:
            shown = f"{name}: {nodes}" if path in flags.network else name
            print(f"| {shown} | {one} | {every} | {gain} | {share} |", flush=True)
            shares.append(float(share.rstrip("%")))
    if shares:
        print(f"{len(shares)} kernels: median share {statistics.median(shares):.1f} %, "
              f"least {min(shares):.1f} %")
    return 1 if failed else 0


def main():
    flags = parse()
    if flags.keep:
        os.makedirs(flags.keep, exist_ok=True)
        return measure_all(flags, flags.keep)
    with tempfile.TemporaryDirectory() as folder:
        return measure_all(flags, folder)


if __name__ == "__main__":
    sys.exit(main())
