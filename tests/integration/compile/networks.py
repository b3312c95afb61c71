"""Small ONNX models for the tests of the compile path. The same seed gives the same model."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


class Builder:
    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []

    def input(self, name, shape, dtype=FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, name, dtype=FLOAT, shape=None):
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def constant(self, array, name=None):
        name = name or f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape, scale=None):
        scale = scale or np.sqrt(2.0 / max(1, np.prod(shape[1:])))
        return self.constant(self.rng.normal(0, scale, shape).astype(np.float32))

    def node(self, op, inputs, outputs=None, **attributes):
        name = f"n{len(self.nodes)}_{op}"
        outputs = outputs or [name + "_out"]
        self.nodes.append(helper.make_node(op, inputs, outputs, name=name, **attributes))
        return outputs[0]

    def conv(self, x, cin, cout, k, stride=1, group=1, out=None):
        pad = k // 2
        return self.node(
            "Conv", [x, self.weight(cout, cin // group, k, k), self.weight(cout, scale=0.1)],
            [out] if out else None, kernel_shape=[k, k], strides=[stride, stride],
            pads=[pad] * 4, group=group)

    def model(self, name):
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def residual():
    """Convolutions with a residual, batch normalization, pools and a dense end."""
    b = Builder(1)
    x = b.input("x", [1, 3, 23, 19])
    y = b.conv(x, 3, 16, 5, stride=2)
    y = b.node("Relu", [y])
    y = b.node("MaxPool", [y], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    z = b.conv(y, 16, 16, 3)
    scale = [b.constant(b.rng.uniform(0.5, 1.5, 16).astype(np.float32)) for _ in range(4)]
    z = b.node("BatchNormalization", [z, *scale])
    z = b.node("Relu", [z])
    z = b.conv(z, 16, 16, 3)
    z = b.node("Add", [z, y])
    z = b.node("Relu", [z])
    z = b.node("GlobalAveragePool", [z])
    z = b.node("Flatten", [z])
    b.node("Gemm", [z, b.weight(10, 16), b.weight(10)], ["logits"], transB=1)
    b.node("Softmax", ["logits"], ["probabilities"], axis=1)
    b.output("logits")
    b.output("probabilities")
    return b.model("residual")


def mobile():
    """Depthwise convolutions, squeeze and excite, hard activations, odd channels."""
    b = Builder(2)
    x = b.input("x", [1, 3, 20, 33])
    y = b.node("HardSwish", [b.conv(x, 3, 13, 3, stride=2)])
    z = b.node("HardSwish", [b.conv(y, 13, 13, 5, group=13)])
    s = b.node("GlobalAveragePool", [z])
    s = b.node("Relu", [b.conv(s, 13, 5, 1)])
    s = b.node("HardSigmoid", [b.conv(s, 5, 13, 1)], alpha=1 / 6)
    z = b.node("Mul", [z, s])
    z = b.conv(z, 13, 24, 1)
    left, right = b.conv(z, 24, 8, 1), b.conv(z, 24, 8, 3)
    z = b.node("Concat", [left, right], axis=1)
    z = b.node("Clip", [z, b.constant(np.float32(0)), b.constant(np.float32(6))])
    z = b.node("AveragePool", [z], kernel_shape=[2, 2], strides=[2, 2])
    b.node("Sigmoid", [z], ["y"])
    b.output("y")
    return b.model("mobile")


def groups():
    """ShuffleNet's blocks: grouped convolutions whose groups fill no vector, channels shuffled."""
    b = Builder(7)
    x = b.input("x", [1, 3, 11, 9])
    y = b.node("Relu", [b.conv(x, 3, 24, 3)])
    z = b.node("Relu", [b.conv(y, 24, 40, 1, group=4)])
    shape = b.constant(np.array([1, 4, 10, 11, 9], np.int64))
    z = b.node("Transpose", [b.node("Reshape", [z, shape])], perm=[0, 2, 1, 3, 4])
    z = b.node("Reshape", [z, b.constant(np.array([1, 40, 11, 9], np.int64))])
    z = b.conv(z, 40, 40, 3, group=40)
    z = b.conv(z, 40, 24, 1, group=4)
    y = b.node("Relu", [b.node("Add", [y, z])])
    b.node("Relu", [b.conv(y, 24, 36, 3, group=2)], ["y"])
    b.output("y")
    return b.model("groups")


def branches():
    """Concatenations of concatenations, odd channels, a split, a slice of rows."""
    b = Builder(6)
    x = b.input("x", [1, 3, 14, 17])
    y = b.node("Relu", [b.conv(x, 3, 20, 3)])
    for channels in [20, 33]:
        z = b.conv(b.node("Relu", [b.conv(y, channels, 24, 1)]), 24, 13, 3)
        y = b.node("Concat", [y, z], axis=1)
    left, right = b.node("Split", [y], ["left", "right"], axis=1), "right"
    z = b.node("Concat", [left, b.conv(right, 23, 23, 5, group=23)], axis=1)
    z = b.node("Concat", [z, b.conv(z, 46, 7, 3), b.node("MaxPool", [y], kernel_shape=[3, 3],
                                                        pads=[1] * 4)], axis=1)
    z = b.conv(z, 99, 8, 1, stride=2)
    b.node("Reshape", [z, b.constant(np.array([8, 63], np.int64))], ["rows"])
    part = b.node("Slice", [b.node("Softmax", ["rows"], axis=-1)]
                  + [b.constant(np.array([n], np.int64)) for n in (2, 6, 0)])
    b.node("MatMul", [part, b.weight(63, 9)], ["y"])
    b.output("y")
    b.output("rows")
    return b.model("branches")


def dense():
    """Matrix products, transposes, layer normalization by its parts, several inputs."""
    b = Builder(3)
    x, bias = b.input("x", [2, 17, 24]), b.input("bias", [24])
    y = b.node("MatMul", [x, b.weight(24, 24)])
    y = b.node("Add", [y, bias])
    t = b.node("Transpose", [x], perm=[0, 2, 1])
    scores = b.node("MatMul", [y, t])
    p = b.node("Softmax", [scores], axis=-1)
    b.node("MatMul", [p, x], ["attended"])
    mean = b.node("ReduceMean", ["attended"], axes=[-1])
    centred = b.node("Sub", ["attended", mean])
    square = b.node("Mul", [centred, centred])
    variance = b.node("ReduceMean", [square], axes=[-1])
    deviation = b.node("Sqrt", [b.node("Add", [variance, b.constant(np.float32(1e-5))])])
    b.node("Div", [centred, deviation], ["y"])
    b.node("ArgMax", [scores], ["where"], axis=-1, keepdims=0)
    b.output("y")
    b.output("attended")
    b.output("where", TensorProto.INT64)
    return b.model("dense")


def plumbing():
    """Outputs that are an input, a constant, one value twice, and reshapes of others."""
    b = Builder(4)
    x = b.input("x", [2, 3, 4])
    shape = b.constant(np.array([6, 4], np.int64))
    b.node("Relu", [x], ["positive"])
    b.node("Identity", ["positive"], ["again"])
    b.node("Reshape", [x, shape], ["flat"])
    b.node("Reshape", ["positive", shape], ["flat_positive"])
    b.node("Identity", [x], ["same"])
    b.node("Identity", [b.constant(np.arange(5, dtype=np.float32))], ["fixed"])
    for name in ["positive", "again", "flat", "flat_positive", "same", "fixed"]:
        b.output(name)
    return b.model("plumbing")


def open_batch():
    """A named dimension that --shape sets."""
    b = Builder(5)
    x = b.input("pixels", ["batch", 3, 8, 8])
    b.node("Relu", [b.conv(x, 3, 4, 3)], ["y"])
    b.output("y")
    return b.model("open_batch")


def uses():
    """One tensor read twice by a node, nodes and outputs that no one reads, names out of order."""
    b = Builder(6)
    x = b.input("x", [4, 6, 4])
    unused = b.input("unused", [3])
    b.node("Add", [x, x], ["doubled"])
    b.node("MatMul", ["doubled", b.node("Transpose", ["doubled"], perm=[0, 2, 1])], ["product"])
    b.node("Concat", [x, "doubled", x], ["three"], axis=1)
    b.node("Where", [b.node("Greater", [x, x]), x, x], ["chosen"])
    b.node("Split", ["three"], ["first", "second", "third"], axis=1, num_outputs=3)
    b.node("Relu", [unused], ["read_by_no_one"])
    b.node("MaxPool", ["second"], ["pooled", "indices"], kernel_shape=[2])
    b.node("Mul", [b.weight(4), b.weight(4)], ["constant_of_no_one"])
    for name in ["product", "three", "chosen", "pooled"]:
        b.output(name)
    model = b.model("uses")
    model.opset_import[0].version = 18
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(reversed(nodes))
    return model


ALL = {f.__name__: f
       for f in (residual, mobile, groups, branches, dense, plumbing, open_batch, uses)}
SHAPES = {"open_batch": ["--shape", "pixels=2x3x8x8"]}


def feeds(model, shapes=None, seed=0):
    rng = np.random.default_rng(seed)
    result = {}
    for value in model.graph.input:
        shape = (shapes or {}).get(value.name) or [
            d.dim_value for d in value.type.tensor_type.shape.dim]
        result[value.name] = rng.normal(0, 1, shape).astype(np.float32)
    return result


def save(folder, name):
    path = f"{folder}/{name}.onnx"
    onnx.save(ALL[name](), path)
    return path
