"""Values of several shapes, of which only the run knows which, that nodes read: against ONNX Runtime."""

import json
import os
import unittest

import numpy as np
import onnx
import temper
from flow_case import FlowCase, parse
from programs import run

X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
BOTH = [{"c": c, "x": X} for c in (True, False)]


class VaryingFlow(FlowCase):
    def test_nodes_read_what_branches_of_different_extents_give(self):
        self.check("""g (bool c, float[2,3] x) => (float[N,3] y, float[N,3] z, float[3] s, int64[2] d) {
            t = Exp(x)
            axis = Constant<value = int64[1] {0}>()  end = Constant<value = int64[1] {1}>()
            y = If(c) <
                then_branch = yes () => (float[2,3] a) { a = Neg(t) },
                else_branch = no () => (float[5,3] b) {
                    row = Slice(x, axis, end, axis)  b = Concat<axis = 0>(x, t, row) }>
            z = Relu(y)
            p = Softmax<axis = 0>(z)
            s = ReduceSum<keepdims = 0>(p, axis)
            d = Shape(z) }""", *BOTH, unroll=("64",))

    def test_what_is_of_one_shape_again_is_there_once(self):
        text = """g (bool c, float[2,3] x, float[3,64] w) => (float[64] s) {
            y = If(c) <
                then_branch = yes () => (float[2,3] a) { a = Neg(x) },
                else_branch = no () => (float[4,3] b) { b = Concat<axis = 0>(x, x) }>
            m = ReduceMean<axes = [0], keepdims = 0>(y)
            p = MatMul(m, w)
            s = Softmax(p) }"""
        w = np.random.default_rng(3).normal(size=(3, 64)).astype(np.float32)
        self.check(text, *[{**run, "w": w} for run in BOTH], unroll=("64",))
        model = temper.load(self.compiled, threads=1)
        self.assertEqual(sum("n3" in s.nodes for s in model.profile({**BOTH[0], "w": w}, runs=1)), 1)
        model.close()

    def test_shapes_decide_other_shapes_and_conditions(self):
        self.check("""g (bool c, float[2,3] x) => (float[N] flat, float[M] ramp, float[K,3] more) {
            y = If(c) <
                then_branch = yes () => (float[2,3] a) { a = Neg(x) },
                else_branch = no () => (float[4,3] b) { b = Concat<axis = 0>(x, x) }>
            minus = Constant<value = int64[1] {-1}>()
            flat = Reshape(y, minus)
            zero = Constant<value = int64 {0}>()  one = Constant<value = int64 {1}>()
            three = Constant<value = int64 {3}>()
            d = Shape(y)
            rows = Gather<axis = 0>(d, zero)
            r = Range(zero, rows, one)
            ramp = Cast<to = 1>(r)
            many = Greater(rows, three)
            more = If(many) <
                then_branch = p () => (float[4,3] m) { m = Relu(y) },
                else_branch = q () => (float[6,3] n) { n = Concat<axis = 0>(y, y, y) }> }""",
                   *BOTH, unroll=("64",))

    def test_ranks_may_differ_where_they_do_not_leave_the_model(self):
        self.check("""g (bool c, float[2,3] x) => (float s, float[2,3] y) {
            v = If(c) <
                then_branch = yes () => (float[3,1,2] a) { sh = Constant<value = int64[3] {3, 1, 2}>()
                    a = Reshape(x, sh) },
                else_branch = no () => (float[3] b) { b = ReduceMax<axes = [0], keepdims = 0>(x) }>
            e = Exp(v)
            s = ReduceSum<keepdims = 0>(e)
            y = Add(x, s) }""", *BOTH, unroll=("64",))

    def test_two_values_that_vary_on_their_own(self):
        self.check("""g (bool c, bool d, float[1,3] x) => (float[N,3] y, float[3] z) {
            u = If(c) <
                then_branch = yes () => (float[1,3] a) { a = Neg(x) },
                else_branch = no () => (float[2,3] b) { b = Concat<axis = 0>(x, x) }>
            v = If(d) <
                then_branch = yes2 () => (float[1,3] a2) { a2 = Exp(x) },
                else_branch = no2 () => (float[3,3] b2) { b2 = Concat<axis = 0>(x, x, x) }>
            e = Relu(u)  f = Relu(v)
            y = Concat<axis = 0>(e, f, u)
            axis = Constant<value = int64[1] {0}>()
            z = ReduceSum<keepdims = 0>(y, axis) }""",
                   *[{"c": c, "d": d, "x": X[:1]} for c in (True, False) for d in (True, False)],
                   unroll=("64",))

    def test_a_loop_behind_what_is_of_one_shape_again_meets_what_is_not(self):
        self.check("""g (bool c, int64 m, float[2,3] x) => (float[N,3] z) {
            y = If(c) <
                then_branch = yes () => (float[2,3] a) { a = Neg(x) },
                else_branch = no () => (float[4,3] b) { b = Concat<axis = 0>(x, x) }>
            j = ReduceMax<axes = [0], keepdims = 0>(y)
            last, rows = Loop(m, , j) <
                body = b (int64 i, bool g, float[3] s) => (bool g2, float[3] s2, float[3] r) {
                    g2 = Identity(g)  s2 = Mul(s, j)  r = Neg(s2) }>
            z = Concat<axis = 0>(rows, y) }""",
                   *[{"c": c, "m": m, "x": X * 0.3} for c in (True, False) for m in (1, 2, 3)],
                   flags=["--max-trips", "n2=3"], unroll=("64",))

    def test_one_condition_that_chooses_twice(self):
        text = """g (bool c, float[2,3] x) => (float[3] z, float[N,3] k) {
            u = If(c) <
                then_branch = yes () => (float[2,3] a) { a = Neg(x) },
                else_branch = no () => (float[4,3] b) { b = Concat<axis = 0>(x, x) }>
            v = If(c) <
                then_branch = yes2 () => (float[2,3] a2) { a2 = Exp(x) },
                else_branch = no2 () => (float[4,3] b2) {
                    b2 = If(c) <
                        then_branch = p () => (float[4,3] m) { t = Exp(x)  m = Concat<axis = 0>(x, t) },
                        else_branch = q () => (float[4,3] n) { n = Concat<axis = 0>(x, x) }> }>
            y = Add(u, v)
            axis = Constant<value = int64[1] {0}>()
            k = If(c) <
                then_branch = r () => (float[2,3] d) { d = Mul(y, x) },
                else_branch = s () => (float[4,3] e) { e = Neg(y) }>
            z = ReduceSum<keepdims = 0>(k, axis) }"""
        self.check(text, *[{"c": c, "x": X} for c in (True, False)], unroll=("64",))
        self.assertNotIn("warning", self.compile(parse(text)), "no combination that cannot come")

    def test_combinations_that_cannot_be_computed_end_the_run(self):
        text = """g (bool c, bool d, float[2,3] x) => (float[3] z) {
            u = If(c) <
                then_branch = yes () => (float[2,3] a) { a = Neg(x) },
                else_branch = no () => (float[4,3] b) { b = Concat<axis = 0>(x, x) }>
            v = If(d) <
                then_branch = yes2 () => (float[2,3] a2) { a2 = Exp(x) },
                else_branch = no2 () => (float[4,3] b2) { b2 = Concat<axis = 0>(x, x) }>
            y = Add(u, v)
            axis = Constant<value = int64[1] {0}>()
            z = ReduceSum<keepdims = 0>(y, axis) }"""
        self.check(text, *[{"c": c, "d": c, "x": X} for c in (True, False)], unroll=("64",))
        warning = self.compile(parse(text))
        self.assertIn("for 2 of the 4 shapes of what Add 'n2' reads", warning)
        model = temper.load(self.compiled, threads=1)
        with self.assertRaisesRegex(Exception, "Add 'n2'"):
            model.run({"c": np.asarray(True), "d": np.asarray(False), "x": X})
        self.assertEqual(model.run({"c": np.asarray(True), "d": np.asarray(True), "x": X})["z"].shape,
                         (3,))
        model.close()

    ROWS = """g (int64 m, float[3] x) => (float[3] y, float[N,3] e, float[3] mean) {
            y, rows = Loop(m, , x) <
                body = b (int64 i, bool c, float[3] s) => (bool c2, float[3] s2, float[3] r) {
                    c2 = Identity(c)  s2 = Add(s, x)  r = Neg(s2)  }>
            axis = Constant<value = int64[1] {0}>()
            e = Exp(rows)
            first = Unsqueeze(x, axis)
            one = Concat<axis = 0>(rows, first)
            mean = ReduceMean<axes = [0], keepdims = 0>(one) }"""

    def test_nodes_read_the_rows_of_a_loop(self):
        x = X[0] * 0.1
        self.refused(self.ROWS, "Loop 'n0'", "--max-trips 'n0=N'")
        self.check(self.ROWS, *[{"m": m, "x": x} for m in (0, 1, 2, 7, 9)],
                   flags=["--max-trips", "n0=9"], unroll=("64",))
        self.check(self.ROWS, {"m": 0, "x": x}, flags=["--max-trips", "n0=0"], unroll=("64",))
        self.refused(self.ROWS, "Loop 'n0'", "'rows'", "at most 255", "--max-trips 'n0=N'",
                     flags=["--max-trips", "n0=1000"])

    GROWS = """g (int64 m, float[1,3] x) => (float[N,3] y, float[3] sum) {
            y = Loop(m, , x) <body = b (int64 i, bool c, float[N,3] s) => (bool c2, float[M,3] s2) {
                c2 = Identity(c)  half = Constant<value = float {0.5}>()  t = Mul(s, half)
                s2 = Concat<axis = 0>(t, x) }>
            axis = Constant<value = int64[1] {0}>()
            sum = ReduceSum<keepdims = 0>(y, axis) }"""

    def test_what_a_loop_carries_may_grow(self):
        self.refused(self.GROWS, "Loop 'n0'", "carried value 0 ('s2')",
                     "float32[1,3] at first and float32[2,3] after a trip", "--max-trips 'n0=N'")
        self.check(self.GROWS, *[{"m": m, "x": X[:1]} for m in (0, 1, 2, 5, 8, -1)],
                   flags=["--max-trips", "n0=8"], unroll=("64",))
        model = temper.load(self.compiled, threads=1)
        with self.assertRaisesRegex(Exception, "Loop 'n0' would take more trips than the 8 .*"
                                               "trip count is 9.*--max-trips 'n0=N'"):
            model.run({"m": np.asarray(9), "x": X[:1]})
        model.close()

    def test_what_a_loop_carries_may_begin_empty_and_shrink(self):
        self.check("""g (int64 m, float[0,3] none, float[6,2] all, float[1,3] x)
            => (float[N,3] y, float[K,2] z) {
            y, z = Loop(m, , none, all) <
                body = b (int64 i, bool c, float[N,3] s, float[M,2] t)
                    => (bool c2, float[N2,3] s2, float[M2,2] t2) {
                    c2 = Identity(c)  s2 = Concat<axis = 0>(s, x)
                    one = Constant<value = int64[1] {1}>()  big = Constant<value = int64[1] {99}>()
                    zero = Constant<value = int64[1] {0}>()
                    t2 = Slice(t, one, big, zero) }> }""",
                   *[{"m": m, "none": np.zeros((0, 3), np.float32), "x": X[:1],
                      "all": np.arange(12, dtype=np.float32).reshape(6, 2)} for m in (0, 1, 3, 6)],
                   flags=["--max-trips", "n0=6"], unroll=("64",))

    def test_a_loop_may_grow_or_not_in_each_trip(self):
        text = """g (float[8] v, float limit) => (float[N] y, float sum) {
            m = Constant<value = int64 {8}>()
            zero = Constant<value = int64[1] {0}>()  empty = ConstantOfShape(zero)
            y = Loop(m, , empty) <
                body = b (int64 i, bool c, float[N] s) => (bool c2, float[M] s2) {
                    c2 = Identity(c)
                    e = Gather<axis = 0>(v, i)
                    keep = Greater(e, limit)
                    s2 = If(keep) <
                        then_branch = p () => (float[M] a) { axis = Constant<value = int64[1] {0}>()
                            row = Unsqueeze(e, axis)  a = Concat<axis = 0>(s, row) },
                        else_branch = q () => (float[M] b2) { b2 = Identity(s) }> }>
            sum = ReduceSum<keepdims = 0>(y) }"""
        v = np.array([3, -1, 4, 1, -5, 9, 2, -6], np.float32)
        self.check(text, *[{"v": v, "limit": np.float32(k)} for k in (-10, 0, 2.5, 100)],
                   unroll=("0", "64"))

    def test_a_condition_ends_a_loop_that_grows(self):
        text = """g (float[1] x, float limit) => (float[N] y, float[M] rows, float[N] z) {
            go = Constant<value = bool {1}>()
            y, rows = Loop(, go, x) <
                body = b (int64 i, bool c, float[N] s) => (bool c2, float[K] s2, float r) {
                    s2 = Concat<axis = 0>(s, x)  r = ReduceSum<keepdims = 0>(s2)
                    c2 = Less(r, limit) }>
            z = Mul(y, y)
            w = Exp(rows) }"""
        runs = [{"x": np.ones(1, np.float32), "limit": np.float32(k)} for k in (0, 3, 5.5, 7)]
        self.refused(text, "Loop 'n1'", "--max-trips 'n1=N'")
        self.check(text, *runs, flags=["--max-trips", "n1=7"], unroll=("64",))
        model = temper.load(self.compiled, threads=1)
        with self.assertRaisesRegex(Exception, "Loop 'n1' would take more trips than the 7"):
            model.run({"x": np.ones(1, np.float32), "limit": np.float32(100)})
        model.close()

    def test_rows_and_what_grows_together(self):
        self.check("""g (int64 m, float[1,3] x) => (float[N,3] y, float[M,3] z, float[K,3] both) {
            y, rows = Loop(m, , x) <
                body = b (int64 i, bool c, float[N,3] s) => (bool c2, float[P,3] s2, float[3] r) {
                    c2 = Identity(c)  s2 = Concat<axis = 0>(s, x)
                    axis = Constant<value = int64[1] {0}>()
                    r = ReduceSum<keepdims = 0>(s2, axis) }>
            z = Neg(rows)
            both = Concat<axis = 0>(y, z) }""",
                   *[{"m": m, "x": X[:1]} for m in (0, 1, 2, 5)], flags=["--max-trips", "n0=5"],
                   unroll=("64",))

    def test_shapes_follow_from_the_number_of_the_trip(self):
        text = """g (int64 m, float[6] x) => (float s) {
            zero = Constant<value = float {0.0}>()
            s = Loop(m, , zero) <
                body = b (int64 i, bool c, float a) => (bool c2, float a2) {
                    c2 = Identity(c)
                    z = Constant<value = int64[1] {0}>()
                    z1 = Constant<value = int64[1] {1}>()  n = Reshape(i, z1)
                    part = Slice(x, z, n, z)
                    e = Exp(part)  t = ReduceSum<keepdims = 0>(e)  a2 = Add(a, t) }> }"""
        self.refused(text, "part", "--max-trips 'n1=N'")
        self.check(text,
                   *[{"m": m, "x": np.arange(6, dtype=np.float32) * 0.1} for m in (0, 1, 3, 6)],
                   flags=["--max-trips", "n1=6"], unroll=("64",))

    def test_in_the_body_of_a_loop_and_in_a_branch(self):
        self.check("""g (int64 m, bool c, float[2,3] x) => (float[2,3] y) {
            y = Loop(m, , x) <
                body = b (int64 i, bool go, float[2,3] s) => (bool go2, float[2,3] s2) {
                    go2 = Identity(go)
                    v = If(c) <
                        then_branch = p () => (float[2,3] a) { a = Neg(s) },
                        else_branch = q () => (float[A,3] e) {
                            inner, rows = Loop(i, , s) <
                                body = b2 (int64 j, bool h, float[2,3] z)
                                    => (bool h2, float[2,3] z2, float[3] r) {
                                    h2 = Identity(h)  z2 = Mul(z, x)
                                    zero = Constant<value = int64 {0}>()
                                    r = Gather<axis = 0>(z2, zero) }>
                            e = Concat<axis = 0>(rows, s) }>
                    w = Relu(v)
                    t = ReduceMax<keepdims = 0>(w)
                    s2 = Add(s, t) }> }""",
                   *[{"m": m, "c": c, "x": X * 0.4} for m in (0, 1, 3) for c in (True, False)],
                   flags=["--max-trips", "n0=3"] + ["--max-trips", "n0/body/v/else/inner=3"],
                   unroll=("64",))

    def test_a_chain_of_loops_that_grow(self):
        self.check("""g (int64 m, int64 k, float[1,2] x) => (float[N,2] y, float[2] s) {
            u = Loop(m, , x) <body = b (int64 i, bool c, float[N,2] s) => (bool c2, float[M,2] s2) {
                c2 = Identity(c)  s2 = Concat<axis = 0>(s, x) }>
            v = Exp(u)
            y = Loop(k, , v) <body = b2 (int64 i, bool c, float[N,2] t) => (bool c2, float[M,2] t2) {
                c2 = Identity(c)  t2 = Concat<axis = 0>(x, t) }>
            axis = Constant<value = int64[1] {0}>()
            s = ReduceSum<keepdims = 0>(y, axis) }""",
                   *[{"m": m, "k": k, "x": X[:1, :2]} for m in (0, 2, 3) for k in (0, 1, 4)],
                   flags=["--max-trips", "n0=3", "--max-trips", "n2=4"], unroll=("64",))

    def test_weights_are_shared(self):
        rng = np.random.default_rng(5)
        w = onnx.numpy_helper.from_array(rng.normal(0, 0.05, (256, 256)).astype(np.float32), "w")
        model = parse("""g (int64 m, float[256] x) => (float[256] s) {
            y, rows = Loop(m, , x) <
                body = b (int64 i, bool c, float[256] s) => (bool c2, float[256] s2, float[256] r) {
                    c2 = Identity(c)  s2 = Mul(s, x)  r = Add(s2, x) }>
            p = MatMul(rows, w)
            axis = Constant<value = int64[1] {0}>()
            s = ReduceSum<keepdims = 0>(p, axis) }""")
        model.graph.initializer.append(w)
        x = rng.normal(0, 0.5, 256).astype(np.float32)
        self.check(model, *[{"m": m, "x": x} for m in (0, 1, 4)], flags=["--max-trips", "n0=4"],
                   unroll=("64",))
        # The plain weight and one packing of it at most.
        self.assertLess(os.path.getsize(self.compiled), 2.5 * 256 * 256 * 4)

    def test_too_much_is_refused(self):
        text = """g (int64 m, float[1,3] x) => (float[N,3] y) {
            y = Loop(m, , x) <body = b (int64 i, bool c, float[N,3] s) => (bool c2, float[M,3] s2) {
                c2 = Identity(c)  s2 = Concat<axis = 0>(s, x) }> }"""
        self.refused(text, "Loop 'n0'", "300 trips", "256 shapes", "--max-trips 'n0=N'",
                     flags=["--max-trips", "n0=300"])
        chain = "\n".join(f"y{i + 1} = Exp(y{i})" for i in range(100))
        long = f"""g (int64 m, float[3] x) => (float[3] y) {{
            z, y0 = Loop(m, , x) <
                body = b (int64 i, bool c, float[3] s) => (bool c2, float[3] s2, float[3] r) {{
                    c2 = Identity(c)  s2 = Add(s, x)  r = Neg(s2) }}>
            {chain}
            y = ReduceMax<axes = [0], keepdims = 0>(y100) }}"""
        self.refused(long, "Exp 'n1'", "4096 nodes", "--max-trips", flags=["--max-trips", "n0=200"])

    def test_flags(self):
        self.refused(self.GROWS, "Loop 'n0'", "--max-trips names 'zz'", flags=["--max-trips", "zz=3"])
        self.assertIn("at most 16777216", self.compile(
            parse(self.GROWS), "--max-trips", "n0=99999999999", expect=2))

    def test_a_profile_shows_the_steps_inside(self):
        self.compile(parse(self.GROWS), "--max-trips", "n0=8")
        model = temper.load(self.compiled, threads=1)
        inputs = {"m": np.asarray(6), "x": X[:1]}
        want = model.run(inputs)
        inside = [s for s in model.profile(inputs, runs=5) if s.nodes and "n0/body" in s.nodes[0]]
        self.assertEqual(sum(s.us > 0 for s in inside) >= 6, True, [s.us for s in inside])
        np.testing.assert_array_equal(model.run(inputs)["y"], want["y"])
        model.close()

    def test_bench_counts_the_trips(self):
        self.compile(parse("""g (float[2,3] x) => (float[2,3] y) {
            m = Constant<value = int64 {20}>()
            y = Loop(m, , x) <body = b (int64 i, bool c, float[2,3] s) => (bool c2, float[2,3] s2) {
                c2 = Identity(c)  s2 = Sin(s) }> }"""), "--unroll", "0")
        done = run("bench", self.compiled, "--profile", "--json", "--seconds", "0.05")
        kernels = json.loads(done.stdout.splitlines()[-1])["kernels"]
        self.assertEqual([k["runs"] for k in kernels if k["nodes"] == ["n1/body/s2"]], [20])
        self.assertTrue(all(k["median_us"] > 0 for k in kernels), kernels)


if __name__ == "__main__":
    unittest.main()
