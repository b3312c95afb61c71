"""Results whose extents only the run knows (NonZero, Compress, Unique, NonMaxSuppression), which nodes
read: against ONNX Runtime."""

import unittest

import numpy as np
from flow_case import FlowCase

MASKS = [np.array(m, np.float32).reshape(2, 3) for m in
         ([0, 0, 0, 0, 0, 0], [1, 0, -2, 0, 0, 3], [1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, np.nan])]


class OpenExtents(FlowCase):
    def test_non_zero(self):
        self.check("""g (float[2,3] x) => (float[N] picked, int64[N,2] at, int64[2,N] raw, int64 count,
                                           int64[M] columns) {
            raw = NonZero(x)
            at = Transpose(raw)
            picked = GatherND(x, at)
            d = Shape(raw)
            one = Constant<value = int64 {1}>()
            count = Gather(d, one)
            rows, cut = Split<axis = 0>(raw)
            axis = Constant<value = int64[1] {0}>()
            columns = Squeeze(cut, axis) }""", *[{"x": m} for m in MASKS], unroll=("64",))

    def test_what_follows_is_there_once_where_it_is_of_one_shape_again(self):
        self.check("""g (float[2,3] x) => (float[2] mean, bool any) {
            axis = Constant<value = int64[1] {1}>()
            i = NonZero(x)
            f = Cast<to = 1>(i)
            s = ReduceSum<keepdims = 0>(f, axis)
            mean = Exp(s)
            n = Size(i)
            zero = Constant<value = int64 {0}>()
            any = Greater(n, zero) }""", *[{"x": m} for m in MASKS], unroll=("64",))

    def test_compress_and_unique(self):
        text = """g (float[4,3] x, bool[4] keep, int64[5] k) => (float[N,3] y, float[3] most, int64[M] n,
                                                             int64[5] inverse, int64[K] doubled) {
            rows = Compress<axis = 0>(x, keep)
            y = Relu(rows)
            axis = Constant<value = int64[1] {0}>()
            most = ReduceSum<keepdims = 0>(rows, axis)
            u, first, inverse, n = Unique(k)
            doubled = Add(u, first) }"""
        x = np.arange(-6, 6, dtype=np.float32).reshape(4, 3)
        self.check(text, *[{"x": x, "keep": np.array(keep), "k": np.array(k)} for keep, k in [
            ([True, False, True, True], [5, 1, 5, 5, 2]), ([False] * 4, [3] * 5),
            ([True] * 4, [5, 4, 3, 2, 1])]], unroll=("64",))

    def test_rows_without_elements(self):
        self.check("""g (float[3,0] x, bool[3] keep) => (float[N,0] y, int64[2] d) {
            rows = Compress<axis = 0>(x, keep)
            y = Neg(rows)
            d = Shape(rows) }""", *[{"x": np.zeros((3, 0), np.float32), "keep": np.array(keep)}
                                    for keep in ([True, False, True], [False] * 3, [True] * 3)],
                   unroll=("64",))

    def test_detections(self):
        # As detectors end: the boxes and scores of what is left, by batch, class and box.
        text = """g (float[1,6,4] boxes, float[1,2,6] scores) => (float[N,4] found, float[N] best,
                                                                 int64[N] classes) {
            most = Constant<value = int64[1] {3}>()
            iou = Constant<value = float[1] {0.5}>()  least = Constant<value = float[1] {0.3}>()
            s = NonMaxSuppression(boxes, scores, most, iou, least)
            axis = Constant<value = int64[1] {1}>()  two = Constant<value = int64[1] {2}>()
            three = Constant<value = int64[1] {3}>()  zero = Constant<value = int64[1] {0}>()
            index = Slice(s, two, three, axis)
            flat = Squeeze(index, axis)
            all = Squeeze(boxes, zero)
            found = Gather<axis = 0>(all, flat)
            best = GatherND(scores, s)
            class = Slice(s, axis, two, axis)
            classes = Squeeze(class, axis) }"""
        rng = np.random.default_rng(5)
        runs = [{"boxes": np.zeros((1, 6, 4), np.float32), "scores": np.zeros((1, 2, 6), np.float32)}]
        for _ in range(4):
            corner = rng.random((1, 6, 2), np.float32)
            runs.append({"boxes": np.concatenate([corner, corner + 0.4], 2).astype(np.float32),
                         "scores": rng.random((1, 2, 6)).astype(np.float32)})
        self.check(text, *runs, unroll=("64",))

    def test_inside_branches_loops_and_what_varies_itself(self):
        self.check("""g (bool c, float[2,3] x) => (int64[2,N] y, float[6] total, int64[2,K] z) {
            y = If(c) <
                then_branch = yes () => (int64[2,A] a) { a = NonZero(x) },
                else_branch = no () => (int64[2,B] b) { t = Floor(x)  i = NonZero(t)  b = Neg(i) }>
            v = If(c) <
                then_branch = p () => (float[2,3] m) { m = Neg(x) },
                else_branch = q () => (float[4,3] n) { n = Concat<axis = 0>(x, x) }>
            i = NonZero(v)
            z = Add(i, i)
            minus = Constant<value = int64[1] {-1}>()
            first = Reshape(x, minus)
            three = Constant<value = int64 {3}>()
            total = Loop(three, , first) <
                body = b (int64 i, bool g, float[6] s) => (bool g2, float[6] s2) {
                    g2 = Identity(g)
                    j = NonZero(s)
                    f = Cast<to = 1>(j)
                    axis = Constant<value = int64[1] {1}>()
                    sum = ReduceSum(f, axis)
                    shape = Constant<value = int64[1] {1}>()
                    one = Reshape(sum, shape)
                    s2 = Add(s, one) }> }""",
                   *[{"c": c, "x": m} for c in (True, False) for m in MASKS[:3]], unroll=("0", "64"))

    def test_too_many_are_refused(self):
        self.refused("""g (float[16,16] x) => (int64[N,2] y) { i = NonZero(x)  y = Transpose(i) }""",
                     "NonZero 'n0'", "Transpose 'n1'", "255")


if __name__ == "__main__":
    unittest.main()
