#!/usr/bin/env python3
"""Measures the search on nine kernels, in steps that can be run a few minutes at a time.

    campaign.py FOLDER --bin build/bin [--steps empty,reference,...] [--kernels NAME,...]
                [--seeds 3] [--seconds 170] [--list]

Steps: *empty* tunes each kernel with 200 trials and no records, once a seed; *rank* with 100, then
measures 200 fresh random candidates; *reference* with 2,000; *family* tunes the other shapes of the
kernels' families (kernels/families.py) with 64 trials each and keeps their records; *warm* tunes
each kernel with those records of its family, its own shape's left out; *ablation* tunes five kernels
by random search and by the prior alone; *peer* is *empty* with kernels timed as other tuners do, their
weights in the caches.

Each run's result is kept in FOLDER (models/, records/, traces/), and a run that is there is not made
again: call the command until it says that nothing is left. It begins no run that is not expected to
end within --seconds, and ends one that takes over twice as long. `campaign_report.py FOLDER` reads
the traces at any time. Nothing else should use the machine meanwhile. Needs onnx and numpy.
"""

import argparse
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../kernels"))

# The kernels that peers' tuners were run on, by family and sizes (families.py).
KERNELS = {
    "matmul_512": ("matmul", (512, 512, 512)),
    "matmul_1024": ("matmul", (1024, 1024, 1024)),
    "matmul_128x3072x768": ("matmul", (128, 3072, 768)),
    "conv3x3_56_64_64": ("conv", (56, 64, 64, 3, 1)),
    "conv3x3_14_256_256": ("conv", (14, 256, 256, 3, 1)),
    "conv1x1_56_64_256": ("conv1x1", (56, 64, 256, 1, 1)),
    "conv1x1_14_1024_256": ("conv1x1", (14, 1024, 256, 1, 1)),
    "conv7x7s2_224_3_64": ("conv", (224, 3, 64, 7, 2)),
    "conv3x3s2_56_128_128": ("conv", (56, 128, 128, 3, 2)),
}
ABLATED = ("matmul_512", "conv3x3_56_64_64", "conv3x3_14_256_256", "conv7x7s2_224_3_64",
           "conv1x1_56_64_256")
STEPS = ("empty", "rank", "reference", "family", "warm", "ablation", "peer")
START_SECONDS = 3  # a run's processes and its kernel's reference
SLOW_RATE = 15     # trials a second of the heaviest kernels


def shape_name(family, sizes):
    return f"{family}_{'x'.join(map(str, sizes))}"


class Run:
    """One run of search_race: its trace, and where it makes any the records it keeps."""

    def __init__(self, folder, model, label, trials, mode="model", seed=1, fresh=0, kept=None,
                 others=(), constants="cold"):
        self.model, self.label, self.trials, self.mode = model, label, trials, mode
        self.seed, self.fresh, self.kept, self.others = seed, fresh, kept, list(others)
        self.constants = constants
        self.trace = f"{folder}/traces/{model}.{label}.{seed}.trace"

    def done(self):
        return os.path.exists(self.trace) and (not self.kept or os.path.exists(self.kept))

    def expected_seconds(self, rates):
        rate = rates.get(self.model, SLOW_RATE)
        return START_SECONDS + (self.trials + self.fresh) / rate


def model_path(folder, name):
    return f"{folder}/models/{name}.onnx"


def channels_last(model):
    """Turns the input and the output of a convolution's model, so that the kernel is the one that
    networks and the peers' tuners have; alone it would be computed in the caller's layout."""
    from onnx import helper
    graph = model.graph
    for value, name, perm in ((graph.input[0], "x", (0, 3, 1, 2)),
                              (graph.output[0], "out", (0, 2, 3, 1))):
        dims = value.type.tensor_type.shape.dim
        sizes = [d.dim_value for d in dims]
        for dim, axis in zip(dims, (0, 2, 3, 1)):
            dim.dim_value = sizes[axis]
        inner = f"{name}.inner"
        if name == "x":
            graph.node[0].input[0] = inner
            graph.node.insert(0, helper.make_node("Transpose", [name], [inner], perm=perm))
        else:
            graph.node[-1].output[0] = inner
            graph.node.append(helper.make_node("Transpose", [inner], [name], perm=perm))


def make_model(folder, name, family, sizes):
    path = model_path(folder, name)
    if not os.path.exists(path):
        import families
        import onnx
        model, _ = families.make(family, sizes)
        if family.startswith("conv"):
            channels_last(model)
        onnx.save(model, path + ".part")
        os.rename(path + ".part", path)


def other_shapes(kernels):
    """The shapes of the kernels' families, the kernels' own among them: each is another's."""
    import families
    wanted = dict.fromkeys(KERNELS[k][0] for k in kernels)
    return [(shape_name(f, sizes), f, sizes) for f in wanted for sizes in families.FAMILIES[f]]


def plan(folder, kernels, steps, seeds):
    runs, shapes = [], other_shapes(kernels)
    records = {name: f"{folder}/records/{name}.db" for name, _, _ in shapes}
    for step in STEPS:
        if step not in steps:
            continue
        if step == "family":
            for name, family, sizes in shapes:
                make_model(folder, name, family, sizes)
                runs.append(Run(folder, name, "family", 64, kept=records[name]))
        for kernel in kernels:
            family, sizes = KERNELS[kernel]
            make_model(folder, kernel, family, sizes)
            if step == "empty":
                runs += [Run(folder, kernel, step, 200, seed=s) for s in range(1, seeds + 1)]
            elif step == "peer":
                runs += [Run(folder, kernel, step, 200, seed=s, constants="warm")
                         for s in range(1, seeds + 1)]
            elif step == "rank":
                runs.append(Run(folder, kernel, step, 100, fresh=200, seed=101))
            elif step == "reference":
                runs.append(Run(folder, kernel, step, 2000, seed=201,
                                kept=f"{folder}/records/reference_{kernel}.db"))
            elif step == "warm":
                others = [records[n] for n, f, s in shapes if f == family and s != sizes]
                runs += [Run(folder, kernel, step, 100, "warm", s, others=others)
                         for s in range(1, seeds + 1)]
            elif step == "ablation" and kernel in ABLATED:
                runs += [Run(folder, kernel, mode, 100, mode, s)
                         for mode in ("random", "prior") for s in range(1, seeds + 1)]
    return runs


def known_rates(folder):
    """Trials a second by model, from the traces that there are."""
    rates = {}
    for name in os.listdir(f"{folder}/traces"):
        if not name.endswith(".trace"):
            continue
        with open(f"{folder}/traces/{name}") as file:
            trials = [line.split()[1] for line in file if line[:2] in ("t ", "r ")]
        if trials and float(trials[-1]) > 0:
            rates[name.split(".")[0]] = len(trials) / float(trials[-1])
    return rates


def remove(path):
    for suffix in ("", "-wal", "-shm", "-lock"):
        if os.path.exists(path + suffix):
            os.remove(path + suffix)


def execute(folder, flags, run, limit):
    missing = [path for path in run.others if not os.path.exists(path)]
    if missing:
        return f"needs step family ({len(missing)} of {len(run.others)} records are missing)"
    part = run.trace + ".part"
    command = [f"{flags.bin}/search_race", model_path(folder, run.model), part, "--mode", run.mode,
               "--trials", str(run.trials), "--seed", str(run.seed), "--fresh", str(run.fresh),
               "--bin", flags.bin]
    if run.constants != "cold":
        command += ["--constants", run.constants]
    for path in run.others:
        command += ["--from", path]
    if run.kept:
        remove(run.kept)
        remove(run.kept + ".part")
        command += ["--keep", run.kept + ".part"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"ended after {limit:.0f} s"
    if done.returncode:
        return done.stderr.strip() or f"search_race ended with {done.returncode}"
    if run.kept:
        os.rename(run.kept + ".part", run.kept)
    os.rename(part, run.trace)
    return ""


def chosen(text, known, what):
    names = text.split(",") if text else list(known)
    unknown = [n for n in names if n not in known]
    if unknown:
        sys.exit(f"campaign.py: no {what} {', '.join(unknown)}; there are {', '.join(known)}")
    return names


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--bin", default="build/bin")
    p.add_argument("--steps")
    p.add_argument("--kernels")
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=170)
    p.add_argument("--list", action="store_true", help="only say what is left")
    flags = p.parse_args()
    flags.bin = os.path.abspath(flags.bin)
    start = time.monotonic()
    folder = flags.folder
    for part in ("models", "records", "traces"):
        os.makedirs(f"{folder}/{part}", exist_ok=True)
    runs = plan(folder, chosen(flags.kernels, KERNELS, "kernels"),
                chosen(flags.steps, STEPS, "steps"), flags.seeds)
    left = [run for run in runs if not run.done()]
    rates = known_rates(folder)
    failed = []
    while left and not flags.list:
        run = left[0]
        rest = flags.seconds - (time.monotonic() - start)
        expected = run.expected_seconds(rates)
        if expected > rest and (run is not runs[0] or rest < 0.9 * flags.seconds):
            break
        before = time.monotonic()
        failure = execute(folder, flags, run, max(2 * expected, 30))
        took = time.monotonic() - before
        print(f"{run.model:24} {run.label:10} seed {run.seed:<4} {took:6.1f} s  {failure}",
              flush=True)
        left.pop(0)
        if failure:
            failed.append(run)
        else:
            rates[run.model] = max((run.trials + run.fresh) / max(took - START_SECONDS, 1), 1)
    left = failed + left
    seconds = sum(run.expected_seconds(rates) for run in left)
    print(f"{len(runs) - len(left)} of {len(runs)} runs are there; left: {len(left)}"
          + (f", about {seconds:.0f} s" if left else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
