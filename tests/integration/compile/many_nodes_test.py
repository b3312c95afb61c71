"""Graphs of 100,000 nodes, deep and wide, and a node of 16,000 operands compile in bounded time and
give the right values.

The limit is ctest's for the whole file; a form alone takes seconds."""

import tempfile
import unittest

import numpy as np
import temper
from onnx import TensorProto, helper, numpy_helper
from programs import compile_model

COUNT = 100_000


def deep():
    """A chain: each node reads the one before it."""
    ops = ["Relu", "Abs", "Neg", "Abs"]
    nodes, last = [], "x"
    for i in range(COUNT):
        inputs = [last, "k"] if i % 5 == 4 else [last]
        op = "Add" if i % 5 == 4 else ops[i % 5]
        last = f"t{i}"
        nodes.append(helper.make_node(op, inputs, [last], name=f"n{i}"))
    return nodes, {"k": np.float32(0.5)}, last, deep_value


def deep_value(x):
    y = x
    for i in range(COUNT):
        y = y + np.float32(0.5) if i % 5 == 4 else -y if i % 5 == 2 else (
            np.maximum(y, 0) if i % 5 == 0 else np.abs(y))
    return y


def wide():
    """Nodes side by side over one input, then a tree over them."""
    half = COUNT // 2
    nodes = [helper.make_node("Add", ["x", f"c{i % 100}"], [f"a{i}"], name=f"a{i}")
             for i in range(half)]
    level, n = [f"a{i}" for i in range(half)], 0
    while len(level) > 1:
        above = []
        for a, b in zip(level[::2], level[1::2]):
            above.append(f"m{n}")
            nodes.append(helper.make_node("Max", [a, b], [above[-1]], name=above[-1]))
            n += 1
        if len(level) % 2:
            above.append(level[-1])
        level = above
    weights = {f"c{i}": np.full(8, i, np.float32) for i in range(100)}
    return nodes, weights, level[0], lambda x: x + 99


def constant():
    """All but one node depend on constants alone."""
    nodes, last = [], "k"
    for i in range(COUNT - 1):
        nodes.append(helper.make_node("Neg", [last], [f"t{i}"], name=f"n{i}"))
        last = f"t{i}"
    nodes.append(helper.make_node("Add", ["x", last], ["y"], name="last"))
    return nodes, {"k": np.ones(8, np.float32)}, "y", lambda x: x + (-1) ** (COUNT - 1)


def operands():
    """One node with many operands."""
    nodes = [helper.make_node("Floor", ["x"], ["whole"]),  # so that the sum is exact
             helper.make_node("Sum", ["whole", "k"] * 8000, ["y"], name="sum")]
    return nodes, {"k": np.float32(0.25)}, "y", lambda x: 8000 * (np.floor(x) + np.float32(0.25))


def kernels():
    """A chain of products: as many kernels, and a generated main of as many steps."""
    nodes = [helper.make_node("MatMul", [f"t{i}" if i else "x", "w"], [f"t{i + 1}"], name=f"n{i}")
             for i in range(COUNT // 2)]
    turn = np.roll(np.eye(8, dtype=np.float32), 1, axis=1)
    return nodes, {"w": turn}, f"t{COUNT // 2}", lambda x: np.roll(x, COUNT // 2)


def branches():
    """Branches that only the run chooses among, each behind the one before it."""
    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [8])
    nodes = [helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
             helper.make_node("Greater", ["most", "one"], ["c"])]
    last = "x"
    for i in range(COUNT // 10):
        yes = helper.make_graph([helper.make_node("Neg", [last], [f"a{i}"])], "yes", [], [info(f"a{i}")])
        no = helper.make_graph([helper.make_node("Add", [last, "k"], [f"b{i}"])], "no", [],
                               [info(f"b{i}")])
        nodes.append(helper.make_node("If", ["c"], [f"t{i}"], then_branch=yes, else_branch=no,
                                      name=f"if{i}"))
        last = f"t{i}"
    nodes.append(helper.make_node("Neg", [last], ["y"]))
    return nodes, {"one": np.float32(1), "k": np.zeros(8, np.float32)}, "y", lambda x: -x


def products():
    """A sum of many different products."""
    count = 16_000
    nodes = [helper.make_node("Mul", ["x", f"c{i}"], [f"p{i}"], name=f"p{i}") for i in range(count)]
    nodes.append(helper.make_node("Sum", [f"p{i}" for i in range(count)], ["y"], name="sum"))
    weights = {f"c{i}": np.full(8, (i % 7 - 3) / 64, np.float32) for i in range(count)}
    total = sum((i % 7 - 3) / 64 for i in range(count))
    return nodes, weights, "y", lambda x: x * np.float32(total)


class ManyNodes(unittest.TestCase):
    def check(self, form):
        nodes, weights, last, expected = form()
        info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [8])
        graph = helper.make_graph(
            nodes, form.__name__, [info("x")], [info(last)],
            [numpy_helper.from_array(np.asarray(v), n) for n, v in weights.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        with tempfile.TemporaryDirectory() as folder:
            compiled, _ = compile_model(model, folder, seconds=400)
            x = np.linspace(-2, 2, 8, dtype=np.float32)
            with temper.load(compiled) as loaded:
                got = loaded.run({"x": x})[last]
        np.testing.assert_allclose(got, expected(x), rtol=1e-5)

    def test_deep(self):
        self.check(deep)

    def test_wide(self):
        self.check(wide)

    def test_constant(self):
        self.check(constant)

    def test_kernels(self):
        self.check(kernels)

    def test_branches(self):
        self.check(branches)

    def test_products(self):
        self.check(products)

    def test_operands(self):
        self.check(operands)


if __name__ == "__main__":
    unittest.main()
