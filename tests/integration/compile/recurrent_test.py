"""RNN, GRU and LSTM through `temper compile`, against ONNX's definition written down in numpy."""

import itertools
import os
import tempfile
import unittest

import numpy as np
import temper
from onnx import TensorProto, helper, numpy_helper
from programs import compile_model

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


FUNCTIONS = {  # name: function of x, alpha and beta; defaults of these, None where it takes none
    "Affine": (lambda x, a, b: a * x + b, 1.0, 0.0),
    "Elu": (lambda x, a, b: np.where(x < 0, a * (np.exp(x) - 1), x), 1.0, None),
    "HardSigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), 0.2, 0.5),
    "LeakyRelu": (lambda x, a, b: np.where(x < 0, a * x, x), 0.01, None),
    "Relu": (lambda x, a, b: np.maximum(x, 0), None, None),
    "ScaledTanh": (lambda x, a, b: a * np.tanh(b * x), 1.0, 1.0),
    "Sigmoid": (lambda x, a, b: sigmoid(x), None, None),
    "Softplus": (lambda x, a, b: np.log1p(np.exp(x)), None, None),
    "Softsign": (lambda x, a, b: x / (1 + np.abs(x)), None, None),
    "Tanh": (lambda x, a, b: np.tanh(x), None, None),
    "ThresholdedRelu": (lambda x, a, b: np.where(x > a, x, 0), 1.0, None),
}


def activations(attributes, op, directions):
    """One function for each direction and gate; alphas and betas go to those that take them."""
    names = attributes.get("activations") or DEFAULTS[op] * directions
    alphas = list(attributes.get("activation_alpha", []))
    betas = list(attributes.get("activation_beta", []))
    found = []
    for name in names:
        function, alpha, beta = FUNCTIONS[name]
        if alpha is not None and alphas:
            alpha = alphas.pop(0)
        if beta is not None and betas:
            beta = betas.pop(0)
        found.append(lambda x, f=function, a=alpha, b=beta: f(x, a, b))
    return found


def reference(op, v, attributes):
    """Y, Y_h and Y_c in float64; `v` has the operands by name, absent ones left out."""
    batch_first = attributes.get("layout", 0)
    v = {k: np.asarray(a, np.float64) if k != "L" else a for k, a in v.items()}
    if batch_first:
        for name in set(v) & {"X", "H", "C"}:
            v[name] = v[name].transpose(1, 0, 2)
    x, (directions, _, hidden) = v["X"], v["R"].shape
    steps, batch, _ = x.shape
    gates = GATES[op]
    functions = activations(attributes, op, directions)
    each = len(functions) // directions
    lengths = v.get("L", np.full(batch, steps))
    bound = attributes.get("clip")
    clip = (lambda a: np.clip(a, -bound, bound)) if bound else (lambda a: a)
    y = np.zeros((steps, directions, batch, hidden))
    h = v.get("H", np.zeros((directions, batch, hidden))).copy()
    c = v.get("C", np.zeros((directions, batch, hidden))).copy()
    for d in range(directions):
        f, g, out = (functions[d * each:(d + 1) * each] + [None, None])[:3]
        w = np.split(v["W"][d], gates)
        r = np.split(v["R"][d], gates)
        b = np.split(v["B"][d] if "B" in v else np.zeros(2 * gates * hidden), 2 * gates)
        p = np.split(v["P"][d] if "P" in v else np.zeros(3 * hidden), 3)
        backward = d == 1 or attributes.get("direction") == "reverse"
        for t in reversed(range(steps)) if backward else range(steps):
            def part(k, state):
                return x[t] @ w[k].T + state @ r[k].T + b[k] + b[gates + k]
            old = h[d]
            if op == "RNN":
                new, cell = f(clip(part(0, old))), c[d]
            elif op == "GRU":
                z, reset = f(clip(part(0, old))), f(clip(part(1, old)))
                if attributes.get("linear_before_reset", 0):
                    inner = x[t] @ w[2].T + b[2] + reset * (old @ r[2].T + b[5])
                else:
                    inner = part(2, reset * old)
                new, cell = (1 - z) * g(clip(inner)) + z * old, c[d]
            else:
                i = f(clip(part(0, old) + p[0] * c[d]))
                forget = (1 - i if attributes.get("input_forget", 0)
                          else f(clip(part(2, old) + p[2] * c[d])))
                cell = forget * c[d] + i * g(clip(part(3, old)))
                new = f(clip(part(1, old) + p[1] * cell)) * out(cell)
            alive = (t < lengths)[:, None]
            y[t, d] = np.where(alive, new, 0)
            h[d], c[d] = np.where(alive, new, old), np.where(alive, cell, c[d])
    if batch_first:
        y, h, c = y.transpose(2, 0, 1, 3), h.transpose(1, 0, 2), c.transpose(1, 0, 2)
    return {"Y": y, "Y_h": h, "Y_c": c}


class Recurrent(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.rng = np.random.default_rng(3)

    def compile(self, op, steps, operands, results, attributes, constant="WRBP", expect=0):
        """Compiles; returns the values of all operands that the model has, or what is wrong."""
        batch, inputs, hidden = 3, 4, 5
        directions = 2 if attributes.get("direction") == "bidirectional" else 1
        gates = GATES[op]
        state = (directions, batch, hidden)
        shapes = {"X": (steps, batch, inputs), "W": (directions, gates * hidden, inputs),
                  "R": (directions, gates * hidden, hidden), "B": (directions, 2 * gates * hidden),
                  "L": (batch,), "H": state, "C": state, "P": (directions, 3 * hidden)}
        if attributes.get("layout", 0):
            for name in "XHC":
                shapes[name] = (shapes[name][1], shapes[name][0], shapes[name][2])
        order = "XWRBLHCP" if op == "LSTM" else "XWRBLH"
        values = {n: self.rng.normal(0, 0.6, shapes[n]).astype(np.float32)
                  for n in order if n in "XWR" + operands}
        if "L" in values:
            values["L"] = np.array([steps, min(steps, max(1, steps // 2)), 0], np.int32)
        node = helper.make_node(op, [n if n in values else "" for n in order], results, name="node",
                                hidden_size=hidden, **attributes)
        graph = helper.make_graph(
            [node], "g",
            [helper.make_tensor_value_info(n, TensorProto.INT32 if n == "L" else TensorProto.FLOAT,
                                           a.shape) for n, a in values.items() if n not in constant],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in results if n],
            [numpy_helper.from_array(a, n) for n, a in values.items() if n in constant])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
        self.compiled, message = compile_model(model, self.folder, expect=expect)
        return values if expect == 0 else message

    def check(self, op, operands="", results=None, steps=11, constant="WRBP", **attributes):
        results = results or ["Y", "Y_h"] + (["Y_c"] if op == "LSTM" else [])
        values = self.compile(op, steps, operands, results, attributes, constant)
        want = reference(op, values, attributes)
        with temper.load(self.compiled, threads=1) as model:
            feed = {n: a for n, a in values.items() if n not in constant}
            for got in [model.run(feed), model.run(feed)]:
                self.assertEqual(list(got), [n for n in results if n])
                for name, value in got.items():
                    self.assertEqual(value.shape, want[name].shape)
                    np.testing.assert_allclose(value, want[name], rtol=1e-4, atol=1e-5,
                                               err_msg=f"{op} {operands} {attributes} {name}")

    def test_directions_and_lengths_of_sequences(self):
        for op, direction in itertools.product(GATES, ["forward", "reverse", "bidirectional"]):
            for steps in (0, 1, 3, 40):  # none, written out, and not
                with self.subTest(f"{op} {direction} {steps}"):
                    self.check(op, "BLHCP", steps=steps, direction=direction)

    def test_operands_may_be_left_out(self):
        for op in GATES:
            for operands in ["", "B", "L", "H", "C", "P", "BH", "HC", "BCP"]:
                with self.subTest(f"{op} {operands}"):
                    self.check(op, operands)

    def test_weights_that_only_the_run_knows(self):
        for op in GATES:
            with self.subTest(op):
                self.check(op, "BLHCP", direction="bidirectional", constant="")

    def test_results_may_be_left_out(self):
        for op, results in [("RNN", ["", "Y_h"]), ("GRU", ["Y"]), ("LSTM", ["", "", "Y_c"]),
                            ("LSTM", ["", "Y_h"]), ("LSTM", ["Y", "", "Y_c"])]:
            with self.subTest(f"{op} {results}"):
                self.check(op, "B", results, direction="reverse")

    def test_activations(self):
        names = list(FUNCTIONS)
        for i, name in enumerate(names):
            with self.subTest(name):
                self.check("RNN", "BH", activations=[name])
                self.check("GRU", "B", activations=["Sigmoid", name])
                self.check("LSTM", "B", activations=["HardSigmoid", name, names[i - 1]])

    def test_parameters_of_activations(self):
        self.check("RNN", "B", direction="bidirectional", activations=["LeakyRelu", "Affine"],
                   activation_alpha=[0.3, 0.5], activation_beta=[0.1])
        self.check("GRU", "B", direction="bidirectional",
                   activations=["HardSigmoid", "ScaledTanh", "Sigmoid", "Elu"],
                   activation_alpha=[0.3, 0.9, 0.7], activation_beta=[0.4, 0.8])
        self.check("LSTM", "BP", activations=["HardSigmoid", "ThresholdedRelu", "Softsign"],
                   activation_alpha=[0.1, 0.2], activation_beta=[0.6])

    def test_clip(self):
        for op in GATES:
            with self.subTest(op):
                self.check(op, "BHC", clip=0.3)

    def test_layout(self):
        for op in GATES:
            for steps in (3, 20):
                with self.subTest(f"{op} {steps}"):
                    self.check(op, "BLHC", steps=steps, layout=1, direction="bidirectional")

    def test_linear_before_reset(self):
        for operands, direction in [("", "forward"), ("BLH", "bidirectional"), ("B", "reverse")]:
            self.check("GRU", operands, direction=direction, linear_before_reset=1)

    def test_input_forget(self):
        for operands in ["", "BLHCP"]:
            self.check("LSTM", operands, input_forget=1)

    def test_thousands_of_steps(self):
        self.check("LSTM", "BH", steps=5000)
        self.assertLess(os.path.getsize(self.compiled), 200_000)

    def test_what_is_wrong_is_named(self):
        for attributes, part in [({"activations": ["Tanh", "Tanh"]}, "2 activations instead of 1"),
                                 ({"activations": ["Wave"]}, "the activation 'Wave'"),
                                 ({"direction": "sideways"}, "its direction is 'sideways'")]:
            message = self.compile("RNN", 20, "", ["Y"], attributes, expect=1)
            self.assertIn("RNN 'node'", message)
            self.assertIn(part, message)


if __name__ == "__main__":
    unittest.main()
