"""What the tests of this folder share: the program temper, and ONNX Runtime as the reference."""

import os
import subprocess

import onnx
import onnxruntime

TEMPER = os.environ["TEMPER_BIN"] + "/temper"


def run(*arguments, expect=0, seconds=200):
    """Runs temper to its end, for at most so long; it must exit with `expect`."""
    done = subprocess.run([TEMPER, *arguments], capture_output=True, text=True, timeout=seconds)
    assert done.returncode == expect, f"{arguments}: {done.returncode}\n{done.stderr}"
    return done


def compile_model(model, folder, *flags, **limits):
    """Writes an onnx.ModelProto to FOLDER/model.onnx and compiles that to FOLDER/model.so, whose
    path it returns, with what temper said. limits: as of `run`."""
    path, compiled = f"{folder}/model.onnx", f"{folder}/model.so"
    onnx.save(model, path)
    return compiled, run("compile", path, "-o", compiled, *flags, **limits).stderr


def reference(path, inputs):
    """ONNX Runtime's outputs by name."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))
