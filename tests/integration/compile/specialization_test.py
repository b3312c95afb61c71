"""Models compiled for several sets of shapes, against ONNX Runtime."""

import json
import os
import tempfile
import unittest

import networks
import numpy as np
import onnx
import temper
from programs import reference, run


def image(name):
    """Any batch and size: convolutions, folded normalization, a pool, a dense end."""
    b = networks.Builder(7)
    x = b.input("x", ["N", 3, "H", "W"])
    y = b.conv(x, 3, 16, 3)
    scale = [b.constant(b.rng.uniform(0.5, 1.5, 16).astype(np.float32)) for _ in range(4)]
    y = b.node("Relu", [b.node("BatchNormalization", [y, *scale])])
    y = b.conv(y, 16, 16, 3, out="features")
    y = b.node("Flatten", [b.node("GlobalAveragePool", [y])])
    b.node("Gemm", [y, b.weight(10, 16), b.weight(10)], ["logits"], transB=1)
    b.output("logits")
    b.output("features")
    return b.model(name)


def table(name):
    """a + b + a constant that is computed from another; weights that are never packed."""
    b = networks.Builder(8)
    b.input("a", ["N", 1000])
    b.input("b,c=", ["N", 1000])
    constant = b.node("Exp", [b.weight(1000)])
    b.node("Add", [b.node("Add", ["a", "b,c="]), constant], ["y"])
    b.output("y")
    return b.model(name)


def defaults(name, ir_version=8, resize=False):
    """y = (x @ w) * s + b, where w and s are initializers and inputs, b an initializer alone."""
    b = networks.Builder(9)
    b.input("x", ["N", 16])
    b.input("w", [16, 16])
    b.input("s", [1])
    b.constant(b.rng.normal(0, 1, (16, 16)).astype(np.float32), "w")
    b.constant(np.array([1.5], np.float32), "s")
    y = b.node("Mul", [b.node("MatMul", ["x", "w"]), "s"])
    y = b.node("Add", [y, b.weight(16)], ["y"])
    b.output("y")
    if resize:
        b.input("scales", [2])
        b.constant(np.array([1, 2], np.float32), "scales")
        b.node("Resize", ["y", "", "scales"], ["z"], mode="nearest")
        b.output("z")
    model = b.model(name)
    model.ir_version = ir_version
    return model


class Specializations(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.compiled = f"{self.folder}/m.so"

    def save(self, make):
        path = f"{self.folder}/{make.__name__}.onnx"
        onnx.save(make(make.__name__), path)
        return path

    def check(self, path, model, shapes):
        rng = np.random.default_rng(0)
        inputs = {n: rng.normal(0, 1, s).astype(np.float32) for n, s in shapes.items()}
        want = reference(path, inputs)
        got = model.run(inputs)
        for key, value in want.items():
            self.assertEqual(got[key].shape, value.shape, key)
            np.testing.assert_allclose(got[key], value, rtol=1e-4, atol=1e-4, err_msg=key)
        return inputs, want

    def test_picks_by_the_shape_of_the_input(self):
        path = self.save(image)
        sets = [(1, 3, 16, 16), (4, 3, 16, 16), (1, 3, 24, 21)]
        flags = [f for s in sets for f in ("--shape", "x=" + "x".join(map(str, s)))]
        report = json.loads(run("compile", path, "-o", self.compiled, "--json", *flags).stdout)
        self.assertEqual([s["inputs"]["x"] for s in report["specializations"]],
                         [list(s) for s in sets])
        self.assertEqual({k["specialization"] for k in report["kernels"]}, {0, 1, 2})
        for threads in [1, 2]:
            with temper.load(self.compiled, threads=threads) as model:
                self.assertEqual(model.inputs[0].shape, (-1, 3, -1, -1))
                self.assertEqual([s.inputs[0].shape for s in model.specializations], sets)
                for shape in [*sets, *reversed(sets), *sets]:
                    self.check(path, model, {"x": shape})
                with self.assertRaises(temper.Error) as caught:
                    model.run({"x": np.zeros((2, 3, 16, 16), np.float32)})
                for part in ["'x' [2, 3, 16, 16]", *[str(list(s)) for s in sets]]:
                    self.assertIn(part, str(caught.exception))
                steps = model.profile({"x": np.zeros(sets[2], np.float32)}, runs=2)
                mine = [k for k in report["kernels"] if k["specialization"] == 2]
                self.assertEqual([list(s.nodes) for s in steps], [k["nodes"] for k in mine])

    def test_weights_are_stored_once(self):
        path = self.save(table)
        one, two = ["--shape", "a=1x1000,b,c==1x1000"], ["--shape", "a=3x1000,b,c==3x1000"]
        single = json.loads(run("compile", path, "-o", self.compiled, "--json", *one).stdout)
        both = json.loads(run("compile", path, "-o", self.compiled, "--json", *one, *two).stdout)
        self.assertGreater(single["weight_bytes"], 3999)
        self.assertEqual(both["weight_bytes"], single["weight_bytes"])
        with temper.load(self.compiled) as model:
            self.assertEqual(model.weight_bytes, single["weight_bytes"])
            for n in [3, 1]:
                self.check(path, model, {"a": (n, 1000), "b,c=": (n, 1000)})
            with self.assertRaisesRegex(temper.Error, "fit none"):
                model.run({"a": np.zeros((1, 1000), np.float32),
                           "b,c=": np.zeros((3, 1000), np.float32)})

    def test_one_option_an_input_and_one_for_all_mean_the_same(self):
        path = self.save(table)
        apart = ["a=1x1000", "b,c==1x1000", "a=2x1000", "b,c==2x1000"]
        together = ["a=1x1000,b,c==1x1000", "b,c==2x1000,a=2x1000"]
        files = []
        for sets in [apart, together]:
            run("compile", path, "-o", self.compiled, *[f for s in sets for f in ("--shape", s)])
            with open(self.compiled, "rb") as file:
                files.append(file.read())
        self.assertEqual(*files)

    def test_run_bench_and_inspect(self):
        path = self.save(image)
        sets = ["--shape", "x=1x3x9x9", "--shape", "x=2x3x12x8"]
        run("compile", path, "-o", self.compiled, *sets)
        with temper.load(self.compiled) as model:
            inputs, want = self.check(path, model, {"x": (2, 3, 12, 8)})
        np.save(f"{self.folder}/x.npy", inputs["x"])
        np.save(f"{self.folder}/y.npy", want["logits"])
        run("run", self.compiled, "--input", f"x=@{self.folder}/x.npy", "--expect",
            f"logits=@{self.folder}/y.npy")
        np.save(f"{self.folder}/x.npy", inputs["x"][:1])
        error = run("run", self.compiled, "--input", f"x=@{self.folder}/x.npy", expect=1).stderr
        self.assertIn("x (1, 3, 12, 8) fit none", error)
        self.assertIn("x (1, 3, 9, 9); x (2, 3, 12, 8)", error)

        bench = json.loads(
            run("bench", self.compiled, "--seconds", "0.05", "--profile", "--json").stdout)
        self.assertEqual([s["inputs"]["x"] for s in bench["specializations"]],
                         [[1, 3, 9, 9], [2, 3, 12, 8]])
        for s in [bench, *bench["specializations"]]:
            self.assertGreater(s["median_ms"], 0)
            self.assertTrue(s["kernels"])
        self.assertIn("x float32[2,3,12,8]", run("bench", self.compiled, "--seconds", "0.01").stdout)

        shown = json.loads(run("inspect", self.compiled, "--json").stdout)
        self.assertEqual([s["inputs"][0]["shape"] for s in shown["specializations"]],
                         [[1, 3, 9, 9], [2, 3, 12, 8]])
        planned = json.loads(run("inspect", path, "--json", *sets).stdout)
        key = lambda k: (k["specialization"], k["workload"], k["nodes"])
        self.assertEqual(list(map(key, shown["kernels"])), list(map(key, planned["kernels"])))
        text = run("inspect", self.compiled).stdout
        self.assertIn("specialization 2\ninput  x float32[2,3,12,8]", text)
        last = [k for k in shown["kernels"] if k["specialization"] == 1][-1]
        kernel = json.loads(
            run("inspect", self.compiled, "--kernel", last["workload"], "--json").stdout)
        self.assertGreater(kernel["us"], 0)
        table = run("compile", path, "-o", self.compiled, "--report", *sets).stdout
        self.assertIn("specialization 2: x[2,3,12,8]", table)

    def test_initializers_that_are_inputs_are_optional(self):
        path = f"{self.folder}/d.onnx"
        onnx.save(defaults("d"), path)
        sets = ["--shape", "x=1x16", "--shape", "x=5x16"]
        report = json.loads(run("compile", path, "-o", self.compiled, "--json", *sets).stdout)
        self.assertEqual(len(report["specializations"]), 4)
        self.assertEqual(report["specializations"][0]["optional"], {"w": [16, 16], "s": [1]})
        self.assertEqual([s["fixed_defaults"] for s in report["specializations"]],
                         [True, False, True, False])
        rng = np.random.default_rng(1)
        more = {"w": rng.normal(0, 1, (16, 16)).astype(np.float32),
                "s": np.array([-2], np.float32)}
        with temper.load(self.compiled) as model:
            self.assertEqual([t.name for t in model.inputs], ["x"])
            self.assertEqual([t.name for t in model.optional_inputs], ["w", "s"])
            self.assertEqual(len(model.specializations), 2)
            for n in [1, 5, 1]:
                x = rng.normal(0, 1, (n, 16)).astype(np.float32)
                for names in [[], ["s"], ["w"], ["w", "s"], []]:
                    feed = {"x": x, **{k: more[k] for k in names}}
                    np.testing.assert_allclose(model.run(feed)["y"], reference(path, feed)["y"],
                                               rtol=1e-4, atol=1e-4, err_msg=f"{n} {names}")
        for name, array in {"x": x, **more, "y": reference(path, {"x": x, **more})["y"]}.items():
            np.save(f"{self.folder}/{name}.npy", array)
        given = [f for n in ["x", "w", "s"] for f in ("--input", f"{n}=@{self.folder}/{n}.npy")]
        run("run", self.compiled, *given, "--expect", f"y=@{self.folder}/y.npy")
        self.assertIn("WRONG", run("run", self.compiled, *given[:2], "--expect",
                                   f"y=@{self.folder}/y.npy", expect=1).stdout)
        text = run("inspect", self.compiled).stdout
        self.assertIn("input  s float32[1], optional", text)
        bench = json.loads(run("bench", self.compiled, "--seconds", "0.02", "--json").stdout)
        self.assertEqual([s["inputs"]["x"] for s in bench["specializations"]], [[1, 16], [5, 16]])

    def test_which_initializers_are_optional(self):
        path = f"{self.folder}/d.onnx"
        for ir_version, flags, names in [
                (8, [], ["w", "s"]), (4, [], ["w", "s"]), (3, [], []),
                (8, ["--no-overridable"], []), (3, ["--overridable", "s"], ["s"]),
                (8, ["--overridable", "s"], ["s"])]:
            onnx.save(defaults("d", ir_version), path)
            run("compile", path, "-o", self.compiled, "--shape", "x=2x16", *flags)
            with temper.load(self.compiled) as model, self.subTest(f"{ir_version} {flags}"):
                self.assertEqual([t.name for t in model.optional_inputs], names)
                self.check(path, model, {"x": (2, 16)})
        run("compile", path, "-o", self.compiled, "--shape", "x=2x16", "--overridable", "b",
            expect=1)
        run("compile", path, "-o", self.compiled, "--shape", "x=2x16", "--overridable", "s",
            "--no-overridable", expect=2)
        # What has to be constant stays so, with all others, unless it is named.
        onnx.save(defaults("d", resize=True), path)
        warned = run("compile", path, "-o", self.compiled, "--shape", "x=2x16").stderr
        self.assertIn("are constants, since they cannot be inputs", warned)
        with temper.load(self.compiled) as model:
            self.assertEqual(model.optional_inputs, ())
            self.check(path, model, {"x": (2, 16)})
        run("compile", path, "-o", self.compiled, "--shape", "x=2x16", "--overridable", "scales",
            expect=1)
        run("compile", path, "-o", self.compiled, "--shape", "x=2x16", "--overridable", "w",
            "--overridable", "s")

    def test_a_damaged_library_is_refused(self):
        path = self.save(table)
        run("compile", path, "-o", self.compiled, "--shape", "a=1x1000,b,c==1x1000")
        run("inspect", self.compiled)
        with open(self.compiled, "rb") as file:
            intact = file.read()
        rng = np.random.default_rng(3)
        for at in rng.integers(0, len(intact) - 32, 40):
            damaged = bytearray(intact)
            damaged[at] ^= 1 << int(rng.integers(8))
            os.unlink(self.compiled)
            with open(self.compiled, "wb") as file:
                file.write(damaged)
            for verb in ["inspect", "bench"]:
                # A file that is no ELF file at all is taken for an ONNX model.
                error = run(verb, self.compiled, expect=1).stderr
                if at >= 4:
                    self.assertIn("is damaged", error)

    def test_refusals(self):
        path = self.save(image)
        for shapes, code, words in [
                (["x=1x3x9x9", "x=1x3x9x9"], 1, ["specialization 2", "an earlier specialization"]),
                (["x=1x3x9x9", "x=1x4x9x9"], 1, ["specialization 2", "fixed at 3"]),
                (["x=1x3x9x9,x=2x3x9x9"], 2, ["twice"]),
                (["x=1x3x9x9,"], 2, ["expected NAME=SIZES"]),
                ([f"x={n}x3x9x9" for n in range(1, 66)], 2, ["65", "64"])]:
            flags = [f for s in shapes for f in ("--shape", s)]
            error = run("compile", path, "-o", self.compiled, *flags, expect=code).stderr
            for word in words:
                self.assertIn(word, error)
        self.assertFalse(os.path.exists(self.compiled))


if __name__ == "__main__":
    unittest.main()
