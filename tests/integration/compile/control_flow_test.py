"""If, Loop and Scan through `temper compile`, written out and not, against ONNX Runtime."""

import os
import unittest

import numpy as np
import temper
from flow_case import FlowCase, parse


class ControlFlow(FlowCase):
    X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)

    def test_if_runs_one_branch(self):
        self.check("""g (bool c, float[2,3] x) => (float[2,3] y, float[2,3] z) {
            t = Exp(x)
            y, u = If(c) <
                then_branch = yes () => (float[2,3] a, float[2,3] b) {
                    a = Neg(t)  b = Identity(x) },
                else_branch = no () => (float[2,3] a2, float[2,3] b2) {
                    w = Constant<value = float[1] {3.0}>()
                    a2 = Mul(x, w)  s = ReduceSum<keepdims = 0>(t)  b2 = Add(x, s) }>
            z = Relu(u) }""", {"c": True, "x": self.X}, {"c": False, "x": self.X})

    def test_if_in_if_and_a_result_that_is_an_input(self):
        self.check("""g (bool c, bool d, float[2,3] x) => (float[2,3] y) {
            y = If(c) <
                then_branch = yes () => (float[2,3] a) {
                    a = If(d) <then_branch = p () => (float[2,3] m) { m = Neg(x) },
                               else_branch = q () => (float[2,3] n) { n = Identity(x) }> },
                else_branch = no () => (float[2,3] b) { b = Abs(x) }> }""",
                   *[{"c": c, "d": d, "x": self.X} for c in (True, False) for d in (True, False)])

    def test_branches_of_different_extents_can_leave_the_model(self):
        text = """g (bool c, float[2,3] x) => (float[N,3] y%s) {
            y = If(c) <
                then_branch = yes () => (float[2,3] a) { a = Neg(x) },
                else_branch = no () => (float[4,3] b) { b = Concat<axis = 0>(x, x) }>%s }"""
        self.check(text % ("", ""), {"c": True, "x": self.X}, {"c": False, "x": self.X})
        self.refused("""g (bool c, float[2,3] x) => (float y) {
            y = If(c) <then_branch = yes () => (float[2,3] a) { a = Neg(x) },
                       else_branch = no () => (float b) { b = ReduceSum<keepdims = 0>(x) }> }""",
                     "If 'n0'", "its branches differ in type")

    SUM = """g (int64 m, float[2,3] x) => (float[2,3] y) {
        go = Constant<value = bool {1}>()
        y = Loop(m, go, x) <body = b (int64 i, bool c, float[2,3] s) => (bool c2, float[2,3] s2) {
            c2 = Identity(c)  f = Cast<to = 1>(i)  p = Add(s, f)  s2 = Add(p, x) }> }"""

    def test_trips_only_the_run_knows(self):
        self.check(self.SUM, *[{"m": m, "x": self.X} for m in (0, 1, 2, 3, 7, 1000, -5)])

    def test_rows_of_trips_that_only_the_run_knows(self):
        text = """g (int64 m, float[3] x) => (float[3] y, float[N,3] rows) {
            y, rows = Loop(m, , x) <
                body = b (int64 i, bool c, float[3] s) => (bool c2, float[3] s2, float[3] r) {
                    c2 = Identity(c)  s2 = Add(s, x)  r = Exp(x)  }> }"""
        x = self.X[0]
        self.refused(text, "Loop 'n0'", "--max-trips 'n0=N'")
        self.check(text, *[{"m": m, "x": x} for m in (0, 1, 5, 50)], flags=["--max-trips", "n0=50"])
        model = temper.load(self.compiled, threads=1)
        with self.assertRaisesRegex(Exception, "Loop 'n0' would take more trips than the 50"):
            model.run({"m": np.asarray(51), "x": x})
        self.assertEqual(model.run({"m": np.asarray(2), "x": x})["rows"].shape, (2, 3))
        model.close()
        self.refused(text, "'n7', which is no Loop", flags=["--max-trips", "n0=5", "--max-trips",
                                                            "n7=5"])

    def test_a_condition_ends_the_loop(self):
        text = """g (float limit, float[3] x) => (float[3] y, float[N] rows) {
            m = Constant<value = int64 {100}>()
            first = ReduceSum<keepdims = 0>(x)
            go = Less(first, limit)
            y, rows = Loop(m, go, x) <
                body = b (int64 i, bool c, float[3] s) => (bool c2, float[3] s2, float r) {
                    s2 = Add(s, s)  r = ReduceSum<keepdims = 0>(s2)  c2 = Less(r, limit) }> }"""
        x = np.array([1, 2, 3], np.float32)
        self.check(text, *[{"limit": np.float32(v), "x": x} for v in (0, 6, 7, 100, 1e20)])

    def test_a_while_loop_without_a_trip_count(self):
        self.check("""g (int64 n) => (int64 steps) {
            zero = Constant<value = int64 {0}>()  one = Constant<value = int64 {1}>()
            two = Constant<value = int64 {2}>()  three = Constant<value = int64 {3}>()
            go = Greater(n, one)
            last, steps = Loop(, go, n, zero) <
                body = b (int64 i, bool c, int64 v, int64 k) => (bool c2, int64 v2, int64 k2) {
                    r = Mod(v, two)  odd = Equal(r, one)
                    v2 = If(odd) <
                        then_branch = p () => (int64 a) { t = Mul(v, three)  a = Add(t, one) },
                        else_branch = q () => (int64 h) { h = Div(v, two) }>
                    k2 = Add(k, one)  c2 = Greater(v2, one) }> }""",
                   *[{"n": np.int64(n)} for n in (1, 2, 7, 27, 97)])

    def test_carried_values_may_change_places(self):
        self.check("""g (int64 m, float[4] a0, float[4] b0) => (float[4] a, float[4] b, float[4] d) {
            a, b, d = Loop(m, , a0, b0, b0) <
                body = f (int64 i, bool c, float[4] p, float[4] q, float[4] same)
                    => (bool c2, float[4] q2, float[4] n, float[4] same2) {
                    c2 = Identity(c)  q2 = Identity(q)  n = Add(p, q)  same2 = Identity(same) }> }""",
                   *[{"m": m, "a0": np.arange(4, dtype=np.float32), "b0": np.ones(4, np.float32)}
                     for m in (0, 1, 2, 10)])

    def test_loops_nest(self):
        self.check("""g (int64 m, float[2,3] x, bool flip) => (float[2,3] y, float[N,2,3] all) {
            y, all = Loop(m, , x) <
                body = b (int64 i, bool c, float[2,3] s)
                    => (bool c2, float[2,3] s2, float[2,3] r) {
                    c2 = Identity(c)
                    t = Loop(i, , s) <
                        body = b2 (int64 j, bool d, float[2,3] u) => (bool d2, float[2,3] u2) {
                            d2 = Identity(d)  f = Cast<to = 1>(j)  g = Cast<to = 1>(i)
                            v = Add(u, f)  w = Mul(g, x)  u2 = Add(v, w) }>
                    s2 = If(flip) <
                        then_branch = p () => (float[2,3] a) { a = Neg(t) },
                        else_branch = q () => (float[2,3] e) {
                            e = Loop(i, , t) <
                                body = b3 (int64 k, bool h, float[2,3] z)
                                    => (bool h2, float[2,3] z2) {
                                    h2 = Identity(h)  z2 = Mul(z, x) }> }>
                    r = Sub(s2, x) }> }""",
                   *[{"m": m, "x": self.X, "flip": flip}
                     for m in (0, 1, 4) for flip in (True, False)],
                   flags=["--max-trips", "n0=4"])

    def test_many_trips_are_not_written_out(self):
        model = parse(self.SUM.replace("int64 m, ", "").replace(
            "go =", "m = Constant<value = int64 {200000}>()  go ="))
        self.check(model, {"x": self.X * 1e-3}, unroll=("64",))
        self.assertLess(os.path.getsize(self.compiled), 200_000)

    def test_scans(self):
        text = """g (float[4] s0, float[%s] x, float[5,4] k) => (float[4] s, float[%s] y, float[5] z) {
            s, y, z = Scan<num_scan_inputs = 2, scan_input_axes = [%d, 0],
                scan_input_directions = [%d, 0], scan_output_axes = [%d, 0],
                scan_output_directions = [0, %d],
                body = b (float[4] p, float[4] row, float[4] w) => (float[4] q, float[4] e, float t) {
                    q = Add(p, row)  e = Mul(q, w)  t = ReduceMax<keepdims = 0>(q) }>(s0, x, k) }"""
        x = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
        s0 = np.ones(4, np.float32)
        for axis, direction, out_axis, out_direction in [(0, 0, 0, 0), (1, 1, 1, 1), (0, 1, -1, 0)]:
            shape = ["5,4", "4,5"]
            model = text % (shape[axis], shape[abs(out_axis)], axis, direction, out_axis,
                            out_direction)
            self.check(model, {"s0": s0, "x": x.T.copy() if axis else x, "k": x + 1})

    def test_a_recurrence_with_products(self):
        rng = np.random.default_rng(2)
        model = parse("""g (float[300,2,16] x, float[16,32] w, float[32,32] r, float[2,32] h0)
            => (float[2,32] h, float[300,2,32] y) {
            h, y = Scan<num_scan_inputs = 1, body = b (float[2,32] p, float[2,16] row)
                => (float[2,32] q, float[2,32] e) {
                a = MatMul(row, w)  b = MatMul(p, r)  c = Add(a, b)  q = Tanh(c)
                e = Identity(q) }>(h0, x) }""")
        shapes = {"x": (300, 2, 16), "w": (16, 32), "r": (32, 32), "h0": (2, 32)}
        self.check(model, {k: rng.normal(0, 0.2, v).astype(np.float32) for k, v in shapes.items()},
                   unroll=("64",))

    def test_what_is_carried_keeps_its_shape_unless_written_out(self):
        text = """g (%sfloat[1,3] x) => (float[%s,3] y) {
            %s
            y = Loop(m, , x) <body = b (int64 i, bool c, float[N,3] s) => (bool c2, float[M,3] s2) {
                c2 = Identity(c)  s2 = Concat<axis = 0>(s, x) }> }"""
        self.check(text % ("", "6", "m = Constant<value = int64 {5}>()"), {"x": self.X[:1]})
        self.refused(text % ("int64 m, ", "N", ""), "Loop 'n0'", "carried value 0 ('s2')",
                     "float32[1,3] at first and float32[2,3] after a trip")

    def test_results_that_nobody_reads(self):
        self.check("""g (int64 m, float[3] x) => (float[3] y) {
            y, b, r = Loop(m, , x, x) <
                body = f (int64 i, bool c, float[3] p, float[3] q)
                    => (bool c2, float[3] p2, float[3] q2, float[3] r) {
                    c2 = Identity(c)  p2 = Add(p, x)  q2 = Exp(q)  r = Neg(q) }> }""",
                   {"m": 3, "x": self.X[0]}, flags=["--max-trips", "n0=9"])

    def test_steps_can_be_timed(self):
        self.compile(parse(self.SUM), "--unroll", "0")
        model = temper.load(self.compiled, threads=1)
        inputs = {"m": np.asarray(4), "x": self.X}
        want = model.run(inputs)
        steps = model.profile(inputs, runs=3)
        self.assertEqual(steps[0].nodes, ("n1",))
        self.assertGreater(steps[0].us, 0)
        self.assertGreater(len(steps), 1)
        np.testing.assert_array_equal(model.run(inputs)["y"], want["y"])
        model.close()


if __name__ == "__main__":
    unittest.main()
