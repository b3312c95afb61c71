"""How much memory `temper compile` takes: at most three times the model and 300 MB.

As a program, `memory_test.py MEGABYTES` prints the peak for models of that size.
"""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

TEMPER = os.environ["TEMPER_BIN"] + "/temper"
WIDTH = 1024  # a matrix of float32 takes 4 MB


def raw(name, shape, rng, kind=TensorProto.FLOAT):
    count = int(np.prod(shape))
    if kind == TensorProto.INT8:
        data = rng.integers(-9, 9, count, dtype=np.int8)
    else:
        data = rng.standard_normal(count, dtype=np.float32) * np.float32(0.03)
    return helper.make_tensor(name, kind, shape, data.tobytes(), raw=True)


def linear(i, rng):
    weights = [raw(f"w{i}", [WIDTH, WIDTH], rng)]
    return weights, [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"])]


def transposed(i, rng):
    """Weights that the compiler turns around, as exporters of PyTorch leave it to do."""
    weights = [raw(f"w{i}", [WIDTH, WIDTH], rng)]
    return weights, [helper.make_node("Transpose", [f"w{i}"], [f"t{i}"], perm=[1, 0]),
                     helper.make_node("MatMul", [f"x{i}", f"t{i}"], [f"x{i + 1}"])]


def normalized(i, rng):
    """A convolution whose weights a batch normalization changes."""
    constants = [raw(f"w{i}", [WIDTH, WIDTH, 1, 1], rng)]
    for k in range(4):
        constants.append(helper.make_tensor(f"n{i}_{k}", TensorProto.FLOAT, [WIDTH],
                                            np.linspace(0.5, 1.5, WIDTH, dtype=np.float32)))
    return constants, [
        helper.make_node("Conv", [f"x{i}", f"w{i}"], [f"c{i}"]),
        helper.make_node("BatchNormalization", [f"c{i}"] + [f"n{i}_{k}" for k in range(4)],
                         [f"x{i + 1}"])]


KINDS = {"linear": (linear, [4, WIDTH]), "transposed": (transposed, [4, WIDTH]),
         "normalized": (normalized, [1, WIDTH, 2, 2])}


def save(path, kind, megabytes, external):
    rng = np.random.default_rng(1)
    layer, shape = KINDS[kind]
    constants, nodes = [], []
    layers = megabytes // 4
    for i in range(layers):
        more, added = layer(i, rng)
        constants += more
        nodes += added
    graph = helper.make_graph(
        nodes, kind, [helper.make_tensor_value_info("x0", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(f"x{layers}", TensorProto.FLOAT, shape)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path, save_as_external_data=external, location="weights.bin")


def peak_megabytes(path, output):
    """Of a process of its own, for the maximum over children never falls."""
    script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    done = subprocess.run([sys.executable, "-c", script, TEMPER, "compile", path, "-o", output],
                          capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1]) / 1024


def measure(kind, megabytes, external):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.onnx"
        save(path, kind, megabytes, external)
        return peak_megabytes(path, f"{folder}/model.so")


def save_small_kernels(path, count):
    """A chain of products, each with a matrix of its own: a kernel call and a weight for each."""
    turn = np.roll(np.eye(8, dtype=np.float32), 1, axis=1)
    nodes = [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(count)]
    weights = [helper.make_tensor(f"w{i}", TensorProto.FLOAT, [8, 8],
                                  (turn * np.float32(1 + i / count)).tobytes(), raw=True)
               for i in range(count)]
    graph = helper.make_graph(
        nodes, "small", [helper.make_tensor_value_info("x0", TensorProto.FLOAT, [8])],
        [helper.make_tensor_value_info(f"x{count}", TensorProto.FLOAT, [8])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return os.path.getsize(path) / 2**20


class Memory(unittest.TestCase):
    def test_many_small_kernels(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/model.onnx"
            size = save_small_kernels(path, 30_000)
            self.assertLess(peak_megabytes(path, f"{folder}/model.so"), 3 * size + 300)

    def test_three_times_the_model(self):
        size = 192
        for kind in KINDS:
            for external in (False, True):
                with self.subTest(f"{kind} {'external' if external else 'inside'}"):
                    self.assertLess(measure(kind, size, external), 3 * size + 300)


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].isdigit():
        for kind in KINDS:
            for external in (False, True):
                peak = measure(kind, int(sys.argv[1]), external)
                print(f"{kind:12} {'external' if external else 'inside':9} {peak:6.0f} MB")
    else:
        unittest.main()
