"""What the tests of this folder share: the program temper, and ONNX Runtime as the reference."""

import os
import subprocess

import onnxruntime

TEMPER = os.environ["TEMPER_BIN"] + "/temper"


def run(*arguments, expect=0):
    """Runs temper to its end, for at most 200 s; it must exit with `expect`."""
    done = subprocess.run([TEMPER, *arguments], capture_output=True, text=True, timeout=200)
    assert done.returncode == expect, f"{arguments}: {done.returncode}\n{done.stderr}"
    return done


def reference(path, inputs):
    """ONNX Runtime's outputs by name."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))
