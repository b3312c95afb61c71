"""Ends of ranges, infinities and results left out, through `temper compile`, against numpy."""

import tempfile
import unittest

import numpy as np
import onnx.parser
import temper
from onnx import TensorProto, helper
from programs import compile_model


class EdgeValues(unittest.TestCase):
    def run_model(self, model, x):
        """The results of a model, or of what ONNX's parser makes of a graph's text."""
        if isinstance(model, str):
            model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 18]>' + model)
        with tempfile.TemporaryDirectory() as folder:
            compiled, _ = compile_model(model, folder)
            with temper.load(compiled, threads=1) as loaded:
                return loaded.run({"x": x})

    def run_node(self, op, x, outputs, **attributes):
        x = np.asarray(x, np.float32)
        node = helper.make_node(op, ["x"], outputs, **attributes)
        values = [helper.make_empty_tensor_value_info(name) for name in outputs if name]
        graph = helper.make_graph(
            [node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)], values)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        return self.run_model(model, x)

    def test_softplus_keeps_small_results(self):
        x = np.float32([-100, -80, -20, -15, -12, -9, -3, -0.5, 0, 0.5, 3, 20, 100])
        want = np.logaddexp(0, x.astype(np.float64))
        y = self.run_node("Softplus", x, ["y"])["y"]
        np.testing.assert_allclose(y, want, rtol=2e-6, atol=1e-37)

    def test_log_sum_exp_of_infinities(self):
        inf = np.inf
        x = [[-inf, -inf, -inf], [inf, 1, 2], [-inf, 1, 2], [100, 101, 102], [-inf, inf, 0]]
        want = [-inf, inf, np.logaddexp(1, 2), 100 + np.log(np.exp([0, 1, 2]).sum()), inf]
        y = self.run_node("ReduceLogSumExp", x, ["y"], keepdims=0)["y"]
        # All of the tensor is one result where no axes are given.
        self.assertEqual(y, np.float32(inf))
        for row, expected in zip(x, want):
            y = self.run_node("ReduceLogSumExp", row, ["y"], keepdims=0)["y"]
            np.testing.assert_allclose(y, expected, rtol=1e-6)

    def test_results_of_unique_left_out(self):
        x = np.float32([3, 1, 2, 1, 3, 3])
        for outputs in (["y"], ["y", "i"], ["y", "", "v"], ["y", "", "", "c"], ["y", "i", "v", "c"]):
            got = self.run_node("Unique", x, outputs)
            want = dict(zip("yivc", np.unique(x, True, True, True)))
            for name in filter(None, outputs):
                np.testing.assert_array_equal(got[name], want[name], err_msg=f"{name} of {outputs}")

    def test_comparisons_of_integers_that_wrap(self):
        x = np.array([np.iinfo(np.int64).max, np.iinfo(np.int64).min, 0, 7], np.int64)
        got = self.run_model("""g (int64[4] x) => (bool[4] less, int64[4] low) {
            three = Constant<value = int64 {3}>()
            above = Add(x, three)  less = Less(above, x)  low = Min(above, x) }""", x)
        np.testing.assert_array_equal(got["less"], [True, False, False, False])
        np.testing.assert_array_equal(got["low"], np.minimum(x + np.int64(3), x))

    def test_scales_of_one_dimension(self):
        got = self.run_model("""g (float[3] x) => (uint8[3] q, float[3] y) {
            s = Constant<value = float[3] {0.5, 0.25, 2.0}>()
            z = Constant<value = uint8[3] {8, 2, 9}>()
            q = QuantizeLinear<axis = 0>(x, s, z)  y = DequantizeLinear<axis = 0>(q, s, z) }""",
                             np.float32([1.5, -0.75, 4]))
        np.testing.assert_array_equal(got["q"], [11, 0, 11])
        np.testing.assert_array_equal(got["y"], [1.5, -0.5, 4])

    def test_operators_of_scalars(self):
        got = self.run_node("Unique", 3, ["y", "i", "v", "c"])
        for name, want in zip("yivc", ([3], [0], [0], [1])):
            np.testing.assert_array_equal(got[name], want, err_msg=name)
        for x, want in [(2.5, 255), (-2.5, 0), (0, 0)]:
            got = self.run_node("DynamicQuantizeLinear", x, ["y", "s", "z"])
            self.assertEqual(got["y"], want)
            np.testing.assert_allclose(got["s"], abs(x) / 255 if x else 1, rtol=1e-6)
            self.assertEqual(got["z"], 255 if x < 0 else 0)


if __name__ == "__main__":
    unittest.main()
