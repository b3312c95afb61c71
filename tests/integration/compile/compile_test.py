"""Small models through `temper compile` and the Python package, against ONNX Runtime."""

import json
import os
import tempfile
import unittest

import networks
import numpy as np
import onnx
import temper
from programs import reference, run


class Compile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def check(self, name, *flags, threads=1):
        path = networks.save(self.folder, name)
        compiled = f"{self.folder}/{name}.so"
        shapes = networks.SHAPES.get(name, [])
        run("compile", path, "-o", compiled, "--threads", str(threads), *shapes, *flags)
        model = temper.load(compiled, threads=threads)
        inputs = networks.feeds(onnx.load(path), {t.name: t.shape for t in model.inputs})
        want = reference(path, inputs)
        for _ in range(2):  # the second run meets what the first left in scratch memory
            got = model.run(inputs)
            self.assertEqual(list(got), list(want))
            for key, value in want.items():
                self.assertEqual(got[key].shape, value.shape, key)
                self.assertEqual(got[key].dtype, value.dtype, key)
                np.testing.assert_allclose(got[key], value, rtol=1e-4,
                                           atol=1e-4 * max(1e-6, float(np.std(value))),
                                           err_msg=f"{name} {key}")
        model.close()

    def test_models_on_one_thread(self):
        for name in networks.ALL:
            with self.subTest(name):
                self.check(name)

    def test_models_on_two_threads(self):
        for name in ["residual", "mobile", "groups", "branches", "dense"]:
            with self.subTest(name):
                self.check(name, threads=2)

    def test_models_for_other_targets(self):
        for target in ["x86-64", "x86-64-v3"]:
            for name in ["residual", "mobile", "groups", "branches", "dense"]:
                with self.subTest(f"{name} {target}"):
                    self.check(name, "--target", target)

    def test_numerics_decides_which_convolutions_there_may_be(self):
        path = f"{self.folder}/conv.onnx"
        value = lambda name, shape: onnx.helper.make_tensor_value_info(name, 1, shape)
        weight = np.random.default_rng(0).standard_normal((64, 64, 3, 3)).astype(np.float32)
        node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
        onnx.save(onnx.helper.make_model(onnx.helper.make_graph(
            [node], "conv", [value("x", [1, 64, 28, 28])], [value("y", [1, 64, 28, 28])],
            [onnx.numpy_helper.from_array(weight, "w")]),
            opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)

        def alternatives(*flags):
            report = run("compile", path, "-o", f"{self.folder}/m.so", "--json", *flags).stdout
            text = " ".join(k["schedule"] for k in json.loads(report)["kernels"])
            return {int(word.split("=")[1].rstrip(";")) for word in text.split()
                    if word.startswith("alternative=")}

        self.assertEqual(alternatives("--numerics", "strict"), {0})
        self.assertLessEqual(alternatives("--numerics", "balanced"), {0, 1})
        self.assertEqual(max(alternatives()), 2)
        self.assertEqual(alternatives(), alternatives("--numerics", "fast"))
        refused = run("compile", path, "-o", f"{self.folder}/m.so", "--numerics", "exact",
                      expect=2).stderr
        self.assertIn("strict, balanced and fast", refused)

    def test_each_pass_can_be_left_out(self):
        path = networks.save(self.folder, "mobile")
        passes = json.loads(run("inspect", path, "--json").stdout)["passes"]
        self.assertIn("fold_batch_norm", passes)
        required = {"infer_shapes", "canonicalize", "decompose", "materialize_outputs"}
        self.assertLess(required, set(passes))
        for name in passes:
            if name in required:
                run("compile", path, "-o", f"{self.folder}/a.so", "--disable-pass", name, expect=2)
                continue
            with self.subTest(name):
                self.check("residual", "--disable-pass", name)

    def test_print_after_shows_the_graph(self):
        path = networks.save(self.folder, "residual")
        shown = run("compile", path, "-o", f"{self.folder}/a.so", "--print-after", "import",
                    "--print-after", "fold_batch_norm").stderr
        before, after = shown.split("--- after fold_batch_norm")
        self.assertIn("BatchNormalization(", before)
        self.assertNotIn("BatchNormalization(", after)

    def test_same_input_same_bytes(self):
        path = networks.save(self.folder, "mobile")
        files = []
        for name in ["one.so", "two.so"]:
            run("compile", path, "-o", f"{self.folder}/{name}")
            with open(f"{self.folder}/{name}", "rb") as file:
                files.append(file.read())
        self.assertEqual(files[0], files[1])
        self.assertEqual(sorted(os.listdir(self.folder)), ["mobile.onnx", "one.so", "two.so"])

    def test_report(self):
        path = networks.save(self.folder, "residual")
        compiled = f"{self.folder}/m.so"
        report = json.loads(run("compile", path, "-o", compiled, "--json").stdout)
        for key in ["seconds", "arena_bytes", "weight_bytes", "kernels"]:
            self.assertIn(key, report)
        nodes = [n for kernel in report["kernels"] for n in kernel["nodes"]]
        for node in onnx.load(path).graph.node:
            self.assertIn(node.name, nodes)
        for kernel in report["kernels"]:
            self.assertEqual(len(kernel["workload"]), 64)
            self.assertIn(kernel["source"], ["prior", "model"])
            self.assertIn("expected_us", kernel)
        table = run("compile", path, "-o", compiled, "--report").stdout
        self.assertIn("workload", table)
        inspected = json.loads(run("inspect", compiled, "--json").stdout)
        self.assertEqual([k["workload"] for k in inspected["kernels"]],
                         [k["workload"] for k in report["kernels"]])
        self.assertEqual(inspected["arena_bytes"], report["arena_bytes"])

    def test_run_and_bench(self):
        path = networks.save(self.folder, "dense")
        compiled = f"{self.folder}/m.so"
        run("compile", path, "-o", compiled)
        inputs = networks.feeds(onnx.load(path))
        want = reference(path, inputs)
        flags = []
        for name, array in inputs.items():
            np.save(f"{self.folder}/{name}.npy", np.asfortranarray(array))
            flags += ["--input", f"{name}=@{self.folder}/{name}.npy"]
        expected = []
        for name, array in want.items():
            np.save(f"{self.folder}/want_{name}.npy", array)
            expected += ["--expect", f"{name}=@{self.folder}/want_{name}.npy"]
        run("run", compiled, *flags, *expected)
        np.save(f"{self.folder}/want_y.npy", want["y"] + 1)
        self.assertIn("WRONG", run("run", compiled, *flags, *expected, expect=1).stdout)
        run("run", compiled, *flags, "--output-dir", f"{self.folder}/out")
        for name, array in want.items():
            got = np.load(f"{self.folder}/out/{name}.npy")
            self.assertEqual(got.dtype, array.dtype)
            np.testing.assert_allclose(got, array, rtol=1e-3, atol=1e-3)
        bench = json.loads(
            run("bench", compiled, "--seconds", "0.05", "--profile", "--json").stdout)
        for key in ["median_ms", "p95_ms", "best_ms", "runs", "threads", "kernels"]:
            self.assertIn(key, bench)
        self.assertLessEqual(bench["best_ms"], bench["median_ms"])
        self.assertLessEqual(bench["median_ms"], bench["p95_ms"])
        self.assertAlmostEqual(sum(k["share"] for k in bench["kernels"]), 1, places=6)


if __name__ == "__main__":
    unittest.main()
