"""Wrong usage and bad input of `temper`: one clear message, the right exit status, no abort."""

import os
import subprocess
import tempfile
import unittest

import networks
import numpy as np

TEMPER = os.environ["TEMPER_BIN"] + "/temper"


class Errors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = f"{self.folder}/out.so"

    def temper(self, *arguments):
        return subprocess.run([TEMPER, *arguments], capture_output=True, text=True, timeout=120)

    def fails(self, code, words, *arguments):
        done = self.temper(*arguments)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse(os.path.exists(self.out))
        return done

    def file(self, name, data):
        path = f"{self.folder}/{name}"
        with open(path, "wb") as file:
            file.write(data)
        return path

    def test_no_verb(self):
        done = self.temper()
        self.assertEqual(done.returncode, 2)
        self.assertIn("compile", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_help_of_every_verb_has_an_example(self):
        verbs = ["compile", "run", "bench", "query", "db", "devices", "doctor", "inspect", "tune"]
        for verb in verbs:
            done = self.temper(verb, "--help")
            self.assertEqual(done.returncode, 0, verb)
            self.assertIn(f"Example:\n  temper {verb}", done.stdout)
            self.assertEqual(done.stderr, "")

    def test_wrong_usage(self):
        self.fails(2, ["frobnicate"], "frobnicate")
        self.fails(2, ["--output"], "compile", "m.onnx")
        self.fails(2, ["--threads"], "compile", "m.onnx", "-o", self.out, "--threads", "0")
        self.fails(2, ["z80", "native"], "compile", "m.onnx", "-o", self.out, "--target", "z80")
        self.fails(2, ["--shape", "nonsense"], "compile", "m.onnx", "-o", self.out, "--shape",
                   "nonsense")
        self.fails(2, ["no_such_pass", "dead_code"], "compile", "m.onnx", "-o", self.out,
                   "--print-after", "no_such_pass")
        self.fails(2, ["--db", "--server"], "query")
        self.fails(2, ["db"], "db")
        self.fails(2, ["NAME=@FILE"], "run", "m.so", "--input", "x")

    def test_files_that_are_no_models(self):
        good = networks.save(self.folder, "residual")
        with open(good, "rb") as file:
            data = file.read()
        for name, content in [("empty.onnx", b""), ("text.onnx", b"this is no model\n" * 99),
                              ("cut.onnx", data[: len(data) // 2])]:
            path = self.file(name, content)
            self.fails(1, [name], "compile", path, "-o", self.out)
            self.fails(1, [name], "inspect", path)
        self.fails(1, ["absent.onnx"], "compile", f"{self.folder}/absent.onnx", "-o", self.out)
        self.fails(1, [self.folder], "compile", self.folder, "-o", self.out)
        self.fails(1, ["text.onnx"], "bench", f"{self.folder}/text.onnx")
        self.fails(1, ["absent.so"], "bench", f"{self.folder}/absent.so")

    def test_output_that_cannot_be_written(self):
        good = networks.save(self.folder, "plumbing")
        self.fails(1, ["no/such/folder"], "compile", good, "-o", "no/such/folder/m.so")
        self.fails(1, ["cannot write"], "compile", good, "-o", self.folder)

    def test_shapes(self):
        path = networks.save(self.folder, "open_batch")
        self.fails(1, ["batch", "pixels", "--shape"], "compile", path, "-o", self.out)
        self.fails(1, ["pixels"], "compile", path, "-o", self.out, "--shape", "pixels=1x3x8")
        self.fails(1, ["pixels"], "compile", path, "-o", self.out, "--shape", "pixels=1x4x8x8")
        self.fails(1, ["voxels", "pixels"], "compile", path, "-o", self.out, "--shape",
                   "voxels=1x3x8x8")

    def test_unknown_operators_are_all_named(self):
        b = networks.Builder()
        x = b.input("x", [1, 4])
        y = b.node("Frobnicate", [x])
        b.node("Defrobnicate", [y], ["y"])
        b.output("y")
        path = self.file("unknown.onnx", b.model("unknown").SerializeToString())
        self.fails(1, ["Frobnicate", "Defrobnicate", "n0_Frobnicate", "n1_Defrobnicate"],
                   "compile", path, "-o", self.out)

    def test_databases(self):
        path = networks.save(self.folder, "plumbing")
        absent = f"{self.folder}/absent.db"
        self.fails(1, ["absent.db"], "compile", path, "-o", self.out, "--db", absent)
        self.fails(1, ["absent.db"], "query", "--db", absent)
        self.fails(1, ["absent.db"], "db", "stats", "--db", absent)
        no_database = self.file("no.db", b"x" * 4096)
        self.fails(1, ["no.db"], "db", "check", "--db", no_database)
        self.fails(1, ["no.db"], "compile", path, "-o", self.out, "--db", no_database)
        self.assertFalse(os.path.exists(absent))

    def test_server_that_is_not_there(self):
        path = networks.save(self.folder, "plumbing")
        for arguments in [["devices"], ["query"], ["compile", path, "-o", self.out]]:
            self.fails(1, ["127.0.0.1:1", "tuner-server"], *arguments, "--server", "127.0.0.1:1")

    def test_require_tuned_lists_what_is_missing(self):
        path = networks.save(self.folder, "residual")
        self.fails(1, ["Conv", "temper tune"], "compile", path, "-o", self.out, "--require-tuned")

    def test_inputs_of_run(self):
        path = networks.save(self.folder, "plumbing")
        compiled = f"{self.folder}/m.so"
        self.assertEqual(self.temper("compile", path, "-o", compiled).returncode, 0)
        np.save(f"{self.folder}/wrong.npy", np.zeros((2, 3), np.float32))
        np.save(f"{self.folder}/x.npy", np.zeros((2, 3, 4), np.float32))
        text = self.file("text.npy", b"not an array")
        self.fails(1, ["input x"], "run", compiled)
        self.fails(1, ["wrong.npy", "[2,3,4]"], "run", compiled, "--input",
                   f"x=@{self.folder}/wrong.npy")
        self.fails(1, ["text.npy"], "run", compiled, "--input", f"x=@{text}")
        self.fails(1, ["\"q\"", "x float32"], "run", compiled, "--input", f"q=@{text}")
        self.fails(1, ["\"q\"", "positive"], "run", compiled, "--input", f"x=@{self.folder}/x.npy",
                   "--expect", f"q=@{text}")


if __name__ == "__main__":
    unittest.main()
