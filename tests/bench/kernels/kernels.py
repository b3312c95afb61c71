#!/usr/bin/env python3
"""Tunes and measures single kernels: their share of the machine, and Temper against other runtimes.

    kernels.py --bin build/bin --library-dir build/lib --db kernels.db --trials 64
               [--family conv ...] [--only NAME ...] [--threads 1] [--target native]
               [--peers-python PYTHON] [--peers ort,openvino] [--rounds 6] [--seconds 0.1]
               [--inside] [--keep FOLDER] [--prepare] [--json FILE]

For each kernel: `temper tune --local` with the given budget on top of what the database holds
(--trials 0: none), `temper compile`, `temper bench --profile`. *peak* is the share of the
multiply-add peak and *bound* that of the roofline (multiply-adds and exponentials at the peak, or a
copy of the same bytes), both of the heaviest kernel alone, in turns with the machine's rates.

With --peers-python (a Python with numpy and the peers) the whole model, in the caller's layout, is
timed in turns with each peer (turns.py). *whole* is the faster peer's time by ours, the median over
the rounds. Where the fastest of all takes under 200 us, an Identity model on the same tensors is
timed in turns too; *less* is the same ratio with what Identity takes a runtime subtracted from its
time, and *identity* the largest share that it has of a runtime's time. From half on a ratio of what
is left says little: Identity copies on one thread what a kernel writes on all of them, and its
jitter is as large as what is left. Such kernels count in the summary with *whole*.

With --keep the compiled models stay in a folder and are made only where it lacks them; --prepare
makes them and times nothing, so that what follows needs the quiet machine for timing alone. With
--inside, convolutions and pools stand behind another convolution in a channels-last network, and
theirs is the kernel that is shown. Needs onnx and numpy.
"""

import argparse
import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

import families
import numpy as np
import onnx
import turns

SMALL_US = 200
MOST_IDENTITY = 0.5


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--bin", required=True, help="folder of the program temper")
    p.add_argument("--library-dir", help="folder of libtemper.so, for the comparison with peers")
    p.add_argument("--db", required=True)
    p.add_argument("--trials", type=int, default=64)
    p.add_argument("--time", help="instead of --trials: seconds a kernel, such as 20s")
    p.add_argument("--family", action="append", choices=list(families.FAMILIES))
    p.add_argument("--only", action="append", help="a kernel's name")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--target", default="native")
    p.add_argument("--peers-python")
    p.add_argument("--peers", default="ort,openvino")
    p.add_argument("--rounds", type=int, default=6)
    p.add_argument("--seconds", type=float, default=0.1, help="of each turn")
    p.add_argument("--inside", action="store_true", help="as in a network; without peers")
    p.add_argument("--keep", help="folder of the compiled models")
    p.add_argument("--prepare", action="store_true", help="compile what --keep lacks, time nothing")
    p.add_argument("--json")
    flags = p.parse_args()
    if flags.prepare and not flags.keep:
        p.error("--prepare needs --keep")
    return flags


class Temper:
    def __init__(self, flags):
        self.flags = flags
        self.common = ["--threads", str(flags.threads), "--target", flags.target]

    def run(self, *arguments):
        done = subprocess.run([f"{self.flags.bin}/temper", *arguments], capture_output=True,
                              text=True)
        if done.returncode:
            raise RuntimeError(f"temper {' '.join(arguments)}:\n{done.stderr}")
        return json.loads(done.stdout.splitlines()[-1])

    def tune(self, model):
        if self.flags.trials == 0 and not self.flags.time:
            return {"trials": 0, "seconds": 0.0}
        budget = ["--time", self.flags.time] if self.flags.time else [
            "--trials", str(self.flags.trials)]
        return self.run("tune", model, "--local", "--db", self.flags.db, "--json", *budget,
                        *self.common)

    def compile(self, model, output):
        records = ["--db", self.flags.db] if os.path.exists(self.flags.db) else []
        self.run("compile", model, "-o", output, "--json", *records, *self.common)

    def profile(self, compiled):
        result = self.run("bench", compiled, "--profile", "--json", "--seconds", "1", "--threads",
                          str(self.flags.threads))
        inside = [k for k in result["kernels"] if "kernel" in k["nodes"]]
        return max(inside or result["kernels"], key=lambda k: (k["flops"], k["median_us"]))


def compare(flags, models, feeds):
    """Whole models in turns; by runtime a list of each model's file and the Identity model's."""
    contestants = {}
    try:
        for kind, paths in models.items():
            python = flags.peers_python
            contestants[kind] = turns.Contestant(python, kind, flags.threads, feeds, paths,
                                                 flags.library_dir)
        others = turns.Others(contestants.values())
        result = in_turns(flags, contestants)
        others.warn(models["temper"][0])
        return result
    finally:
        for contestant in contestants.values():
            contestant.close()


def in_turns(flags, contestants):
    whole = {kind: [] for kind in contestants}
    identity = {kind: [] for kind in contestants}
    for number in range(flags.rounds):
        order = list(contestants)
        for kind in order if number % 2 == 0 else reversed(order):
            turns.settle(contestants.values())
            for index, times in enumerate((whole[kind], identity[kind])):
                times.append(statistics.median(contestants[kind].ask(f"{index} {flags.seconds}")))
    result = {"model_us": medians(whole), "whole": ratio(whole), "identity": 0.0}
    result["ratio"] = result["whole"]
    if min(result["model_us"].values()) < SMALL_US:
        left = {kind: [max(a - b, 0.1) for a, b in zip(whole[kind], identity[kind])]
                for kind in whole}
        result["identity_us"] = medians(identity)
        result["less"] = ratio(left)
        result["identity"] = max(result["identity_us"][kind] / us
                                 for kind, us in result["model_us"].items())
        if result["identity"] < MOST_IDENTITY:
            result["ratio"] = result["less"]
    return result


def medians(times):
    return {kind: statistics.median(of_it) for kind, of_it in times.items()}


def ratio(times):
    """The faster peer's time by ours, the median over the rounds."""
    best = [min(peers) for peers in zip(*(t for kind, t in times.items() if kind != "temper"))]
    return statistics.median(theirs / ours for theirs, ours in zip(best, times["temper"]))


def once(path, make):
    if not os.path.exists(path):
        make(path)


def measure(flags, temper, folder, name, family, sizes):
    model, shapes = (families.make_inside if flags.inside else families.make)(family, sizes)
    path = f"{folder}/{name}{'.inside' if flags.inside else ''}.onnx"
    # A target may be a description, too long for a file's name.
    compiled_for = f"{hashlib.sha256(flags.target.encode()).hexdigest()[:8]}.{flags.threads}.so"
    compiled = f"{path[:-5]}.{compiled_for}"
    onnx.save(model, path)
    tuned = {"trials": 0, "seconds": 0.0}
    if not os.path.exists(compiled):
        tuned = temper.tune(path)
        temper.compile(path, compiled)
    identity = f"{folder}/{name}.identity.onnx"
    compiled_identity = f"{identity[:-5]}.{compiled_for}"
    if flags.peers_python:
        onnx.save(families.make_identity(shapes), identity)
        once(compiled_identity, lambda output: temper.compile(identity, output))
    if flags.prepare:
        return None
    kernel = temper.profile(compiled)
    result = {"trials": tuned["trials"], "tuning_seconds": tuned["seconds"],
              "us": kernel["median_us"], "gflops": kernel["gflops"],
              "peak_share": kernel["peak_share"], "bound_by": kernel["bound_by"],
              "roofline_share": kernel["roofline_share"]}
    if not flags.peers_python:
        return result
    feeds = f"{folder}/feeds.npz"
    random = np.random.default_rng(1)
    np.savez(feeds, **{n: random.standard_normal(s).astype(np.float32) for n, s in shapes.items()})
    models = {"temper": [compiled, compiled_identity]}
    models.update({peer: [path, identity] for peer in flags.peers.split(",")})
    result.update(compare(flags, models, feeds))
    return result


def show(name, r):
    peers = "".join(f" {runtime} {us:.1f}" for runtime, us in r.get("model_us", {}).items())
    ratio = ""
    if "whole" in r:
        ratio = f" {r['whole']:6.2f}"
        ratio += f" {r['less']:6.2f} {r['identity'] * 100:7.0f}%" if "less" in r else " " * 16
    print(f"{name:32} {r['trials']:6} {r['us']:10.1f} {r['gflops']:8.1f} "
          f"{r['peak_share'] * 100:6.1f}% {r['roofline_share'] * 100:6.1f}% {r['bound_by']:8}"
          f"{ratio} {peers}", flush=True)


def summarize(results):
    print()
    for family in families.FAMILIES:
        of_it = [r for r in results if r["family"] == family]
        if not of_it:
            continue
        line = (f"{family:14} {len(of_it):3} kernels: peak {median(of_it, 'peak_share'):5.1f}% "
                f"(least {100 * min(r['peak_share'] for r in of_it):.1f}%), "
                f"bound {median(of_it, 'roofline_share'):5.1f}%")
        print(line + ratios_of(of_it))
    print(f"{'all':14} {len(results):3} kernels{ratios_of(results)}")


def median(results, key):
    return 100 * statistics.median(r[key] for r in results)


def ratios_of(results):
    of_them = [r for r in results if "ratio" in r]
    if not of_them:
        return ""
    whole, counted = ([r[key] for r in of_them] for key in ("whole", "ratio"))
    most = sum(r["identity"] >= MOST_IDENTITY for r in of_them)
    return (f"; peer/ours {geometric(counted):.2f} in the geometric mean, least {min(counted):.2f} "
            f"({most} counted whole); all whole {geometric(whole):.2f}, least {min(whole):.2f}")


def geometric(ratios):
    return math.exp(statistics.fmean(math.log(r) for r in ratios))


def main():
    flags = parse()
    chosen = families.names(flags.family or families.FAMILIES)
    if flags.only:
        unknown = set(flags.only) - {name for name, _, _ in chosen}
        if unknown:
            sys.exit(f"kernels.py: no kernels {', '.join(sorted(unknown))}; there are "
                     + ", ".join(name for name, _, _ in chosen))
        chosen = [k for k in chosen if k[0] in flags.only]
    if flags.inside:
        flags.peers_python = None
        chosen = [k for k in chosen if k[1] in ("conv", "depthwise", "pool")]
    temper = Temper(flags)
    print(f"{'kernel':32} {'trials':>6} {'us':>10} {'GFLOP/s':>8} {'peak':>7} {'bound':>7} by      "
          + (" whole   less identity" if flags.peers_python else ""))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        if flags.keep:
            os.makedirs(flags.keep, exist_ok=True)
            folder = flags.keep
        for name, family, sizes in chosen:
            try:
                result = measure(flags, temper, folder, name, family, sizes)
            except RuntimeError as error:
                print(f"{name:32} failed: {error}", flush=True)
                results.append({"name": name, "family": family, "error": str(error)})
                continue
            if result:
                results.append({"name": name, "family": family, **result})
                show(name, results[-1])
    good = [r for r in results if "error" not in r]
    if good:
        summarize(good)
    if flags.json:
        with open(flags.json, "w") as file:
            json.dump({"threads": flags.threads, "target": flags.target, "kernels": results}, file,
                      indent=1)
    return 1 if len(good) < len(results) else 0


if __name__ == "__main__":
    sys.exit(main())
