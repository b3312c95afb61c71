#!/usr/bin/env python3
"""Reports what campaign.py measured, as the tables of docs/performance.md.

    campaign_report.py FOLDER [--peer FILE]... [--peer-control US] [--within 0.03]

*best known* is the least time of any trial of any run of that kernel; *in turns* the least that a
final round, which times the best of a run in turns, gave. Times of different runs are brought to one
control rate. *within 3 %*: trials and seconds until a time so near to the best known, the median of
the seeds. *warm*: the same with records of the family's other shapes. *Spearman*: of the trained
model and of the prior on fresh random candidates after 100 trials. --peer is an output of a peer's
tuner ("KERNEL ... tuning SECONDS s best US us"): of the runs of step peer, trials and seconds until a
time as short, its seconds by ours, and its time by our best. A core's speed drifts from hour to hour:
--peer-control is what the control kernel took while the peer tuned, and ours are then as if it had
taken so long; else both are times as they were.
"""

import argparse
import glob
import os
import statistics
import sys

from campaign import ABLATED, KERNELS
from race_report import Trace, read_peers, spearman

NEVER = float("inf")  # a run that did not come near took more trials than any


def read_traces(folder):
    traces = {}  # by kernel, then by step
    for path in sorted(glob.glob(f"{folder}/traces/*.trace")):
        try:
            trace = Trace(path)
        except (ValueError, KeyError, OSError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            continue
        step = os.path.basename(path).split(".")[1]
        if trace.kernel in KERNELS and trace.speed:
            traces.setdefault(trace.kernel, {}).setdefault(step, []).append(trace)
    return traces


def middle(values):
    values = list(values)
    return statistics.median(values) if values else None


def text(value, form="{:.2f}"):
    if value is None or value != value:
        return ""
    return "no" if value == NEVER else form.format(value)


def reached(traces, limit, speed):
    """Medians over the runs: trials and seconds until a time of `limit` or less."""
    found = [t.until(limit, speed) or (NEVER, NEVER) for t in traces]
    return (middle(f[0] for f in found), middle(f[1] for f in found)) if found else (None, None)


def cold_runs(steps):
    return [t for step, group in steps.items() if step != "peer" for t in group]


def best_in_turns(runs, speed):
    times = [row[2] * t.scaled(speed) for t in runs for row in t.rows
             if row[0] == "f" and row[3] == "ok"]
    return min(times, default=None)


def share_after(trace, count, goal, speed):
    times = [r[2] for r in trace.trials()[:count] if r[3] == "ok"]
    return goal / (min(times) * trace.scaled(speed)) if times else 0


def line(cells):
    print("| " + " | ".join(cells) + " |")


def against_peer(runs, us, control):
    """Trials and seconds until the peer's time, medians, and our best time."""
    if control:
        found = [t.until(us, 1 / control) for t in runs]
        ours = min((t.best(1 / control) for t in runs), default=None)
    else:
        found = [t.until_measured(us) for t in runs]
        ours = min((m[0] for t in runs for m in t.measured.values()), default=None)
    if not runs:
        return None, None, None
    found = [f or (NEVER, NEVER) for f in found]
    return middle(f[0] for f in found), middle(f[1] for f in found), ours


def report_kernels(traces, best, speed, peers, peer_control, within):
    names = ["kernel", "best known, us (in turns)", "within: trials, s", "warm: trials, s",
             "trials a second", "Spearman: model, prior", "peer: us, s", "reached: trials, s",
             "peer's seconds by ours", "peer's us by our best"]
    line(names)
    line(["---"] * len(names))
    columns = [[] for _ in range(9)]
    for kernel in KERNELS:
        steps = traces.get(kernel)
        if not steps:
            continue
        runs = cold_runs(steps)
        limit = best[kernel] * (1 + within)
        empty, warm = steps.get("empty", []), steps.get("warm", [])
        cold_trials, cold_seconds = reached(empty, limit, speed)
        warm_trials, warm_seconds = reached(warm, limit, speed)
        rate = middle(len(t.trials()) / t.trials()[-1][1] for t in empty)
        fresh = [r for t in steps.get("rank", []) for r in t.rows if r[0] == "r" and r[3] == "ok"]
        model = spearman([r[5] for r in fresh], [r[2] for r in fresh])
        prior = spearman([r[6] for r in fresh], [r[2] for r in fresh])
        peer_us = peer_seconds = peer_trials = our_seconds = ratio = gain = None
        if kernel in peers:
            peer_seconds, peer_us = peers[kernel]
            peer_trials, our_seconds, ours = against_peer(steps.get("peer", []), peer_us,
                                                          peer_control)
            ratio = peer_seconds / our_seconds if our_seconds else None
            gain = peer_us / ours if ours else None
        in_turns = best_in_turns(runs, speed)
        line([kernel, f"{best[kernel]:.1f} ({text(in_turns, '{:.1f}')})",
              f"{text(cold_trials, '{:.0f}')}, {text(cold_seconds)}",
              f"{text(warm_trials, '{:.0f}')}, {text(warm_seconds)}", text(rate, "{:.1f}"),
              f"{text(model)}, {text(prior)}",
              f"{text(peer_us, '{:.1f}')}, {text(peer_seconds, '{:.0f}')}" if peer_us else "",
              f"{text(peer_trials, '{:.0f}')}, {text(our_seconds)}" if peer_us else "",
              text(ratio, "{:.0f}"), text(gain, "{:.3f}")])
        values = (cold_trials, cold_seconds, warm_trials, warm_seconds, rate, model, prior, ratio,
                  gain)
        for column, value in zip(columns, values):
            if value is not None and value == value:
                column.append(value)
    m = [middle(c) for c in columns]
    line(["median", "", f"{text(m[0], '{:.0f}')}, {text(m[1])}",
          f"{text(m[2], '{:.0f}')}, {text(m[3])}", text(m[4], "{:.1f}"),
          f"{text(m[5])}, {text(m[6])}", "", "", text(m[7], "{:.0f}"),
          text(m[8], "{:.3f}")])


def report_ablation(traces, best, speed):
    counts = (16, 32, 64, 100)
    names = ["kernel", "random", "prior only", "model", "model, warm start"]
    line(names)
    line(["---"] * len(names))
    for kernel in ABLATED:
        cells = [kernel]
        for step in ("random", "prior", "empty", "warm"):
            runs = traces.get(kernel, {}).get(step, [])
            cells.append(", ".join(
                text(middle(share_after(t, c, best[kernel], speed) for t in runs), "{:.3f}")
                for c in counts) if runs else "")
        if any(cells[1:]):
            line(cells)


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--peer", action="append", default=[])
    p.add_argument("--peer-control", type=float)
    p.add_argument("--within", type=float, default=0.03)
    flags = p.parse_args()
    traces = read_traces(flags.folder)
    if not traces:
        sys.exit(f"campaign_report.py: no traces in {flags.folder}/traces")
    runs = [t for steps in traces.values() for group in steps.values() for t in group]
    speed = statistics.median(t.speed for t in runs)
    best = {kernel: min((t.best(speed) for t in cold_runs(steps)), default=NEVER)
            for kernel, steps in traces.items()}
    print(f"{len(runs)} runs; times as if the control took {1 / speed:.2f} us\n")
    report_kernels(traces, best, speed, read_peers(flags.peer), flags.peer_control,
                   flags.within)
    print("\nThe best known over the best after 16, 32, 64 and 100 trials:\n")
    report_ablation(traces, best, speed)


if __name__ == "__main__":
    main()
