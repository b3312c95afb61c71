"""Runtimes in turns, each in a process of its own (contestant.py).

A turn begins when no thread of any of them runs any more: after its last run ONNX Runtime's pool
spins for 30 ms, and on as many cores as threads the runtime whose turn is next would have one
core less that long. In its turn a runtime first runs untimed for 20 ms, so that its own threads are
awake, each on a core, and its data is in the caches. Says so where other programs took part of the
machine meanwhile.
"""

import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
POLL_SECONDS = 0.001
ASLEEP_POLLS = 3  # in a row: a spinning thread may have lost its core to another for a moment
MOST_SECONDS = 2
MOST_OTHERS = 0.1  # of a core


class Contestant:
    """A runtime with its models loaded; contestant.py takes `kind` to `models`."""

    def __init__(self, python, kind, threads, feeds, models, library_dir=None):
        environment = dict(os.environ, PYTHONPATH=os.path.join(HERE, "../../../deploy/python"))
        if library_dir:
            environment["TEMPER_LIBRARY_DIR"] = os.path.abspath(library_dir)
        self.kind = kind
        self.process = subprocess.Popen(
            [python, os.path.join(HERE, "contestant.py"), kind, str(threads), feeds, *models],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        if self.process.stdout.readline().strip() != "ready":
            self.close()
            raise RuntimeError(f"{kind} cannot run {models[0]}")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.kind} ended at '{line}'")
        return json.loads(answer)

    def running(self):
        """How many of its threads run or would if they had a core."""
        tasks, count = f"/proc/{self.process.pid}/task", 0
        for task in os.listdir(tasks):
            try:
                with open(f"{tasks}/{task}/stat") as file:
                    # The name stands in parentheses and may hold blanks.
                    count += file.read().rpartition(")")[2].split()[0] == "R"
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has ended meanwhile
        return count

    def ticks(self):
        """CPU time that it has had."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            return sum(int(n) for n in file.read().rpartition(")")[2].split()[11:13])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def settle(contestants):
    """Waits until all threads of all of them sleep. Says which do not within two seconds."""
    end, asleep = time.monotonic() + MOST_SECONDS, 0
    while asleep < ASLEEP_POLLS:
        awake = [c.kind for c in contestants if c.running()]
        asleep = 0 if awake else asleep + 1
        if time.monotonic() > end:
            print(f"threads of {', '.join(awake)} do not sleep: the times of the turn that follows "
                  "are not to be trusted", file=sys.stderr, flush=True)
            return
        time.sleep(POLL_SECONDS)


class Others:
    """What other programs take of the machine between the start and `warn`, in cores."""

    def __init__(self, contestants):
        self.contestants = contestants
        self.start, self.before = time.monotonic(), self._ticks()

    def _ticks(self):
        with open("/proc/stat") as file:
            user, nice, system, _, _, irq, soft, stolen = map(int, file.readline().split()[1:9])
        own = sum(os.times()[:2]) * os.sysconf("SC_CLK_TCK")
        return (user + nice + system + irq + soft + stolen - own
                - sum(c.ticks() for c in self.contestants))

    def warn(self, what):
        seconds = time.monotonic() - self.start
        cores = (self._ticks() - self.before) / os.sysconf("SC_CLK_TCK") / seconds
        if cores > MOST_OTHERS:
            print(f"{what}: other programs or the host took {cores:.2f} cores while it was timed",
                  file=sys.stderr, flush=True)
