"""Runtimes in turns, each in a process of its own (contestant.py).

A turn begins when no thread of any of them runs any more: after its last run ONNX Runtime's pool
spins for 30 ms, and on as many cores as threads the runtime whose turn is next would have one
core less that long. In its turn a runtime first runs untimed for 20 ms, so that its own threads are
awake, each on a core, and its data is in the caches.
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


class Contestant:
    """A runtime with its models loaded; all but `python` and `library_dir` goes to contestant.py."""

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
