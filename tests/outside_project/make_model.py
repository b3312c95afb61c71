"""Writes smooth.onnx: y = SmoothStep(Clip(x, 0, 1)) * RowRange(x) + SmoothStep(constant; -1, 3)."""

import pathlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

constant = np.linspace(-2, 4, 7, dtype=np.float32)
nodes = [
    helper.make_node("Clip", ["x", "zero", "one"], ["clipped"], name="clip"),
    helper.make_node("SmoothStep", ["clipped"], ["s"], name="step", domain="com.example"),
    helper.make_node("RowRange", ["x"], ["r"], name="range", domain="com.example"),
    helper.make_node("SmoothStep", ["c"], ["k"], name="constant_step", domain="com.example",
                     low=-1.0, high=3.0),
    helper.make_node("Mul", ["s", "r"], ["m"], name="scale"),
    helper.make_node("Add", ["m", "k"], ["y"], name="shift"),
]
graph = helper.make_graph(
    nodes, "smooth",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, "N", 7])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [5, "N", 7])],
    [numpy_helper.from_array(np.float32(0), "zero"), numpy_helper.from_array(np.float32(1), "one"),
     numpy_helper.from_array(constant, "c")])
model = helper.make_model(
    graph, ir_version=8,
    opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)])
save(model, pathlib.Path(__file__).with_name("smooth.onnx"))
