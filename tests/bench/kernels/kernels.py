#!/usr/bin/env python3
"""Tunes and measures single kernels: their share of the machine, and Temper against other runtimes.

    kernels.py --bin build/bin --library-dir build/lib --db kernels.db --trials 64
               [--family conv ...] [--only NAME ...] [--threads 1] [--target native]
               [--peers-python PYTHON] [--peers ort,openvino] [--rounds 6] [--seconds 0.1]
               [--inside] [--json FILE]

For each kernel: `temper tune --local` with the given budget on top of what the database holds
(--trials 0: none), `temper compile`, `temper bench --profile`. *peak* is the share of the
multiply-add peak and *bound* that of the roofline (multiply-adds and exponentials at the peak, or a
copy of the same bytes), both of the heaviest kernel alone, in turns with the machine's rates. With --peers-python (a Python with numpy and the peers) the whole model, in the
caller's layout, is timed in turns with each peer; where a runtime takes under 200 us, what it takes
for an Identity model on the same tensors is subtracted. *ratio* is the faster peer's time by ours,
the median over the rounds. With --inside, convolutions and pools stand behind another convolution in
a channels-last network, and theirs is the kernel that is shown. Needs onnx and numpy.
"""

import argparse
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

HERE = os.path.dirname(os.path.abspath(__file__))
SMALL_US = 200


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
    p.add_argument("--json")
    return p.parse_args()


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


class Contest:
    """Runtimes in turns, each a process with the kernel's model and the Identity model."""

    def __init__(self, flags, models, feeds):
        environment = dict(os.environ, PYTHONPATH=os.path.join(HERE, "../../../deploy/python"))
        if flags.library_dir:
            environment["TEMPER_LIBRARY_DIR"] = os.path.abspath(flags.library_dir)
        self.flags = flags
        self.processes = {}
        for runtime, paths in models.items():
            process = subprocess.Popen(
                [flags.peers_python, f"{HERE}/contestant.py", runtime, str(flags.threads), feeds,
                 *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env=environment)
            self.processes[runtime] = process
            if process.stdout.readline().strip() != "ready":
                self.close()
                raise RuntimeError(f"{runtime} cannot run {paths[0]}")

    def time(self, runtime, index):
        process = self.processes[runtime]
        process.stdin.write(f"{index} {self.flags.seconds}\n")
        process.stdin.flush()
        return statistics.median(json.loads(process.stdout.readline()))

    def ratios(self):
        """Microseconds by runtime, and the faster peer's time by ours in each round."""
        times = {runtime: [] for runtime in self.processes}
        for number in range(self.flags.rounds):
            order = list(self.processes)
            for runtime in order if number % 2 == 0 else reversed(order):
                us = self.time(runtime, 0)
                if us < SMALL_US:
                    us = max(us - self.time(runtime, 1), 0.1)
                times[runtime].append(us)
        peers = [r for r in times if r != "temper"]
        ratios = [min(times[p][i] for p in peers) / times["temper"][i]
                  for i in range(self.flags.rounds)]
        return {r: statistics.median(t) for r, t in times.items()}, statistics.median(ratios)

    def close(self):
        for process in self.processes.values():
            process.stdin.close()
            process.wait()


def measure(flags, temper, folder, family, sizes):
    model, shapes = (families.make_inside if flags.inside else families.make)(family, sizes)
    path, compiled = f"{folder}/kernel.onnx", f"{folder}/kernel.so"
    onnx.save(model, path)
    tuned = temper.tune(path)
    temper.compile(path, compiled)
    kernel = temper.profile(compiled)
    result = {"trials": tuned["trials"], "tuning_seconds": tuned["seconds"],
              "us": kernel["median_us"], "gflops": kernel["gflops"],
              "peak_share": kernel["peak_share"], "bound_by": kernel["bound_by"],
              "roofline_share": kernel["roofline_share"]}
    if not flags.peers_python:
        return result
    identity, compiled_identity = f"{folder}/identity.onnx", f"{folder}/identity.so"
    onnx.save(families.make_identity(shapes), identity)
    temper.compile(identity, compiled_identity)
    feeds = f"{folder}/feeds.npz"
    random = np.random.default_rng(1)
    np.savez(feeds, **{n: random.standard_normal(s).astype(np.float32) for n, s in shapes.items()})
    models = {"temper": [compiled, compiled_identity]}
    models.update({peer: [path, identity] for peer in flags.peers.split(",")})
    contest = Contest(flags, models, feeds)
    try:
        result["model_us"], result["ratio"] = contest.ratios()
    finally:
        contest.close()
    return result


def show(name, r):
    peers = "".join(f" {runtime} {us:.1f}" for runtime, us in r.get("model_us", {}).items())
    ratio = f"{r['ratio']:6.2f}" if "ratio" in r else ""
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
    ratios = [r["ratio"] for r in results if "ratio" in r]
    if not ratios:
        return ""
    mean = math.exp(statistics.fmean(math.log(r) for r in ratios))
    return f"; peer/ours {mean:.2f} in the geometric mean, least {min(ratios):.2f}"


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
    print(f"{'kernel':32} {'trials':>6} {'us':>10} {'GFLOP/s':>8} {'peak':>7} {'bound':>7} by")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name, family, sizes in chosen:
            try:
                result = measure(flags, temper, folder, family, sizes)
            except RuntimeError as error:
                print(f"{name:32} failed: {error}", flush=True)
                results.append({"name": name, "family": family, "error": str(error)})
                continue
            results.append({"name": name, "family": family, **result})
            show(name, results[-1])
    good = [r for r in results if "error" not in r]
    if good:
        summarize(good)
    if flags.json:
        with open(flags.json, "w") as file:
            json.dump({"threads": flags.threads, "target": flags.target, "kernels": results}, file,
                      indent=1)
    return 0 if len(good) == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
