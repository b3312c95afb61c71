"""Every arithmetic operator on every element type that ONNX allows it, against numpy.

One model a type holds all operators. It is compiled twice: with operands that are inputs, so that
kernels compute the results, and with operands that are constants, so that the compiler does. Both
must agree with the references below: integers exactly (they wrap, division goes toward zero, what
is shifted out is gone), floats within a few units of their type.
"""

import tempfile
import unittest

import ml_dtypes
import numpy as np
import onnx
import temper
from onnx import TensorProto, helper, numpy_helper
from programs import compile_model

OPSET = 21
SHAPE = (3, 37)

TYPES = {
    "float": np.float32, "double": np.float64, "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16, "int8": np.int8, "int16": np.int16, "int32": np.int32,
    "int64": np.int64, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32,
    "uint64": np.uint64, "bool": np.bool_,
}
# Relative error, and absolute error for results near one.
TOLERANCE = {"float": 3e-6, "double": 1e-9, "float16": 4e-3, "bfloat16": 3e-2}
FLOATS = list(TOLERANCE)


def is_int(t):
    return t not in FLOATS and t != "bool"


def wide(x):
    """For references in floating point: what the narrow types are computed in."""
    return x.astype(np.float64)


def divide(a, b):
    if not is_int(type_of(a)):
        return wide(a) / wide(b)
    quotient = a // b
    rest = a - quotient * b
    return quotient + ((rest != 0) & ((a < 0) != (b < 0))).astype(a.dtype)


def modulo(a, b):  # the divisor's sign
    return a - (a // b) * b


def remainder(a, b):  # the dividend's sign
    return a - divide(a, b) * b if is_int(type_of(a)) else np.fmod(wide(a), wide(b))


def shift(a, by, left):
    bits = a.dtype.itemsize * 8
    bounded = np.minimum(by, bits - 1).astype(a.dtype)
    moved = np.left_shift(a, bounded) if left else np.right_shift(a, bounded)
    return np.where(by < bits, moved, 0).astype(a.dtype)


def power(a, b):
    a = a if is_int(type_of(a)) else wide(a)
    result = np.ones_like(a)
    for i in range(int(b.max())):
        result = np.where(i < b, result * a, result).astype(a.dtype)
    return result


def exponents(t):
    """Large ones and, of integers, negative ones."""
    values = [0, 1, 2, 3]
    if is_int(t):
        high = np.iinfo(TYPES[t]).max
        values += [31, 63, 64, 1000003, high - 1, high, -1, -2, -high]
    return np.resize(np.array(values, TYPES[t]), SHAPE)


def large_power(a):
    """To these; integers wrap, and below zero they are 1, -1 or 0."""
    e = exponents(type_of(a))
    if not is_int(type_of(a)):
        return wide(a) ** wide(e)
    bits = a.dtype.itemsize * 8
    def one(x, n):
        if n < 0:
            return 0 if abs(x) != 1 else x if n % 2 else 1
        return pow(x, n, 1 << bits)
    values = [one(int(x), int(n)) % (1 << bits) for x, n in zip(a.flat, e.flat)]
    return np.array(values, f"uint{bits}").astype(a.dtype).reshape(a.shape)


def bounds(t):
    low, high = (-3, 4) if t in FLOATS or np.iinfo(TYPES[t]).min < 0 else (2, 100)
    return np.array(low, TYPES[t]), np.array(high, TYPES[t])


def clip(a):
    low, high = bounds(type_of(a))
    return np.minimum(np.maximum(a, low), high)


def tripled(x):
    """Resized along its rows; integers lose their fraction."""
    size = x.shape[1]
    at = (np.arange(3 * size) + 0.5) / 3 - 0.5
    below = np.floor(at).astype(int)
    weight = at - below
    y = (wide(x)[:, np.clip(below, 0, size - 1)] * (1 - weight) +
         wide(x)[:, np.clip(below + 1, 0, size - 1)] * weight)
    return np.trunc(np.round(y * 2**20) / 2**20).astype(x.dtype) if is_int(type_of(x)) else y


def cast(u):
    """Floats become integers by dropping the fraction, within the integers' range."""
    def reference(x):
        if u == "bool":
            return x != 0
        if is_int(u) and type_of(x) in FLOATS:
            limits = np.iinfo(TYPES[u])
            return np.clip(np.trunc(wide(x)), limits.min, limits.max).astype(TYPES[u])
        return x.astype(TYPES[u])
    return reference


def type_of(x):
    return next(name for name, t in TYPES.items() if np.dtype(t) == x.dtype)


def mean(x, **axes):
    total = np.sum(x, dtype=x.dtype if is_int(type_of(x)) else np.float64, **axes)
    count = np.array(x.size // total.size, total.dtype)
    return divide(total, np.full_like(total, count)) if is_int(type_of(x)) else total / count


def reduction(function):
    return lambda x: function(x if is_int(type_of(x)) or x.dtype == bool else wide(x), axis=1,
                              keepdims=True)


def summed(x, **axes):
    return np.sum(x, dtype=x.dtype, **axes)


def extreme(function):
    def reference(x):
        return function(x if x.dtype == bool or is_int(type_of(x)) else wide(x), axis=1)
    return reference


def same(function):
    """Computed in the operand's type if that is an integer's or bool, else in double."""
    return lambda *xs: function(*(x if x.dtype == bool or is_int(type_of(x)) else wide(x)
                                  for x in xs))


# Operands: a and b are any numbers, b is no zero; n are small numbers of either sign, p small
# positive ones.
# (operator, operands, attributes, reference, further inputs)
AXIS = {"axes": np.array([1], np.int64)}
CASES = [
    ("Abs", "a", {}, same(np.abs)),
    ("Add", "ab", {}, same(np.add)),
    ("ArgMax", "n", {"axis": 1, "keepdims": 0}, extreme(np.argmax)),
    ("ArgMin", "n", {"axis": 1, "keepdims": 0}, extreme(np.argmin)),
    ("BitShift", "an", {"direction": "LEFT"}, lambda a, n: shift(a, n, True)),
    ("BitShift", "ab", {"direction": "RIGHT"}, lambda a, n: shift(a, n, False)),
    ("BitwiseAnd", "ab", {}, np.bitwise_and),
    ("BitwiseNot", "a", {}, np.bitwise_not),
    ("BitwiseOr", "ab", {}, np.bitwise_or),
    ("BitwiseXor", "ab", {}, np.bitwise_xor),
    ("Ceil", "n", {}, same(np.ceil)),
    ("CumSum", "n", {}, same(lambda x: np.cumsum(x, axis=1, dtype=x.dtype)),
     [np.array(1, np.int64)]),
    ("Div", "ab", {}, divide),
    ("Equal", "nb", {}, np.equal),
    ("Equal", "aa", {}, np.equal),
    ("Erf", "n", {}, None),
    ("Exp", "n", {}, same(np.exp)),
    ("Floor", "n", {}, same(np.floor)),
    ("Greater", "ab", {}, np.greater),
    ("GreaterOrEqual", "ab", {}, np.greater_equal),
    ("Less", "ab", {}, np.less),
    ("LessOrEqual", "ab", {}, np.less_equal),
    ("Log", "p", {}, same(np.log)),
    ("MatMul", "am", {}, same(lambda a, m: np.matmul(a, m))),
    ("Max", "ab", {}, same(np.maximum)),
    ("Min", "ab", {}, same(np.minimum)),
    ("Mod", "ab", {}, modulo),
    ("Mod", "nb", {"fmod": 1}, remainder),
    ("Mul", "ab", {}, same(np.multiply)),
    ("Neg", "a", {}, same(np.negative)),
    ("Not", "a", {}, np.logical_not),
    ("Or", "ab", {}, np.logical_or),
    ("Pow", "np", {}, power),
    ("PRelu", "nb", {}, same(lambda n, b: np.where(n < 0, n * b, n))),
    ("ReduceL1", "n", {}, reduction(lambda x, **k: summed(np.abs(x), **k)), [AXIS["axes"]]),
    ("ReduceMax", "a", {}, reduction(np.max), [AXIS["axes"]]),
    ("ReduceMean", "n", {}, reduction(mean), [AXIS["axes"]]),
    ("ReduceMin", "a", {}, reduction(np.min), [AXIS["axes"]]),
    ("ReduceProd", "q", {}, reduction(lambda x, **k: np.prod(x, dtype=x.dtype, **k)),
     [AXIS["axes"]]),
    ("ReduceSum", "a", {}, reduction(summed), [AXIS["axes"]]),
    ("ReduceSumSquare", "a", {}, reduction(lambda x, **k: summed(x * x, **k)), [AXIS["axes"]]),
    ("Relu", "a", {}, same(lambda a: np.maximum(a, np.zeros_like(a)))),
    ("Round", "n", {}, same(np.round)),
    ("Sign", "a", {}, same(np.sign)),
    ("Sqrt", "p", {}, same(np.sqrt)),
    ("Sub", "ab", {}, same(np.subtract)),
    ("Sum", "ab", {}, same(np.add)),
    ("Tanh", "n", {}, same(np.tanh)),
    ("Where", "cab", {}, np.where),
    ("Xor", "ab", {}, np.logical_xor),
]
CASES += [
    ("Clip", "a", {}, clip, lambda t: list(bounds(t))),
    ("Max", "abn", {}, same(lambda *xs: np.maximum(np.maximum(xs[0], xs[1]), xs[2]))),
    ("Min", "abn", {}, same(lambda *xs: np.minimum(np.minimum(xs[0], xs[1]), xs[2]))),
] + [("Cast", "a", {"to": u}, cast(u)) for u in TYPES] + [
    ("Cast", "n", {"to": u}, cast(u)) for u in TYPES] + [
    ("Resize", "n", {"mode": "linear"}, tripled,
     [None, None, np.array([SHAPE[0], 3 * SHAPE[1]], np.int64)]),
    ("Pow", "n", {}, lambda n: power(n, np.full_like(n, 13)), lambda t: [np.array(13, TYPES[t])]),
    ("Pow", "n", {}, large_power, lambda t: [exponents(t)]),
    ("Pow", "b", {}, large_power, lambda t: [exponents(t)]),
]
CASES = [case if len(case) == 5 else (*case, []) for case in CASES if case[3] is not None]


def allowed(op, operands, t):
    """Whether ONNX allows the type for the operands that vary."""
    schema = onnx.defs.get_schema(op, OPSET)
    declared = schema.inputs[1 if operands[0] == "c" else 0].type_str
    for constraint in schema.type_constraints:
        if constraint.type_param_str == declared:
            return f"tensor({t})" in constraint.allowed_type_strs
    return declared == f"tensor({t})"


def operands(t, seed):
    rng = np.random.default_rng(seed)
    kind = TYPES[t]
    count = int(np.prod(SHAPE))

    def shaped(values):
        return np.resize(np.array(values), SHAPE).astype(kind)

    if t == "bool":
        a, b = (rng.integers(0, 2, SHAPE).astype(bool) for _ in range(2))
        return {"a": a, "b": b, "n": a, "p": a, "q": a, "m": a.T, "c": ~a}
    if is_int(t):
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        special = np.array([low, high, low + 1, high - 1, 0, 1, 2, high // 2, high // 2 + 1], kind)
        numbers = rng.integers(low, high, count, dtype=kind, endpoint=True)
        a = np.where(rng.random(count) < 0.5, numbers, rng.choice(special, count)).astype(kind)
        b = np.where(rng.random(count) < 0.5, rng.permutation(numbers),
                     rng.choice(np.concatenate([special, np.array([3, 7], kind)]), count))
        b = b.astype(kind)
        a[:2], b[:2] = low, (-1 if low < 0 else 1)  # the quotient that does not fit
        b[b == 0] = 5
        small = rng.integers(-5 if low < 0 else 0, 7, count)
    else:
        a, b = rng.normal(0, 3, count), rng.normal(0, 3, count)
        b[np.abs(b) < 0.1] = 1.5
        small = rng.integers(-12, 13, count) / 4
    positive = rng.integers(1, 5, count)
    return {"a": shaped(a), "b": shaped(b), "n": shaped(small), "p": shaped(positive),
            "q": shaped(np.where(rng.random(count) < 0.3, 3, 1)), "m": shaped(small).T.copy(),
            "c": rng.integers(0, 2, SHAPE).astype(bool)}


def build(t, values, constant):
    nodes, constants, references = [], [], {}
    for i, (op, names, attributes, reference, more) in enumerate(CASES):
        if not allowed(op, names, t) or (op == "Mod" and t in FLOATS and not attributes):
            continue
        if op == "Resize" and t == "bool":
            continue  # refused: there is no sum of bools
        attributes = dict(attributes)
        if op == "Cast":
            attributes["to"] = helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[attributes["to"]]))
        inputs = list(names)
        for k, value in enumerate(more(t) if callable(more) else more):
            inputs.append("" if value is None else f"{op}{i}_{k}")
            if value is not None:
                constants.append(numpy_helper.from_array(value, inputs[-1]))
        result = f"{op}{i}_{names}"
        nodes.append(helper.make_node(op, inputs, [result], name=result, **attributes))
        with np.errstate(all="ignore"):
            references[result] = reference(*(values[n] for n in names))
    used = sorted({i for node in nodes for i in node.input} & set(values))
    inputs = []
    for name in used:
        if constant:
            constants.append(numpy_helper.from_array(values[name], name))
        else:
            kind = helper.np_dtype_to_tensor_dtype(values[name].dtype)
            inputs.append(helper.make_tensor_value_info(name, kind, values[name].shape))
    if constant:  # a model needs an input to be worth running; nothing reads it
        inputs.append(helper.make_tensor_value_info("unused", TensorProto.FLOAT, [1]))
    outputs = [onnx.ValueInfoProto(name=name) for name in references]
    graph = helper.make_graph(nodes, t, inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    return model, {name: values[name] for name in used}, references


class Types(unittest.TestCase):
    def compare(self, t, name, got, want):
        want = np.asarray(want)
        if name.startswith("Cast"):
            self.assertEqual(got.dtype, want.dtype, name)
        if got.dtype.kind in "iub":  # also what compares floats
            np.testing.assert_array_equal(got, want.astype(got.dtype), err_msg=f"{t} {name}")
            return
        tolerance = max(TOLERANCE.get(t, 0), TOLERANCE[type_of(got)])
        scale = tolerance * (20 if "MatMul" in name or "Reduce" in name or "CumSum" in name else 1)
        with np.errstate(all="ignore"):
            want = want.astype(got.dtype)
        np.testing.assert_allclose(wide(got), wide(want), rtol=scale, atol=scale,
                                   err_msg=f"{t} {name}")

    def check(self, t, constant):
        values = operands(t, seed=7)
        model, feeds, references = build(t, values, constant)
        with tempfile.TemporaryDirectory() as folder:
            compiled, _ = compile_model(model, folder, seconds=300)
            loaded = temper.load(compiled)
            feeds = {"unused": np.zeros(1, np.float32)} if constant else feeds
            results = loaded.run(feeds)
        self.assertEqual(set(results), set(references))
        for name, want in references.items():
            with self.subTest(f"{t} {name} {'constant' if constant else 'computed'}"):
                self.compare(t, name, results[name], want)


def add_tests():
    for t in TYPES:
        for constant in (False, True):
            def test(self, t=t, constant=constant):
                self.check(t, constant)
            setattr(Types, f"test_{t}_{'constants' if constant else 'inputs'}", test)


add_tests()

if __name__ == "__main__":
    unittest.main()
