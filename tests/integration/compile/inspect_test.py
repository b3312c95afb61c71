"""`temper inspect --kernel` and `temper bench --profile` on compiled models and databases."""

import hashlib
import json
import re
import tempfile
import unittest

import networks
from programs import run


class Inspect(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.model = networks.save(cls.folder, "residual")
        cls.compiled = f"{cls.folder}/residual.so"
        run("compile", cls.model, "-o", cls.compiled)
        cls.kernels = json.loads(run("inspect", cls.compiled, "--json").stdout)["kernels"]

    def test_kernels_of_a_compiled_model(self):
        for kernel in self.kernels:
            self.assertTrue(kernel["nodes"], kernel)
            self.assertTrue(kernel["name"], kernel)
        for hash in {k["workload"] for k in self.kernels}:
            shown = json.loads(run("inspect", self.compiled, "--kernel", hash, "--json").stdout)
            self.assertEqual(shown["workload"], hash)
            self.assertEqual(hashlib.sha256(shown["program"].encode()).hexdigest(), hash)
            self.assertIn("temper-schedule", shown["schedule"])
            self.assertIn("func ", shown["tir"])
            self.assertIn("kernel:", shown["asm"])
            self.assertGreater(shown["us"], 0)
            self.assertGreater(shown["peak_gflops"], 0)

    def test_parts(self):
        convolution = next(k for k in self.kernels if "Conv" in k["name"])["workload"]
        words = {"--schedule": "stage 0", "--tir": "func ", "--asm": ".text"}
        for flag, word in words.items():
            text = run("inspect", self.compiled, "--kernel", convolution[:16], flag).stdout
            self.assertIn(word, text)
            self.assertIn(convolution, text.splitlines()[0])
            self.assertIn("of this machine's peak", text)
            for other in set(words.values()) - {word}:
                self.assertNotIn(other, text)

    def test_kernel_of_a_model_that_is_not_compiled(self):
        hash = self.kernels[0]["workload"]
        text = run("inspect", self.model, "--kernel", hash[:16], "--schedule").stdout
        self.assertIn("temper-schedule", text)

    def test_kernel_of_a_database(self):
        shown = json.loads(run("inspect", self.compiled, "--kernel", self.kernels[0]["workload"],
                               "--json").stdout)
        schedule = "".join(shown["schedule"].splitlines())
        record = {
            "temper_record": 1, "workload": shown["workload"], "target": shown["fingerprint"],
            "threads": 1, "numerics": "strict",
            "schedule_hash": "1" * 64,
            "workload_text": shown["program"], "task": "a task", "flops": shown["flops"],
            "micro_architecture": "m", "target_text": shown["target_text"],
            "schedule": schedule, "outcome": "ok", "detail": "", "median_us": 10.0,
            "samples": [10.0], "spread": 0, "control_us": 50, "drift": 1, "worker": "w",
            "compiler_version": "c", "features_version": 1, "seed": 1, "unsandboxed": False,
            "created_ms": 1}
        lines, database = f"{self.folder}/r.jsonl", f"{self.folder}/tuning.db"
        with open(lines, "w") as file:
            file.write(json.dumps(record))
        refused = run("db", "import", "--db", database, lines, expect=1).stderr
        record["schedule_hash"] = re.search("[0-9a-f]{64}", refused).group()
        with open(lines, "w") as file:
            file.write(json.dumps(record))
        run("db", "import", "--db", database, lines)
        found = json.loads(run("inspect", "--db", database, "--kernel", shown["workload"][:10],
                               "--json").stdout)
        self.assertEqual(found["us"], 10)
        self.assertEqual(found["asm"], shown["asm"])
        text = run("inspect", "--db", database, "--kernel", shown["workload"][:10]).stdout
        self.assertIn("the best of 1 trials, by w", text)
        # What is known for others than were asked for is named.
        for flags in [["--threads", "2"], ["--target", "x86-64-v3"]]:
            error = run("inspect", "--db", database, "--kernel", shown["workload"][:10], *flags,
                        expect=1).stderr
            self.assertIn("--threads 1, target " + shown["fingerprint"], error)
        error = run("inspect", "--db", database, "--kernel", "0" * 64, expect=1).stderr
        self.assertIn(shown["workload"] + " a task", error)
        run("inspect", self.model, "--schedules", "--db", database)
        known = json.loads(run("query", "--db", database, "--json").stdout.splitlines()[-1])
        for key in ["workload", "target", "best_us", "gflops", "trials", "schedule", "worker",
                    "created"]:
            self.assertIn(key, known["records"][0])
        report = json.loads(run("compile", self.model, "-o", f"{self.folder}/tuned.so", "--db",
                                database, "--json").stdout.splitlines()[-1])
        for key in ["seconds", "arena_bytes", "weight_bytes"]:
            self.assertIn(key, report)
        tuned = [k for k in report["kernels"] if k["workload"] == shown["workload"]]
        self.assertEqual({k["source"] for k in tuned}, {"exact"})
        self.assertEqual({k["expected_us"] for k in tuned}, {10})

    def test_errors(self):
        hash = self.kernels[0]["workload"]
        absent = "0" * 64
        for arguments, words in [
                ([self.compiled, "--kernel", absent], ["no kernel", hash[:12]]),
                ([self.model, "--kernel", absent], ["no kernel", hash[:12]]),
                (["--db", f"{self.folder}/none.db", "--kernel", hash], ["none.db"])]:
            error = run("inspect", *arguments, expect=1).stderr
            for word in words:
                self.assertIn(word, error)
        for arguments in [[], ["--kernel", hash], [self.compiled, "--kernel", "xyz"],
                          [self.compiled, "--kernel", ""], [self.compiled, "--asm"]]:
            run("inspect", *arguments, expect=2)

    def test_profile(self):
        shown = json.loads(run("bench", self.compiled, "--seconds", "0.3", "--profile",
                               "--json").stdout)
        self.assertEqual(len(shown["kernels"]), len(self.kernels))
        for kernel in shown["kernels"]:
            self.assertTrue(kernel["nodes"])
            self.assertIn(kernel["bound_by"], ["compute", "L1", "L2", "L3", "memory"])
            for key in ["median_us", "share", "bytes", "bound_us", "roofline_share"]:
                self.assertGreater(kernel[key], 0, f"{key} of {kernel}")
            self.assertLessEqual(kernel["weight_bytes"], kernel["bytes"])
            self.assertEqual(kernel["multiply_adds"] * 2, kernel["flops"])
        self.assertAlmostEqual(sum(k["share"] for k in shown["kernels"]), 1)
        for key in ["peak_gflops", "L1_gbytes_per_second", "memory_gbytes_per_second"]:
            self.assertGreater(shown["machine"][key], 0)
        for key in ["arena_bytes", "weight_bytes", "peak_rss_bytes"]:
            self.assertGreater(shown["memory"][key], 0)
        text = run("bench", self.compiled, "--seconds", "0.1", "--profile").stdout
        for word in ["of bound", "machine:", "memory:", "median"]:
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main()
