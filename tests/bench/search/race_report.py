#!/usr/bin/env python3
"""Reads traces of search_race: how soon each search came near the best that any of them found.

    race_report.py TRACE... [--peer FILE]... [--best KERNEL=US]... [--within 0.03]

A line a trace: the best time after so many trials as a share of the best known (1.00 is the best),
the trials and seconds until it was within 3 % of that, trials a second, and Spearman's rank
correlation on the fresh random candidates, of the trained model and of the prior. Times of
different runs are brought to one control rate; a time beside which the control was over 5 % off its median, or that the final round did not
confirm by a sixth, is left out. --peer is an output of a peer's tuner ("KERNEL ...
tuning SECONDS s best US us"): trials and seconds to its time, and its seconds by ours. Then the
medians of each mode.
"""

import argparse
import collections
import os
import re
import statistics
import sys

COUNTS = (16, 32, 64, 100, 200)


def rank(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    ranks = [0.0] * len(values)
    i = 0
    while i < len(order):
        j = i
        while j + 1 < len(order) and values[order[j + 1]] == values[order[i]]:
            j += 1
        for k in range(i, j + 1):
            ranks[order[k]] = (i + j) / 2
        i = j + 1
    return ranks


def spearman(a, b):
    if len(a) < 3:
        return float("nan")
    a, b = rank(a), rank(b)
    ma, mb = statistics.fmean(a), statistics.fmean(b)
    cov = sum((x - ma) * (y - mb) for x, y in zip(a, b))
    va, vb = sum((x - ma) ** 2 for x in a), sum((y - mb) ** 2 for y in b)
    return cov / (va * vb) ** 0.5 if va > 0 and vb > 0 else float("nan")


class Trace:
    def __init__(self, path):
        self.path, self.rows, self.end = path, [], {}
        self.schedules = []  # of the rows
        self.measured = {}  # by schedule: its time and the control's, as they were
        with open(path) as file:
            head = file.readline().split()
            if head[:1] != ["race"]:
                raise ValueError("no trace")
            self.head = dict(word.split("=", 1) for word in head[1:])
            for line in file:
                words = line.split()
                if words[0] == "end":
                    self.end = dict(word.split("=", 1) for word in words[1:])
                    continue
                if words[0] == "m":
                    self.measured[words[1]] = (float(words[2]), float(words[3]))
                    continue
                kind, seconds, us, outcome, alternative, predicted, prior = words[:7]
                self.schedules.append(words[7] if len(words) > 7 else "")
                self.rows.append((kind, float(seconds), float(us), outcome, int(alternative),
                                  float(predicted), float(prior)))
        self.rows = [row if self.trusted(row, schedule) else (*row[:3], "unsteady", *row[4:])
                     for row, schedule in zip(self.rows, self.schedules)]
        self.kernel, self.mode = self.head["kernel"], self.head["mode"]
        # What the control kernel reached at a drift of 1.
        self.speed = 1 / float(self.end["control_us"]) if "control_us" in self.end else None

    def trusted(self, row, schedule):
        if row[3] != "ok" or schedule not in self.measured:
            return True
        if not hasattr(self, "control"):
            self.control = statistics.median(m[1] for m in self.measured.values())
            self.final = {s: r[2] for r, s in zip(self.rows, self.schedules)
                          if r[0] == "f" and r[3] == "ok"}
        if abs(self.measured[schedule][1] / self.control - 1) > 0.05:
            return False
        return row[2] >= self.final.get(schedule, 0) * 5 / 6

    def trials(self):
        return [r for r in self.rows if r[0] == "t"]

    # Times in microseconds as if the control had been so fast.
    def scaled(self, speed):
        return self.speed / speed

    def best(self, speed):
        times = [r[2] for r in self.rows if r[3] == "ok" and r[0] in "tfr" and r[2] > 0]
        return min(times) * self.scaled(speed) if times else float("inf")

    def until(self, limit, speed):
        """Trials and seconds until a time of `limit` or less."""
        for number, row in enumerate(self.trials(), 1):
            if row[3] == "ok" and row[2] * self.scaled(speed) <= limit:
                return number, row[1]
        return None

    def until_measured(self, limit):
        """The same by the times as they were, not normalized."""
        number = 0
        for row, schedule in zip(self.rows, self.schedules):
            number += row[0] == "t"
            if row[0] == "t" and self.measured.get(schedule, (limit + 1,))[0] <= limit:
                return number, row[1]
        return None


def read_peers(paths):
    """Seconds and microseconds by kernel, of outputs of a peer's tuner."""
    peers = {}
    for path in paths:
        with open(path) as file:
            found = re.search(r"^(\S+) .*tuning ([0-9.]+) s best ([0-9.]+) us", file.read(), re.M)
        if found:
            peers[found[1]] = (float(found[2]), float(found[3]))
    return peers


def show(value, width, text="{:.2f}"):
    return (text.format(value) if value is not None and value == value else "-").rjust(width)


def median(values):
    values = [v for v in values if v is not None and v == v]
    return statistics.median(values) if values else None


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("traces", nargs="+")
    p.add_argument("--peer", action="append", default=[])
    p.add_argument("--best", action="append", default=[])
    p.add_argument("--within", type=float, default=0.03)
    flags = p.parse_args()
    traces = []
    for path in flags.traces:
        try:
            traces.append(Trace(path))
            if not traces[-1].speed:
                traces.pop()
                raise ValueError("the run did not end")
        except (ValueError, KeyError, OSError) as error:
            print(f"{path}: {error}", file=sys.stderr)
    if not traces:
        sys.exit("race_report.py: no traces")
    peers = read_peers(flags.peer)
    speed = statistics.median(t.speed for t in traces)
    best = {}
    for t in traces:
        best[t.kernel] = min(best.get(t.kernel, float("inf")), t.best(speed))
    for item in flags.best:
        kernel, us = item.split("=")
        best[kernel] = min(best.get(kernel, float("inf")), float(us))
    print(f"times as if the control took {1 / speed:.2f} us")
    print(f"{'kernel':24} {'mode':7} {'best us':>9} " + " ".join(f"{c:>5}" for c in COUNTS) +
          f" {'trials':>7} {'s':>6} {'/s':>6} {'model':>6} {'prior':>6}  peer")
    sums = collections.defaultdict(list)
    for t in sorted(traces, key=lambda t: (t.kernel, t.mode, t.path)):
        goal = best[t.kernel]
        shares, so_far, trials = [], float("inf"), t.trials()
        for number, row in enumerate(trials, 1):
            if row[3] == "ok":
                so_far = min(so_far, row[2] * t.scaled(speed))
            if number in COUNTS:
                shares.append(goal / so_far)
        shares += [None] * (len(COUNTS) - len(shares))
        near = t.until(goal * (1 + flags.within), speed)
        random = [r for r in t.rows if r[0] == "r" and r[3] == "ok"]
        model = spearman([r[5] for r in random], [r[2] for r in random])
        prior = spearman([r[6] for r in random], [r[2] for r in random])
        rate = len(trials) / trials[-1][1] if trials else None
        peer = ""
        if t.kernel in peers:
            seconds, us = peers[t.kernel]
            reached = t.until(us, speed)
            peer = f"  {us:.0f} us in {seconds:.0f} s: "
            peer += f"{reached[0]} trials, {reached[1]:.1f} s, 1/{seconds / reached[1]:.0f}" if (
                reached) else "not reached"
        print(f"{t.kernel:24} {t.mode:7} {t.best(speed):9.1f} " +
              " ".join(show(s, 5, "{:.3f}") for s in shares) +
              f" {show(near and near[0], 7, '{:d}')} {show(near and near[1], 6)}"
              f" {show(rate, 6, '{:.1f}')} {show(model, 6)} {show(prior, 6)}{peer}")
        # A run that did not come near counts as one that took more trials than any.
        row = (shares, near[0] if near else 1e9, near[1] if near else 1e9, model, prior, rate)
        sums[t.mode].append(row)
    print()
    for mode, rows in sums.items():
        shares = [median([r[0][i] for r in rows]) for i in range(len(COUNTS))]
        trials = statistics.median(r[1] for r in rows)
        print(f"{'median of ' + str(len(rows)):24} {mode:7} {'':9} " +
              " ".join(show(s, 5, "{:.3f}") for s in shares) +
              f" {'-' if trials > 1e8 else str(int(trials)):>7}"
              f" {show(median([r[2] for r in rows if r[2] < 1e8]), 6)}"
              f" {show(median([r[5] for r in rows]), 6, '{:.1f}')}"
              f" {show(median([r[3] for r in rows]), 6)} {show(median([r[4] for r in rows]), 6)}")


if __name__ == "__main__":
    main()
