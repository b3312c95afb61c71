"""The kernels that are measured: families of single-operator ONNX models, odd sizes among them."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

# By family: the sizes of each kernel. matmul: M, N, K; batch_matmul: B, M, N, K; matvec: N, K;
# conv, conv1x1 and depthwise: H, channels in, channels out, window, stride; softmax and
# layer_norm: rows, columns; pool: kind, H, channels, window, stride (window 0: global); reduce:
# kind, rows, columns; elementwise: operator, extents; transpose: extents, then as many axes;
# concat: rows, then the columns of each operand.
FAMILIES = {
    "matmul": [
        (128, 128, 128), (256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (128, 3072, 768),
        (128, 768, 3072), (197, 768, 768), (197, 3072, 768), (49, 512, 2048), (1000, 1000, 1000),
        (197, 1000, 192), (384, 27, 512), (27, 1000, 197), (64, 2048, 49), (160, 6625, 120),
    ],
    "batch_matmul": [
        (12, 128, 128, 64), (12, 128, 64, 128), (12, 197, 197, 64), (12, 197, 64, 197),
        (8, 49, 49, 32), (64, 49, 49, 32), (16, 384, 384, 64), (3, 1000, 27, 49), (1, 512, 512, 64),
        (6, 100, 100, 27), (12, 6, 6, 64), (4, 257, 257, 80),
    ],
    "matvec": [
        (1000, 2048), (1000, 512), (1000, 1280), (4096, 4096), (1000, 4096), (4096, 9216),
        (768, 768), (197, 1000), (27, 49), (2, 200), (3072, 768), (10, 27000),
    ],
    "conv": [
        (56, 64, 64, 3, 1), (28, 128, 128, 3, 1), (14, 256, 256, 3, 1), (7, 512, 512, 3, 1),
        (224, 3, 64, 7, 2), (56, 128, 128, 3, 2), (28, 256, 256, 3, 2), (14, 512, 512, 3, 2),
        (224, 3, 32, 3, 2), (49, 27, 100, 3, 1), (35, 48, 64, 5, 1), (17, 197, 192, 3, 1),
        (56, 64, 1000, 3, 1), (112, 27, 27, 3, 1),
    ],
    "conv1x1": [
        (56, 64, 256, 1, 1), (56, 256, 64, 1, 1), (28, 512, 128, 1, 1), (14, 1024, 256, 1, 1),
        (7, 512, 2048, 1, 1), (112, 16, 96, 1, 1), (112, 32, 16, 1, 1), (56, 24, 144, 1, 1),
        (14, 96, 576, 1, 1), (7, 960, 320, 1, 1), (49, 27, 197, 1, 1), (14, 1000, 27, 1, 1),
        (56, 256, 512, 1, 2),
    ],
    "depthwise": [
        (112, 32, 32, 3, 1), (112, 96, 96, 3, 2), (56, 144, 144, 3, 1), (28, 192, 192, 3, 2),
        (14, 384, 384, 3, 1), (14, 576, 576, 3, 2), (7, 960, 960, 3, 1), (14, 480, 480, 5, 1),
        (56, 72, 72, 5, 2), (56, 96, 96, 7, 1), (49, 27, 27, 3, 1), (27, 1000, 1000, 3, 1),
    ],
    "softmax": [
        (1536, 128), (2364, 197), (1, 1000), (1000, 49), (49, 1000), (3136, 49), (128, 1024),
        (16, 30522), (6144, 384), (1000, 27), (197, 197), (40, 6625),
    ],
    "layer_norm": [
        (128, 768), (197, 768), (3136, 96), (784, 192), (196, 384), (49, 768), (384, 384),
        (1000, 27), (1, 1000), (512, 1024), (49, 197), (2048, 512),
    ],
    "pool": [
        ("Max", 112, 64, 3, 2), ("Max", 56, 27, 3, 2), ("Max", 28, 256, 3, 1), ("Max", 55, 96, 3, 2),
        ("Average", 56, 128, 2, 2), ("Average", 17, 768, 3, 1), ("Average", 14, 197, 2, 2),
        ("Average", 7, 2048, 0, 1), ("Average", 7, 1000, 0, 1), ("Max", 14, 512, 0, 1),
    ],
    "reduce": [
        ("Mean", 1024, 1000), ("Max", 197, 1000), ("Sum", 1, 100000), ("Mean", 197, 768),
        ("L2", 1000, 27), ("Sum", 49, 197), ("LogSumExp", 64, 1000), ("Mean", 3136, 96),
    ],
    "elementwise": [
        ("Add", 56, 56, 256), ("Relu", 197, 1000), ("Sigmoid", 112, 112, 96), ("Tanh", 128, 1024),
        ("Erf", 197, 3072), ("HardSwish", 14, 14, 480), ("Mul", 27, 49, 197), ("Exp", 1000, 1000),
        ("Sqrt", 49, 1000),
    ],
    "transpose": [
        (64, 3136, 1, 0), (3136, 64, 1, 0), (197, 12, 64, 1, 0, 2), (12, 197, 64, 0, 2, 1),
        (1000, 27, 1, 0), (49, 197, 1, 0), (3, 50176, 1, 0), (8, 49, 32, 1, 0, 2), (512, 512, 1, 0),
    ],
    "concat": [
        (3136, 64, 64), (784, 128, 32), (196, 192, 208, 48, 64), (3136, 24, 24), (49, 512, 27),
        (1000, 197, 49), (1, 27000, 1000),
    ],
}


def names(families):
    return [(f"{family}_{'x'.join(map(str, sizes))}", family, sizes)
            for family in families for sizes in FAMILIES[family]]


def _model(nodes, inputs, outputs, constants):
    def values(shapes):
        return [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]

    graph = helper.make_graph(nodes, "kernel", values(inputs), values(outputs), constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def make(family, sizes):
    """The ONNX model of one kernel, and the shapes of its inputs by name."""
    random = np.random.default_rng(0)

    def constant(name, *shape):
        return numpy_helper.from_array(
            (random.standard_normal(shape) * 0.1).astype(np.float32), name)

    attributes, constants = {}, []
    if family in ("matmul", "matvec"):
        m, n, k = sizes if family == "matmul" else (1, *sizes)
        op, shapes, out = "MatMul", {"x": (m, k)}, (m, n)
        constants = [constant("w", k, n)]
    elif family == "batch_matmul":
        b, m, n, k = sizes
        op, shapes, out = "MatMul", {"x": (b, m, k), "y": (b, k, n)}, (b, m, n)
    elif family in ("conv", "conv1x1", "depthwise"):
        h, channels, results, window, stride = sizes
        group = channels if family == "depthwise" else 1
        pad = window // 2
        side = (h + 2 * pad - window) // stride + 1
        op, shapes, out = "Conv", {"x": (1, channels, h, h)}, (1, results, side, side)
        constants = [constant("w", results, channels // group, window, window),
                     constant("b", results)]
        attributes = {"kernel_shape": [window] * 2, "strides": [stride] * 2, "pads": [pad] * 4,
                      "group": group}
    elif family == "softmax":
        op, shapes, out, attributes = "Softmax", {"x": sizes}, sizes, {"axis": -1}
    elif family == "pool":
        kind, h, channels, window, stride = sizes
        pad = window // 2 if window % 2 else 0
        side = (h + 2 * pad - window) // stride + 1 if window else 1
        op = f"{kind}Pool" if window else f"Global{kind}Pool"
        shapes, out = {"x": (1, channels, h, h)}, (1, channels, side, side)
        attributes = {"kernel_shape": [window] * 2, "strides": [stride] * 2,
                      "pads": [pad] * 4} if window else {}
    elif family == "reduce":
        kind, rows, columns = sizes
        op, shapes, out = f"Reduce{kind}", {"x": (rows, columns)}, (rows, 1)
        attributes = {"keepdims": 1}
        if kind == "Sum":  # the one that takes its axes as an input by opset 17
            constants = [numpy_helper.from_array(np.array([1]), "axes")]
        else:
            attributes["axes"] = [1]
    elif family == "elementwise":
        op, *out = sizes
        shapes = {name: tuple(out) for name in (("x", "y") if op in ("Add", "Mul") else ("x",))}
    elif family == "transpose":
        rank = len(sizes) // 2
        op, shapes, attributes = "Transpose", {"x": sizes[:rank]}, {"perm": sizes[rank:]}
        out = [sizes[axis] for axis in sizes[rank:]]
    elif family == "concat":
        rows, *columns = sizes
        op, out, attributes = "Concat", (rows, sum(columns)), {"axis": 1}
        shapes = {f"x{i}": (rows, c) for i, c in enumerate(columns)}
    else:
        op, shapes, out, attributes = "LayerNormalization", {"x": sizes}, sizes, {"axis": -1}
        constants = [constant("w", sizes[1]), constant("b", sizes[1])]
    inputs = [*shapes, *(c.name for c in constants)]
    node = helper.make_node(op, inputs, ["out"], **attributes)
    return _model([node], shapes, {"out": out}, constants), shapes


def make_inside(family, sizes):
    """The same operator on an image as it is inside a network: channels-last, behind a convolution."""
    model, shapes = make(family, sizes)
    node, (batch, channels, h, w) = model.graph.node[0], shapes["x"]
    _, results, out_h, out_w = (d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim)
    few = 4
    weight = np.random.default_rng(1).standard_normal((channels, few, 1, 1)).astype(np.float32)
    node.input[0], node.output[0] = "before", "kernel"
    nodes = [
        helper.make_node("Transpose", ["x"], ["first"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["first", "before.w"], ["before"], kernel_shape=[1, 1]), node,
        helper.make_node("Transpose", ["kernel"], ["out"], perm=[0, 2, 3, 1]),
    ]
    constants = [*model.graph.initializer, numpy_helper.from_array(weight, "before.w")]
    shapes = {"x": (batch, h, w, few)}
    return _model(nodes, shapes, {"out": (batch, out_h, out_w, results)}, constants), shapes


def make_identity(shapes):
    """A model that only hands its inputs on: what a runtime takes besides the kernel."""
    nodes = [helper.make_node("Identity", [n], [f"{n}.out"]) for n in shapes]
    return _model(nodes, shapes, {f"{n}.out": s for n, s in shapes.items()}, [])
