"""The package temper on the hand-written models of tests/deploy/runtime/models."""

import gc
import os
import pathlib
import threading
import types
import unittest
import unittest.mock

import numpy as np
import temper

MODELS = pathlib.Path(os.environ["TEMPER_TEST_MODELS"])
TOY = MODELS / "toy_model.so"


def feeds(k=2):
    return {
        "x": np.arange(15, dtype=np.float32).reshape(3, 5),
        "b": np.array([100, 200, 300, 400, 500], np.float32),
        "k": np.array([k], np.int32),
    }


def expected_y(inputs):
    return 2 * inputs["x"] + inputs["b"]


class Description(unittest.TestCase):
    def test_inputs_and_outputs(self):
        with temper.load(TOY) as model:
            self.assertEqual(
                model.inputs,
                (
                    temper.Tensor("x", np.dtype("float32"), (3, 5)),
                    temper.Tensor("b", np.dtype("float32"), (5,)),
                    temper.Tensor("k", np.dtype("int32"), (1,)),
                ),
            )
            self.assertEqual([t.name for t in model.outputs], ["y", "n", "picked"])
            self.assertEqual([t.shape for t in model.outputs], [(3, 5), (), (-1,)])
            self.assertEqual(model.outputs[1].dtype, np.int64)

    def test_facts(self):
        with temper.load(str(TOY), threads=2) as model:
            self.assertEqual(model.threads, 2)
            self.assertEqual(model.compiled_threads, 2)
            self.assertEqual(model.target, "x86-64-v9")
            self.assertEqual(model.producer, "by hand")
            self.assertEqual(model.arena_bytes, 16)
            self.assertEqual(model.weight_bytes, 20)
            self.assertIn("x: float32[3, 5]", repr(model))
        self.assertEqual(temper.runtime_version(), temper.__version__)


class Run(unittest.TestCase):
    def setUp(self):
        self.model = temper.load(TOY, threads=2)
        self.addCleanup(self.model.close)

    def check(self, inputs, outputs=None):
        result = self.model.run(inputs, outputs)
        self.assertEqual(list(result), ["y", "n", "picked"])
        np.testing.assert_array_equal(result["y"], expected_y(feeds()))
        self.assertEqual(result["y"].dtype, np.float32)
        np.testing.assert_array_equal(result["picked"], [0, 10])
        return result

    def test_by_name_and_by_position(self):
        self.check(feeds())
        self.check(list(feeds().values()))
        self.check(tuple(feeds().values()))

    def test_results_stay_after_the_next_run(self):
        first = self.check(feeds())
        second = self.model.run({**feeds(), "x": np.zeros((3, 5), np.float32)})
        np.testing.assert_array_equal(first["y"], expected_y(feeds()))
        np.testing.assert_array_equal(second["y"][0], feeds()["b"])
        self.assertEqual((int(first["n"]), int(second["n"])), (1, 2))

    def test_shape_known_after_the_run(self):
        for k, values in [(0, []), (3, [0, 10, 20]), (4, [0, 10, 20, 30]), (1, [0])]:
            picked = self.model.run(feeds(k))["picked"]
            self.assertEqual(picked.shape, (k,))
            np.testing.assert_array_equal(picked, values)

    def test_converts_lists_and_copies_what_is_not_contiguous(self):
        inputs = feeds()
        self.check({**inputs, "x": inputs["x"].tolist(), "k": [2]})
        self.check({**inputs, "x": np.asfortranarray(inputs["x"])})
        wide = np.zeros((3, 10), np.float32)
        wide[:, ::2] = inputs["x"]
        self.check({**inputs, "x": wide[:, ::2]})

    def test_unaligned_and_read_only_arrays(self):
        inputs = feeds()
        data = bytearray(61)
        data[1:] = inputs["x"].tobytes()
        x = np.frombuffer(data, np.float32, count=15, offset=1).reshape(3, 5)
        x.flags.writeable = False
        self.check({**inputs, "x": x})

    def test_writes_to_given_outputs(self):
        y = np.zeros((3, 5), np.float32)
        room = np.zeros(4, np.int32)
        result = self.check(feeds(), {"y": y, "picked": room})
        self.assertIs(result["y"], y)
        self.assertTrue(np.shares_memory(result["picked"], room))

    def test_refuses_outputs_in_inputs(self):
        inputs = feeds()
        with self.assertRaisesRegex(temper.Error, "output y shares memory with input x"):
            self.model.run(inputs, {"y": inputs["x"]})

    def test_refuses_wrong_names(self):
        inputs = feeds()
        del inputs["b"]
        with self.assertRaisesRegex(temper.Error, "missing input 'b'; given: 'x', 'k'.*takes 'x': float32"):
            self.model.run(inputs)
        with self.assertRaisesRegex(temper.Error, "unknown input 'z'.*without --no-overridable"):
            self.model.run({**feeds(), "z": 1})
        with self.assertRaisesRegex(temper.Error, "missing input 'b'; unknown input 'c'"):
            self.model.run({**inputs, "c": 1})
        with self.assertRaisesRegex(temper.Error, "2 inputs for 3: the model takes"):
            self.model.run([1, 2])
        for bad in (None, 5, np.zeros(3)):
            with self.assertRaisesRegex(temper.Error, "give {name: array}"):
                self.model.run(bad)

    def test_refuses_wrong_tensors(self):
        for name, array, message in [
            ("x", np.zeros((3, 5)), r"float64\[3, 5\]; the model has float32.*astype"),
            ("x", np.zeros((3, 5), ">f4"), r">f4\[3, 5\]; the model has"),
            ("x", np.zeros((5, 3), np.float32), r"float32\[5, 3\]; the model has float32\[3, 5\]"),
            ("x", np.zeros(15, np.float32), r"float32\[15\]; the model has"),
            ("k", np.int64(1), r"int64\[\]; the model has int32"),
            ("k", "text", "str"),
            ("x", [[1, 2], [3]], "list"),
        ]:
            with self.subTest(name=name, message=message):
                with self.assertRaisesRegex(temper.Error, message):
                    self.model.run({**feeds(), name: array})
        self.assertEqual(int(self.check(feeds())["n"]), 1)  # none of them ran

    def test_refuses_wrong_outputs(self):
        read_only = np.zeros((3, 5), np.float32)
        read_only.flags.writeable = False
        for outputs, message in [
            ({"q": read_only}, "unknown output 'q'"),
            ({"y": read_only}, "writeable"),
            ({"y": np.zeros((5, 3), np.float32).T}, "contiguous"),
            ({"y": np.zeros((3, 5))}, "float64"),
            ({"picked": np.zeros(3, np.int32)}, r"\[3\]; the model has int32\[4\]"),
            ({"y": [1]}, "list"),
        ]:
            with self.subTest(message=message):
                with self.assertRaisesRegex(temper.Error, message):
                    self.model.run(feeds(), outputs)

    def test_reports_a_failure_in_the_model(self):
        with self.assertRaisesRegex(temper.Error, "code 7"):
            self.model.run(feeds(-1))
        with self.assertRaisesRegex(temper.Error, r"step 1 \(pick\) failed with code 7"):
            self.model.profile(feeds(-1))


class Profile(unittest.TestCase):
    def test_steps(self):
        with temper.load(TOY) as model:
            steps = model.profile(feeds(), runs=4)
            self.assertEqual(int(model.run(feeds())["n"]), 6)
            with self.assertRaises(temper.Error):
                model.profile(feeds(), runs=0)
        self.assertEqual([s.nodes for s in steps], [("scale", "shift"), ("pick",)])
        self.assertEqual(steps[0][1:7], ("00ff", "exact", "split", 1.5, 30.0, 140))
        for step in steps:
            self.assertGreaterEqual(step.us, 0)


class Lifetime(unittest.TestCase):
    def test_closed_models_refuse(self):
        model = temper.load(TOY)
        with model:
            model.run(feeds())
        model.close()
        for call in (lambda: model.run(feeds()), lambda: model.profile(feeds()), model.clone):
            with self.assertRaisesRegex(temper.Error, "closed"):
                call()

    def test_clones_run_side_by_side(self):
        model = temper.load(TOY)
        clones = [model.clone() for _ in range(3)]
        model.close()
        failures = []

        def work(clone):
            for run in range(1, 101):
                result = clone.run(feeds())
                if int(result["n"]) != run or (result["y"] != expected_y(feeds())).any():
                    failures.append(run)

        threads = [threading.Thread(target=work, args=(c,)) for c in clones]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_one_model_may_be_called_by_several_threads(self):
        model = temper.load(TOY, threads=2)
        counts = []
        threads = [
            threading.Thread(target=lambda: counts.append(int(model.run(feeds())["n"])))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(counts), list(range(1, 9)))

    def test_frees_what_is_dropped(self):
        def mappings():
            with open("/proc/self/maps") as maps:
                return sum("large_arena" in line for line in maps)

        model = temper.load(MODELS / "large_arena.so")
        self.assertEqual(model.run({})["sum"].tolist(), [0])
        self.assertGreater(mappings(), 0)
        del model
        gc.collect()
        self.assertEqual(mappings(), 0)


class DTypes(unittest.TestCase):
    def test_types_of_numpy_and_of_ml_dtypes(self):
        dtype = temper._dtypes.numpy_dtype
        make = temper._library.DLDataType
        for code, bits, name in [(2, 16, "float16"), (0, 8, "int8"), (1, 64, "uint64")]:
            self.assertEqual(dtype(make(code, bits, 1)), np.dtype(name))
        self.assertEqual(dtype(make(6, 8, 1)), np.dtype(bool))
        with unittest.mock.patch.dict("sys.modules", ml_dtypes=None):  # as if not installed
            with self.assertRaisesRegex(temper.Error, "bfloat16.*pip install ml_dtypes"):
                dtype(make(4, 16, 1))
        fake = types.SimpleNamespace(float8_e5m2=np.uint8)
        with unittest.mock.patch.dict("sys.modules", ml_dtypes=fake):
            self.assertEqual(dtype(make(12, 8, 1)), np.dtype("uint8"))
        with self.assertRaisesRegex(temper.Error, "unknown type"):
            dtype(make(5, 64, 1))


class Load(unittest.TestCase):
    def test_refusals(self):
        for name, message in [
            ("missing.so", "missing.so: No such file"),
            ("no_model.so", "not a compiled model"),
            ("newer_model.so", "newer compiler"),
            ("demanding_model.so", "this CPU lacks"),
            ("damaged_model.so", "damaged metadata"),
        ]:
            with self.subTest(name=name):
                with self.assertRaisesRegex(temper.Error, message):
                    temper.load(MODELS / name)
        for threads in (-1, 100000, 2**32 + 1, 1.5, "2", None):
            with self.assertRaisesRegex(temper.Error, "threads"):
                temper.load(TOY, threads=threads)


class Specializations(unittest.TestCase):
    def setUp(self):
        self.model = temper.load(MODELS / "several.so")
        self.addCleanup(self.model.close)

    def run_rows(self, n, **more):
        result = self.model.run({"x": np.full((n, 2), 2, np.float32), **more})
        self.assertEqual(result["y"].shape, (n, 2))
        return float(result["y"][0, 0]), int(result["tag"])

    def test_describes_all_and_each(self):
        model = self.model
        self.assertEqual(model.inputs, (temper.Tensor("x", np.dtype("float32"), (-1, 2)),))
        self.assertEqual(model.optional_inputs, (temper.Tensor("s", np.dtype("float32"), (1,)),))
        self.assertEqual([t.shape for t in model.outputs], [(-1, 2), ()])
        self.assertEqual([s.inputs[0].shape for s in model.specializations], [(1, 2), (3, 2)])
        self.assertEqual([s.outputs[0].shape for s in model.specializations], [(1, 2), (3, 2)])

    def test_picks_by_shape_and_by_optional_inputs(self):
        s = np.array([5], np.float32)
        for _ in range(2):
            self.assertEqual(self.run_rows(1), (20, 0))
            self.assertEqual(self.run_rows(3), (20, 1))
            self.assertEqual(self.run_rows(1, s=s), (10, 2))
            self.assertEqual(self.run_rows(3, s=[5]), (10, 3))
        self.assertEqual(self.model.run([np.ones((1, 2), np.float32)])["tag"], 0)

    def test_profiles_what_is_picked(self):
        steps = self.model.profile({"x": np.ones((3, 2), np.float32)}, runs=3)
        self.assertEqual([s.nodes for s in steps], [("scale,all", "s1")])

    def test_refusals(self):
        with self.assertRaises(temper.Error) as caught:
            self.run_rows(2)
        self.assertIn("'x' [2, 2] fit none", str(caught.exception))
        self.assertIn("'x' [1, 2]; 'x' [3, 2]", str(caught.exception))
        with self.assertRaisesRegex(temper.Error, r"'x' \[3\] fit none .*'x' \[1, 2\]; 'x' \[3, 2\]"):
            self.model.run({"x": np.ones(3, np.float32)})
        with self.assertRaisesRegex(temper.Error, r"'s' is float32\[2\]"):
            self.run_rows(1, s=np.ones(2, np.float32))
        with self.assertRaisesRegex(temper.Error, "unknown input 't'.*may be given 's'"):
            self.run_rows(1, t=1)
        with self.assertRaisesRegex(temper.Error, "'x' is float64"):
            self.model.run({"x": np.ones((1, 2))})


if __name__ == "__main__":
    unittest.main()
