#!/usr/bin/env python3
"""Writes cases.json: single operators with what ONNX Runtime (or, where it lacks the type, the
reference implementation of the `onnx` package) computes for them.

    make_cases.py > cases.json
Needs: numpy, onnx, onnxruntime. Operands are not stored but made by fill(), which
case_file.cc repeats.
"""
import json
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

CASES = []


def fill(shape, dtype, seed, low, high):
    i = np.arange(int(np.prod(shape)), dtype=np.uint64)
    h = (i * np.uint64(2654435761) + np.uint64(seed * 40503 + 12345)) & np.uint64(0xFFFFFFFF)
    h ^= h >> np.uint64(15)
    h = (h * np.uint64(2246822519)) & np.uint64(0xFFFFFFFF)
    h ^= h >> np.uint64(13)
    unit = (h >> np.uint64(8)).astype(np.float64) / 2.0**24
    value = low + unit * (high - low)
    if np.dtype(dtype).kind not in "fc":
        value = np.floor(value)
    return value.astype(dtype).reshape(shape)


class T:
    """An operand: made by fill(), or given. const: a constant of the graph."""

    def __init__(self, shape=None, dtype="float32", low=-2.0, high=2.0, data=None, const=False):
        self.shape, self.dtype, self.low, self.high = shape, dtype, low, high
        self.data, self.const = data, const


def C(data, dtype="float32"):
    return T(data=np.array(data, dtype=dtype), dtype=dtype, const=True)


def I(*data):
    return C(list(data), "int64")


def W(*shape, **kw):
    return T(list(shape), const=True, **kw)


def X(*shape, **kw):
    return T(list(shape), **kw)


def numbers(a):
    if a.dtype.kind == "f":
        return [float(f"{v:.8g}") if np.isfinite(v) else str(float(v)) for v in a.astype(np.float64).flat]
    return [int(v) for v in a.flat]


def case(op, operands, outputs=1, note="", **attributes):
    arrays, described = [], []
    for k, t in enumerate(operands):
        if t is None:
            arrays.append(None)
            described.append(None)
            continue
        seed = len(CASES) * 16 + k
        a = t.data if t.data is not None else fill(t.shape, t.dtype, seed, t.low, t.high)
        d = {"shape": list(a.shape), "dtype": str(a.dtype), "constant": t.const}
        if t.data is not None:
            d["data"] = numbers(a)
        else:
            d.update(seed=seed, low=t.low, high=t.high)
        arrays.append(a)
        described.append(d)
    graph_attributes = dict(attributes)
    if op == "Cast":
        graph_attributes["to"] = helper.np_dtype_to_tensor_dtype(np.dtype(attributes["to"]))
    names = [f"x{k}" if a is not None else "" for k, a in enumerate(arrays)]
    results = [f"y{k}" for k in range(outputs)]
    node = helper.make_node(op, names, results, **graph_attributes)
    kinds = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
             for n, a in zip(names, arrays) if a is not None]
    graph = helper.make_graph([node], "g", kinds,
                              [helper.make_empty_tensor_value_info(r) for r in results])
    opset = 23 if op in ("Attention", "RMSNormalization", "RotaryEmbedding") else 21
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    feeds = {n: a for n, a in zip(names, arrays) if a is not None}
    try:
        inferred = onnx.shape_inference.infer_shapes(model)
        session = onnxruntime.InferenceSession(inferred.SerializeToString(),
                                               providers=["CPUExecutionProvider"])
        got = session.run(None, feeds)
    except Exception as error:  # noqa: BLE001: any refusal of theirs
        print(f"{op} {note}: {str(error)[:90]}: reference", file=sys.stderr)
        got = ReferenceEvaluator(model).run(None, feeds)
    CASES.append({
        "name": op + ("_" + note if note else ""), "op": op, "attributes": attributes,
        "inputs": described,
        "outputs": [{"shape": list(g.shape), "dtype": str(g.dtype), "data": numbers(np.asarray(g))}
                    for g in got]})


def unary():
    for op in ("Abs Atan Asinh Ceil Cos Erf Exp Floor Identity LeakyRelu Neg Relu Round Sigmoid Sign "
               "Sin Sinh Cosh Softplus Softsign Tan Tanh Elu Selu Celu HardSigmoid HardSwish Gelu "
               "Mish").split():
        case(op, [X(2, 5, low=-4.0, high=4.0)])
    case("Gelu", [X(8, low=-4.0, high=4.0)], note="tanh", approximate="tanh")
    case("Elu", [X(6)], note="alpha", alpha=0.3)
    case("Celu", [X(6)], note="alpha", alpha=0.7)
    case("LeakyRelu", [X(6)], note="alpha", alpha=0.2)
    case("HardSigmoid", [X(6)], note="alpha", alpha=0.3, beta=0.4)
    for op in ("Acos", "Asin", "Atanh"):
        case(op, [X(6, low=-0.9, high=0.9)])
    for op in ("Log", "Sqrt", "Reciprocal"):
        case(op, [X(6, low=0.5, high=4.0)])
    case("Acosh", [X(6, low=1.1, high=4.0)])
    case("Abs", [X(6, dtype="int32", low=-9, high=9)], note="int32")
    case("Neg", [X(6, dtype="int64", low=-9, high=9)], note="int64")
    case("Sign", [X(6, dtype="int32", low=-2, high=3)], note="int32")
    case("Not", [X(6, dtype="bool", low=0, high=2)])
    for op in ("Relu", "Abs", "Sigmoid", "HardSwish", "Sign"):
        case(op, [C([np.nan, np.inf, -np.inf, -0.0])], note="special")
    case("Dropout", [X(6)])


def binary():
    shapes = [("same", (2, 3), (2, 3)), ("row", (2, 3), (3,)), ("both", (2, 1, 3), (4, 1)),
              ("scalar", (2, 3), ())]
    for op in "Add Sub Mul Div Pow PRelu".split():
        for note, a, b in shapes:
            if op == "PRelu" and note == "both":
                continue
            low = 0.5 if op == "Pow" else -2.0
            case(op, [X(*a, low=low), W(*b, low=0.5)], note=note)
    for exponent in (2.0, 3.0, 0.5, -1.0, 1.0):
        case("Pow", [X(5, low=0.5), C(exponent)], note=f"to_{exponent}")
    case("Pow", [X(5, dtype="int32", low=-5, high=5), C(3, "int32")], note="int32")
    case("Div", [X(8, dtype="int32", low=-9, high=9), X(8, dtype="int32", low=1, high=4)], note="int32")
    case("Mod", [X(8, dtype="int32", low=-9, high=9), C([3, -3, 2, -2, 5, -5, 4, -4], "int32")], note="int32")
    case("Mod", [X(8, dtype="int32", low=-9, high=9), C([3, -3, 2, -2, 5, -5, 4, -4], "int32")],
         note="fmod_int32", fmod=1)
    case("Mod", [X(8), C([.7, -.7, .3, -.3, 1, -1, 2, .1])], note="fmod", fmod=1)
    for op in "Equal Less LessOrEqual Greater GreaterOrEqual".split():
        case(op, [X(2, 4, dtype="int32", low=0, high=3), X(4, dtype="int32", low=0, high=3)])
    for op in "And Or Xor".split():
        case(op, [X(2, 4, dtype="bool", low=0, high=2), X(4, dtype="bool", low=0, high=2)])
    for op in "Max Min Sum Mean".split():
        case(op, [X(2, 3), X(3), X(2, 1)])
        case(op, [X(3)], note="one")
    case("Max", [C([np.nan, 1, -1]), C([0.0, np.nan, 0])], note="nan")
    case("Clip", [X(8), C(-0.5), C(1.0)])
    case("Clip", [X(8), None, C(1.0)], note="no_low")
    case("Clip", [X(8), C(1.0), C(-1.0)], note="crossed")
    case("Clip", [X(8), T([], low=-1.0, high=-0.5), T([], low=0.5, high=1.0)], note="computed")
    case("Where", [X(2, 3, dtype="bool", low=0, high=2), X(3), X(2, 1)])
    for a, b in (("float32", "int32"), ("int32", "float32"), ("float32", "bool"), ("bool", "float32"),
                 ("int64", "int32"), ("float32", "float64")):
        case("Cast", [X(6, dtype=a, low=-3, high=3)], note=f"{a}_{b}", to=b)


def window():
    case("Conv", [X(1, 3, 6, 7), W(4, 3, 3, 3)], note="valid", kernel_shape=[3, 3])
    case("Conv", [X(2, 3, 6, 7), W(4, 3, 3, 3), W(4)], note="pads", pads=[1, 1, 1, 1])
    case("Conv", [X(1, 2, 8, 9), W(4, 2, 3, 2), W(4)], note="uneven", pads=[2, 0, 1, 1],
         strides=[2, 3], dilations=[2, 1])
    case("Conv", [X(1, 4, 5, 5), W(6, 4, 1, 1), W(6)], note="1x1")
    case("Conv", [X(1, 4, 5, 5), W(6, 4, 1, 1)], note="1x1_s2", strides=[2, 2])
    case("Conv", [X(1, 6, 5, 5), W(6, 1, 3, 3), W(6)], note="depthwise", group=6, pads=[1, 1, 1, 1])
    case("Conv", [X(1, 3, 5, 5), W(6, 1, 3, 3), W(6)], note="multiplier", group=3, pads=[1, 1, 1, 1],
         strides=[2, 2])
    case("Conv", [X(1, 6, 5, 5), W(4, 3, 3, 3)], note="groups", group=2, pads=[1, 1, 1, 1])
    case("Conv", [X(1, 3, 5, 5), W(3, 1, 1, 1)], note="depthwise_1x1", group=3)
    case("Conv", [X(1, 2, 7, 6), W(3, 2, 3, 2)], note="same_upper", auto_pad="SAME_UPPER", strides=[2, 2])
    case("Conv", [X(1, 2, 7, 6), W(3, 2, 2, 2)], note="same_lower", auto_pad="SAME_LOWER", strides=[2, 1])
    case("Conv", [X(1, 3, 9), W(4, 3, 3), W(4)], note="1d", pads=[1, 1], strides=[2])
    case("Conv", [X(1, 2, 3, 4, 4), W(2, 2, 2, 3, 3)], note="3d", pads=[0, 1, 1, 1, 1, 1])
    case("Conv", [X(1, 2, 4, 4), X(3, 2, 3, 3), X(3)], note="computed_weight", pads=[1, 1, 1, 1])
    case("ConvTranspose", [X(1, 3, 4, 4), W(3, 2, 3, 3), W(2)], strides=[2, 2], pads=[1, 1, 1, 1])
    case("ConvTranspose", [X(1, 4, 3, 3), W(4, 2, 2, 3)], note="group", group=2, strides=[2, 1],
         dilations=[1, 2], output_padding=[1, 0])
    case("MaxPool", [X(1, 2, 7, 7)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    case("MaxPool", [X(1, 2, 7, 6)], note="ceil", kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1)
    case("MaxPool", [X(1, 2, 7, 7)], note="dilated", kernel_shape=[2, 2], dilations=[2, 2])
    case("MaxPool", [X(1, 2, 8)], note="1d", kernel_shape=[3], strides=[2], pads=[1, 0])
    for include in (0, 1):
        case("AveragePool", [X(1, 2, 7, 7)], note=f"pads_{include}", kernel_shape=[3, 3],
             strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=include)
        case("AveragePool", [X(1, 2, 8, 6)], note=f"ceil_{include}", kernel_shape=[3, 3],
             strides=[2, 2], pads=[0, 1, 0, 0], ceil_mode=1, count_include_pad=include)
        case("AveragePool", [X(1, 2, 8, 8)], note=f"dilated_{include}", kernel_shape=[2, 3],
             dilations=[3, 2], pads=[1, 1, 1, 1], count_include_pad=include)
    case("AveragePool", [X(1, 2, 6, 6)], note="plain", kernel_shape=[2, 2], strides=[2, 2])
    case("GlobalAveragePool", [X(2, 3, 4, 5)])
    case("GlobalMaxPool", [X(2, 3, 4, 5)])


def matrix():
    case("Gemm", [X(3, 5), W(5, 4)])
    case("Gemm", [X(3, 5), W(4, 5), W(4)], note="transB_bias", transB=1)
    case("Gemm", [X(5, 3), W(4, 5), W(3, 1)], note="all", transA=1, transB=1, alpha=0.5, beta=2.0)
    case("MatMul", [X(3, 5), W(5, 4)])
    case("MatMul", [X(2, 1, 3, 5), X(4, 5, 2)], note="batch")
    case("MatMul", [X(5), X(5, 4)], note="vector_left")
    case("MatMul", [X(2, 3, 5), X(5)], note="vector_right")
    case("MatMul", [X(5), X(5)], note="vectors")


def reductions():
    for op in ("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
               "ReduceProd ReduceSum ReduceSumSquare").split():
        low = 0.5 if op == "ReduceLogSum" else -2.0
        case(op, [X(2, 3, 4, low=low), I(1)], keepdims=1)
        case(op, [X(2, 3, 4, low=low), I(-1, 0)], note="flat", keepdims=0)
        case(op, [X(2, 3, low=low)], note="all", keepdims=0)
    case("ReduceSum", [X(2, 3)], note="noop", noop_with_empty_axes=1)
    case("ReduceMax", [X(2, 3, dtype="int32", low=-9, high=9), I(1)], note="int32")
    case("ReduceMean", [X(2, 3, 4, 5), I(2, 3)], note="image", keepdims=1)
    for op in ("ArgMax", "ArgMin"):
        case(op, [X(3, 4)], axis=1, keepdims=0)
        case(op, [X(3, 4, dtype="int32", low=0, high=2)], note="ties", axis=0)
        case(op, [X(3, 4, dtype="int32", low=0, high=2)], note="last", axis=1, select_last_index=1)
    case("Softmax", [X(2, 5)])
    case("Softmax", [X(2, 3, 4)], note="axis1", axis=1)
    case("LogSoftmax", [X(2, 5)], axis=1)
    case("LayerNormalization", [X(2, 3, 6), W(6), W(6)], axis=-1)
    case("LayerNormalization", [X(2, 3, 6), W(3, 6)], note="two_axes", axis=1, epsilon=1e-3)
    case("BatchNormalization", [X(2, 3, 2, 2), W(3), W(3), W(3), W(3, low=0.5)], epsilon=1e-3)
    case("LRN", [X(1, 6, 3, 2)], size=3, alpha=0.1, beta=0.75, bias=1.5)


def movement():
    case("Reshape", [X(2, 3, 4), I(4, 6)])
    case("Reshape", [X(2, 3, 4, 1), I(2, 1, 12)], note="units")
    case("Reshape", [X(6, 4), I(2, 2, 3, 2)], note="mixed")
    case("Flatten", [X(2, 3, 4)], axis=1)
    case("Flatten", [X(2, 3, 4)], note="axis2", axis=2)
    case("Squeeze", [X(2, 1, 3, 1), I(1)])
    case("Unsqueeze", [X(2, 3), I(0, -1)])
    case("Transpose", [X(2, 3, 4)])
    case("Transpose", [X(2, 3, 4, 2)], note="perm", perm=[0, 2, 3, 1])
    case("Expand", [X(3, 1), I(2, 3, 4)])
    case("Tile", [X(2, 3), I(2, 2)])
    case("Slice", [X(5, 6), I(1), I(4), I(1)])
    case("Slice", [X(5, 6), I(4, -1), I(-100, 1), I(0, 1), I(-2, -1)], note="back")
    case("Slice", [X(5, 6), I(0, 2), I(100, -1)], note="clamped")
    case("Split", [X(2, 6)], outputs=3, axis=1, num_outputs=3)
    case("Split", [X(5, 2), I(1, 4)], outputs=2, note="sizes", axis=0)
    case("Concat", [X(2, 3), X(2, 1), X(2, 2)], axis=1)
    case("Concat", [X(1, 2, 3, 3), X(1, 1, 3, 3)], note="image", axis=1)
    case("Concat", [X(2, 2), W(1, 2)], note="axis0", axis=-2)
    case("Pad", [X(2, 3), I(1, 0, 0, 2)])
    case("Pad", [X(2, 3), I(1, 2, 1, 0), C(1.5)], note="value")
    case("Pad", [X(2, 4), I(-1, 1), None, I(1)], note="crop")
    for mode in ("edge", "reflect", "wrap"):
        case("Pad", [X(3, 4), I(1, 2, 2, 1)], note=mode, mode=mode)
    case("Gather", [X(4, 3), I(3, 0, -1)])
    case("Gather", [X(3, 4), C([[0, 2], [1, -4]], "int64")], note="axis1", axis=1)
    case("Gather", [X(3, 4), C(1, "int64")], note="scalar", axis=1)
    case("Gather", [X(4, 3), X(5, dtype="int64", low=0, high=4)], note="computed")
    case("DepthToSpace", [X(1, 8, 2, 3)], blocksize=2)
    case("DepthToSpace", [X(1, 8, 2, 3)], note="crd", blocksize=2, mode="CRD")
    case("SpaceToDepth", [X(1, 2, 4, 6)], blocksize=2)


def bits():
    case("IsInf", [C([np.nan, np.inf, -np.inf, 1.0])])
    case("IsInf", [C([np.nan, np.inf, -np.inf, 1.0])], note="positive", detect_negative=0)
    case("IsInf", [C([np.nan, np.inf, -np.inf, 1.0])], note="negative", detect_positive=0)
    case("IsNaN", [C([np.nan, np.inf, -np.inf, 1.0])])
    case("Shrink", [X(8)])
    case("Shrink", [X(8)], note="soft", lambd=1.0, bias=0.5)
    case("Shrink", [X(8, dtype="int32", low=-5, high=5)], note="int32", lambd=2.0, bias=1.0)
    case("ThresholdedRelu", [X(8)])
    case("ThresholdedRelu", [X(8)], note="alpha", alpha=0.25)
    for direction in ("LEFT", "RIGHT"):
        case("BitShift", [X(2, 4, dtype="uint8", low=0, high=255), X(4, dtype="uint8", low=0, high=7)],
             note=direction.lower(), direction=direction)
    case("BitwiseAnd", [X(2, 4, dtype="int32", low=-99, high=99), X(4, dtype="int32", low=-99, high=99)])
    case("BitwiseOr", [X(2, 4, dtype="uint8", low=0, high=255), X(4, dtype="uint8", low=0, high=255)])
    case("BitwiseXor", [X(2, 4, dtype="int16", low=-99, high=99), X(4, dtype="int16", low=-99, high=99)])
    case("BitwiseNot", [X(4, dtype="uint16", low=0, high=999)])


def indexing():
    for upper in (0, 1):
        case("Trilu", [X(2, 3, 4)], note=f"upper{upper}", upper=upper)
        case("Trilu", [X(4, 3), C(-1, "int64")], note=f"upper{upper}_below", upper=upper)
        case("Trilu", [X(4, 3), T([], dtype="int64", low=1, high=2)], note=f"upper{upper}_computed",
             upper=upper)
    case("OneHot", [C([0, -1, 7, 2], "int64"), C(4, "int64"), C([0.5, 3.0])])
    case("OneHot", [X(2, 3, dtype="int64", low=0, high=4), C(5, "int64"), C([0, 1], "int64")],
         note="axis1", axis=1)
    case("GatherElements", [X(3, 4), C([[0, -1], [2, 1]], "int64")], axis=1)
    case("GatherElements", [X(3, 4), X(2, 4, dtype="int32", low=0, high=3)], note="axis0")
    case("GatherND", [X(3, 4, 2), C([[0, -1], [2, 1]], "int64")])
    case("GatherND", [X(2, 4, 3), C([[1], [-1]], "int64")], note="batch", batch_dims=1)
    case("GatherND", [X(2, 3), X(4, 2, dtype="int64", low=0, high=2)], note="scalars")
    case("ReverseSequence", [X(4, 3, 2), C([4, 1, 3], "int64")])
    case("ReverseSequence", [X(3, 4), C([4, 1, 3], "int64")], note="batch0", batch_axis=0, time_axis=1)


def compositions():
    case("CastLike", [X(6, low=-3, high=3), C(0, "int32")])
    case("CastLike", [X(6), X(2)], note="same")
    case("GroupNormalization", [X(2, 6, 3, 2), W(6), W(6)], num_groups=3)
    case("InstanceNormalization", [X(2, 3, 4, 5), W(3), X(3)], epsilon=1e-3)
    case("InstanceNormalization", [X(1, 4, 7), W(4), W(4)], note="1d")
    for p in (1, 2):
        case("LpNormalization", [X(3, 4)], note=f"p{p}", p=p, axis=p - 1)
    case("MeanVarianceNormalization", [X(2, 3, 4, 4)])
    case("MeanVarianceNormalization", [X(2, 3, 4)], note="axes", axes=[-1])
    case("Hardmax", [C([[1, 3, 3], [2, 2, 0.0]])])
    case("Hardmax", [X(2, 4, 3)], note="axis1", axis=1)
    for reduction in ("none", "sum", "mean"):
        case("NegativeLogLikelihoodLoss", [X(3, 5, 2), X(3, 2, dtype="int64", low=0, high=5)],
             note=reduction, reduction=reduction)
        case("NegativeLogLikelihoodLoss", [X(3, 5), C([1, -1, 4], "int64"), W(5, low=0.5)],
             note="weight_" + reduction, reduction=reduction, ignore_index=-1)
    case("SoftmaxCrossEntropyLoss", [X(3, 5), C([1, 2, 4], "int32")], outputs=2)
    case("SoftmaxCrossEntropyLoss", [X(2, 5, 2), C([[1, 2], [4, 0]], "int64"), X(5, low=0.5)],
         note="ignored", ignore_index=2)


def more_compositions():
    case("RMSNormalization", [X(2, 3, 8), W(8)])
    for mode in ("nearest", "linear", "cubic"):
        for transform in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
            case("Resize", [X(1, 2, 4, 5), None, None, I(1, 2, 7, 9)], note=f"{mode}_{transform}", mode=mode,
                 coordinate_transformation_mode=transform)
            case("Resize", [X(1, 1, 6, 8), None, C([1, 1, 0.5, 0.625])], note=f"{mode}_{transform}_down",
                 mode=mode, coordinate_transformation_mode=transform)
    for rounding in ("round_prefer_ceil", "floor", "ceil"):
        case("Resize", [X(1, 2, 4, 5), None, C([1, 1, 2, 1.5])], note=rounding, nearest_mode=rounding)
    case("Resize", [X(1, 1, 4, 4), C([0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7]), None, I(1, 1, 3, 3)], note="crop",
         mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=10.0)
    case("Resize", [X(1, 1, 9, 10), None, C([1, 1, 0.3, 0.3])], note="antialias", mode="linear", antialias=1)
    case("Resize", [X(1, 1, 9, 40), None, None, I(1, 1, 4, 4)], note="antialias_far", mode="cubic",
         antialias=1)
    case("Resize", [X(1, 1, 4, 6), None, None, I(6, 7)], note="not_larger", axes=[2, 3],
         keep_aspect_ratio_policy="not_larger")
    for equation, shapes in (("ij,jk->ik", ((2, 3), (3, 4))), ("bii->bi", ((2, 3, 3),)), ("ii", ((4, 4),)),
                             ("...ij,...jk", ((2, 2, 3), (3, 2))), ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 2))),
                             ("i,j->ij", ((3,), (4,))), ("bhwc,hkc->bhwk", ((1, 2, 3, 4), (2, 5, 4)))):
        case("Einsum", [X(*s) for s in shapes], note=equation.replace("->", "_to_").replace(",", "_"),
             equation=equation)
    case("LpPool", [X(1, 2, 7, 6)], kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 0])
    case("LpPool", [X(1, 2, 7, 6)], note="p3", kernel_shape=[2, 2], p=3)
    for p in (1, 2, 3):
        case("GlobalLpPool", [X(2, 3, 4, 5)], note=f"p{p}", p=p)
    case("MaxPool", [X(1, 2, 7, 6)], outputs=2, note="indices", kernel_shape=[3, 2], strides=[2, 1],
         pads=[1, 1, 1, 0])
    case("MaxPool", [C([[[[1, 1, 2], [2, 1, 1]]]])], outputs=2, note="ties", kernel_shape=[2, 2])
    case("MaxPool", [X(2, 2, 4, 5)], outputs=2, note="columns", kernel_shape=[2, 2], storage_order=1)
    case("Col2Im", [X(1, 12, 9), I(5, 7), I(2, 3)], strides=[2, 2], pads=[1, 0, 0, 1])
    case("Col2Im", [X(2, 4, 9), I(4, 4), I(2, 2)])
    case("AffineGrid", [X(2, 2, 3), I(2, 3, 4, 5)])
    case("AffineGrid", [X(1, 3, 4), I(1, 3, 2, 3, 4)], note="3d", align_corners=1)
    case("CenterCropPad", [X(5, 4), I(3, 7)])
    case("CenterCropPad", [X(5, 4, 2), I(8)], note="axes", axes=[-2])
    case("DFT", [X(2, 10, 1)], note="real", onesided=1)
    case("DFT", [X(2, 6, 3, 2), None, C(1, "int64")], note="complex")
    case("DFT", [X(2, 6, 2), C(8, "int64")], note="inverse", inverse=1)
    case("STFT", [X(2, 32, 1), C(4, "int64"), W(8), C(8, "int64")])
    case("Attention", [X(1, 2, 3, 4), X(1, 2, 5, 4), X(1, 2, 5, 6)])
    case("Attention", [X(1, 4, 3, 4), X(1, 2, 3, 4), X(1, 2, 3, 4)], note="grouped_causal", is_causal=1)
    case("Attention", [X(2, 3, 8), X(2, 4, 8), X(2, 4, 6), X(3, 4, dtype="bool", low=0, high=2)],
         note="merged", q_num_heads=2, kv_num_heads=2, scale=0.3)
    case("Attention", [X(1, 2, 3, 4), X(1, 2, 2, 4), X(1, 2, 2, 4), X(3, 5), X(1, 2, 3, 4), X(1, 2, 3, 4)],
         outputs=3, note="past", softcap=2.0)
    case("RotaryEmbedding", [X(1, 2, 3, 8), X(6, 4), X(6, 4), C([[0, 2, 4]], "int64")])
    case("RotaryEmbedding", [X(1, 3, 16), X(1, 3, 2), X(1, 3, 2)], note="partial", num_heads=2,
         rotary_embedding_dim=4, interleaved=1)


def quantized():
    def q(*shape, dtype="uint8", const=False):
        low, high = (0, 255) if dtype == "uint8" else (-128, 127)
        return T(list(shape), dtype=dtype, low=low, high=high, const=const)

    for to, zero in (("uint8", 120), ("int8", -3), ("uint16", 30000), ("int16", 5)):
        case("QuantizeLinear", [X(3, 4, low=-20, high=20), C(0.1), C(zero, to)], note=to)
    case("QuantizeLinear", [C([0.5, 1.5, 2.5, -0.5, -1.5, 300, -300]), C(1.0), C(0, "int8")], note="ties")
    case("QuantizeLinear", [X(2, 3, 4, low=-9, high=9), W(3, low=0.05, high=0.2), C([1, 2, 3], "uint8")],
         note="axis")
    case("QuantizeLinear", [X(2, 3, low=-9, high=9), X(low=0.05, high=0.1)], note="computed")
    case("DequantizeLinear", [q(3, 4), C(0.1), C(120, "uint8")])
    case("DequantizeLinear", [q(2, 3, 4, dtype="int8"), W(3, low=0.05, high=0.2), C([1, -2, 3], "int8")],
         note="axis", axis=1)
    case("DequantizeLinear", [T([4], dtype="int32", low=-9e4, high=9e4), C(0.01)], note="int32")
    case("DequantizeLinear", [q(4, 6, dtype="int8"), W(2, 6, low=0.05, high=0.2), q(2, 6, dtype="int8")],
         note="blocks", axis=0, block_size=2)
    case("DequantizeLinear", [q(3, 4, dtype="int8", const=True), W(4, low=0.1), C([1, 2, 3, 4], "int8")],
         note="constant", axis=-1)
    case("DynamicQuantizeLinear", [X(3, 4)], outputs=3)
    case("DynamicQuantizeLinear", [X(5, low=1, high=3)], outputs=3, note="positive")
    case("MatMulInteger", [q(3, 5), q(5, 4, dtype="int8", const=True), C(12, "uint8"), C(-3, "int8")])
    case("MatMulInteger", [q(3, 5), q(5, 4, const=True), None, C([1, 2, 3, 4], "uint8")], note="columns")
    case("ConvInteger", [q(1, 2, 5, 5), q(3, 2, 3, 3, const=True), C(100, "uint8"), C(7, "uint8")],
         pads=[1, 1, 1, 1])
    case("QLinearMatMul", [q(3, 5), C(0.02), C(120, "uint8"), q(5, 4), C(0.03), C(130, "uint8"), C(0.2),
                           C(110, "uint8")])
    case("QLinearConv", [q(1, 2, 5, 5), C(0.02), C(120, "uint8"), q(3, 2, 3, 3, dtype="int8", const=True),
                         C([0.01, 0.02, 0.03]), C([0, 0, 0], "int8"), C(0.3), C(99, "uint8"),
                         C([100, -200, 33], "int32")], pads=[1, 1, 1, 1])


def cropped_pads():
    for mode in ("edge", "reflect", "wrap"):
        case("Pad", [X(3, 4), I(-1, 1, 1, -1)], note=mode + "_crop", mode=mode)
    case("Pad", [X(3), I(-1, 7)], note="wrap_twice", mode="wrap")
    case("Pad", [X(2, 3), I(3, -2, -2, 3), C(1.5)], note="all_cropped")
    case("Pad", [X(2, 3), I(-3, 1, 2, -3)], note="none_left")


for family in (unary, binary, window, matrix, reductions, movement, bits, indexing, compositions,
               more_compositions, quantized, cropped_pads):
    family()
print("[")
print(",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES))
print("]")
