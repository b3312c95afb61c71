"""Wrong usage and bad input of `temper`: one clear message, the right exit status, no abort."""

import fcntl
import hashlib
import json
import os
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import time
import unittest

import networks
import numpy as np

BIN = os.environ["TEMPER_BIN"]
TEMPER = f"{BIN}/temper"


def record(number):
    """A record of a failed candidate as `temper db import` reads it."""
    workload = "a workload"
    digest = hashlib.sha256(workload.encode())
    # As schedule::ScheduleHash: the workload, the alternative, the threads and two empty lists.
    identity = digest.digest() + struct.pack("<4q", number, 1, 0, 0)
    schedule = f"temper-schedule 1 workload={digest.hexdigest()} alternative={number} threads=1;"
    return json.dumps({
        "temper_record": 1, "workload": hashlib.sha256(workload.encode()).hexdigest(),
        "target": "0123456789abcdef", "threads": 1, "numerics": "strict",
        "schedule_hash": hashlib.sha256(identity).hexdigest(),
        "workload_text": workload, "task": "a task", "flops": 1.0, "micro_architecture": "m",
        "target_text": "t", "schedule": schedule + " " * 500,
        "outcome": "build_failed", "detail": "", "median_us": 0, "samples": [], "spread": 0,
        "control_us": 0, "drift": 1, "worker": "w", "compiler_version": "c",
        "features_version": 1, "seed": 1, "unsandboxed": False, "created_ms": 1}) + "\n"


class Errors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = f"{self.folder}/out.so"

    def temper(self, *arguments):
        return subprocess.run([TEMPER, *arguments], capture_output=True, text=True, timeout=120)

    def fails(self, code, words, *arguments):
        return self.fails_of("temper", code, words, *arguments)

    def fails_of(self, program, code, words, *arguments):
        done = subprocess.run([f"{BIN}/{program}", *arguments], capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, code, f"{program} {arguments}: {done.stderr}")
        for word in words:
            self.assertIn(word, done.stderr, f"{program} {arguments}")
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

        for verb in ["stats", "check", "export", "import", "merge"]:
            self.assertIn(f"temper db {verb} --db", self.temper("db", verb, "--help").stdout)
        for program in ["tuner-server", "measure-worker"]:
            done = subprocess.run([f"{BIN}/{program}", "--help"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0)
            self.assertIn(f"Example: {program}", done.stdout)

    def test_wrong_usage(self):
        self.fails(2, ["frobnicate", "compile, run"], "frobnicate")
        self.fails(2, ["temper db", "frobnicate", "export"], "db", "frobnicate")
        self.fails(2, ["--output"], "compile", "m.onnx")
        self.fails(2, ["--threads"], "compile", "m.onnx", "-o", self.out, "--threads", "0")
        self.fails(2, ["z80", "native"], "compile", "m.onnx", "-o", self.out, "--target", "z80")
        self.fails(2, ["--shape", "nonsense"], "compile", "m.onnx", "-o", self.out, "--shape",
                   "nonsense")
        self.fails(2, ["no_such_pass", "dead_code"], "compile", "m.onnx", "-o", self.out,
                   "--print-after", "no_such_pass")
        self.fails(2, ["no_such_pass", "dead_code"], "compile", "m.onnx", "-o", self.out,
                   "--disable-pass", "no_such_pass")
        self.fails(2, ["--time", "2400h"], "tune", "m.onnx", "--time", "99999h")
        self.fails(2, ["--db", "--server"], "query")
        self.fails(2, ["db"], "db")
        self.fails(2, ["NAME=@FILE"], "run", "m.so", "--input", "x")

    def test_numbers_out_of_range(self):
        for bad in ["nan", "inf", "-inf", "-1", "0", "1e9", "x", ""]:
            self.fails(2, ["--seconds"], "bench", "m.so", "--seconds", bad)
        for bad in ["nan", "inf", "-1"]:
            self.fails(2, ["--tolerance"], "run", "m.so", "--tolerance", bad)
        for bad in ["nan", "-1", "0", "1.5", "1e3", "257", "99999999999999999999"]:
            self.fails(2, ["--threads"], "compile", "m.onnx", "-o", self.out, "--threads", bad)
            self.fails(2, ["--threads"], "tune", "m.onnx", "--threads", bad)
            self.fails(2, ["--threads"], "query", "--db", "x.db", "--threads", bad)
            self.fails(2, ["--threads"], "inspect", "m.onnx", "--threads", bad)
        for bad in ["nan", "-1", "0", "1.5", "99999999999999999999"]:
            self.fails(2, ["--trials"], "tune", "m.onnx", "--trials", bad)
        for bad in ["nan", "inf", "-1", "0", "5 m", "1e99h"]:
            self.fails(2, ["--time"], "tune", "m.onnx", "--time", bad)
        for bad in ["-1", "x", "1.5"]:
            self.fails(2, ["--seed"], "tune", "m.onnx", "--seed", bad)
        for bad in ["-1", "x", "1.5", "70000"]:
            self.fails_of("measure-worker", 2, ["--cores"], "--cores", bad)
        for bad in ["-1", "0", "nan", "1025"]:
            self.fails_of("measure-worker", 2, ["--threads"], "--threads", bad)
        self.fails_of("measure-worker", 2, ["--cores"], "--cores", "0,0", "--threads", "2")

    def test_malformed_addresses(self):
        for bad in ["foo", "", ":7400", "h:", "127.0.0.1:99999", "127.0.0.1:0", "http://h:1", "a b:1"]:
            for arguments in [["devices"], ["query"], ["tune", "m.onnx"],
                              ["compile", "m.onnx", "-o", self.out]]:
                self.fails(2, ["--server", f'"{bad}"'], *arguments, "--server", bad)
            self.fails_of("measure-worker", 2, ["--server", f'"{bad}"'], "--server", bad)
        for bad in ["foo", "127.0.0.1:99999"]:
            self.fails_of("tuner-server", 2, ["--listen"], "--listen", bad, "--db", "x.db")

    def test_files_that_are_no_models(self):
        good = networks.save(self.folder, "residual")
        with open(good, "rb") as file:
            data = file.read()
        for name, content in [("empty.onnx", b""), ("text.onnx", b"this is no model\n" * 99),
                              ("cut.onnx", data[: len(data) // 2])]:
            path = self.file(name, content)
            self.fails(1, [name], "compile", path, "-o", self.out)
            self.fails(1, [name], "inspect", path)
        self.fails(1, ["bad.so", "not a compiled model"], "inspect", self.file("bad.so", b"no model" * 99))
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

    def test_import_and_merge_make_the_database(self):
        old, new = f"{self.folder}/old.db", f"{self.folder}/new.db"
        self.fails(1, ["none.jsonl"], "db", "import", "--db", new, f"{self.folder}/none.jsonl")
        self.fails(1, [self.folder], "db", "import", "--db", new, self.folder)
        self.fails(1, ["none.db"], "db", "merge", "--db", new, f"{self.folder}/none.db")
        self.assertFalse(os.path.exists(new))
        empty = self.file("empty.jsonl", b"")
        self.assertEqual(self.temper("db", "import", "--db", old, empty).returncode, 0)
        self.assertEqual(self.temper("db", "merge", "--db", new, old).returncode, 0)
        self.fails(2, ["itself"], "db", "merge", "--db", new, new)
        copy = f"{self.folder}/copy/tuning.db"
        os.mkdir(os.path.dirname(copy))
        shutil.copy(new, copy)
        done = self.temper("query", "--db", copy, "--json")
        self.assertEqual(json.loads(done.stdout.splitlines()[-1]), {"records": []})
        self.assertEqual(os.listdir(os.path.dirname(copy)), ["tuning.db"])

    def test_export_of_a_damaged_database(self):
        database = f"{self.folder}/damaged.db"
        lines = self.file("lines.jsonl", "".join(record(i) for i in range(300)).encode())
        self.assertEqual(self.temper("db", "import", "--db", database, lines).returncode, 0)
        with open(database, "r+b") as file:
            pages = os.path.getsize(database) // 4096
            file.seek(4096 * (pages // 2))
            file.write(b"\xa5" * 8192)
        done = self.temper("db", "export", "--db", database)
        exported = done.stdout.splitlines()
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("damaged.db is damaged", done.stderr)
        self.assertGreater(len(exported), 200)
        self.assertLess(len(exported), 300)
        mended = f"{self.folder}/mended.db"
        saved = self.file("saved.jsonl", done.stdout.encode())
        done = self.temper("db", "import", "--db", mended, saved, "--json")
        self.assertEqual(json.loads(done.stdout)["added"], len(exported))

    def test_export_never_replaces_its_database(self):
        database = f"{self.folder}/a.db"
        lines = self.file("lines.jsonl", "".join(record(i) for i in range(3)).encode())
        self.assertEqual(self.temper("db", "import", "--db", database, lines).returncode, 0)
        with open(database, "rb") as file:
            before = file.read()
        os.symlink(database, f"{self.folder}/link.db")
        for output in [database, f"{self.folder}/link.db", f"{self.folder}/./a.db"]:
            self.fails(2, ["a.db", "would replace"], "db", "export", "--db", database, "-o", output)
            with open(database, "rb") as file:
                self.assertEqual(file.read(), before)
        pipe = f"{self.folder}/pipe"
        os.mkfifo(pipe)
        self.fails(1, ["pipe", "not a regular file"], "db", "export", "--db", database, "-o", pipe)
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))
        self.assertEqual(self.temper("db", "export", "--db", database, "-o", lines).returncode, 0)
        with open(lines) as file:
            self.assertEqual(len(file.readlines()), 3)
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith(".temper")], [])

    def test_compile_never_replaces_what_it_reads(self):
        path = networks.save(self.folder, "plumbing")
        database = f"{self.folder}/x.db"
        self.assertEqual(self.temper("db", "import", "--db", database,
                                     self.file("none.jsonl", b"")).returncode, 0)
        for kept in [path, database]:
            with open(kept, "rb") as file:
                before = file.read()
            self.fails(2, [kept, "would replace"], "compile", path, "--db", database, "-o", kept)
            with open(kept, "rb") as file:
                self.assertEqual(file.read(), before)
        pipe = f"{self.folder}/pipe"
        os.mkfifo(pipe)
        self.fails(1, ["pipe", "not a regular file"], "compile", path, "-o", pipe)
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))

    def test_an_interrupted_compile_leaves_nothing(self):
        b = networks.Builder()
        y = b.input("x", [1, 8, 40, 40])
        for i in range(40):  # distinct kernels: some seconds of work
            y = b.conv(y, 8 + i, 9 + i, 3)
        b.output(y)
        path = self.file("long.onnx", b.model("long").SerializeToString())
        folder = f"{self.folder}/results"
        os.mkdir(folder)
        for end in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
            done = subprocess.Popen([TEMPER, "compile", path, "-o", f"{folder}/m.so"])
            while not os.listdir(folder) and done.poll() is None:
                time.sleep(0.01)
            done.send_signal(end)
            self.assertEqual(done.wait(60), -end)
            self.assertEqual(os.listdir(folder), [])

    def test_export_of_what_cannot_be_read(self):
        database = f"{self.folder}/cut.db"
        lines = self.file("lines.jsonl", "".join(record(i) for i in range(300)).encode())
        self.assertEqual(self.temper("db", "import", "--db", database, lines).returncode, 0)
        os.truncate(database, os.path.getsize(database) // 3 // 4096 * 4096)
        done = self.temper("db", "export", "--db", database)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cut.db is damaged", done.stderr)
        self.assertNotIn("save what can be read", done.stderr)

    def test_stats_say_why_candidates_failed(self):
        database = f"{self.folder}/f.db"
        records = [json.loads(record(i)) for i in range(4)]
        for number, one in enumerate(records[:3]):
            one["detail"] = f"a tile of {number}x16 spills"
        records[3].update(outcome="crashed", detail="ended by signal 11 (SIGSEGV)\x1b[2J")
        lines = self.file("f.jsonl", "".join(json.dumps(r) + "\n" for r in records).encode())
        self.assertEqual(self.temper("db", "import", "--db", database, lines).returncode, 0)
        text = self.temper("db", "stats", "--db", database).stdout
        self.assertRegex(text, r"build_failed +3\n +3  a tile of NxN spills\n")
        self.assertRegex(text, r"crashed +1\n +1  ended by signal N \(SIGSEGV\)\\x1b\[NJ\n")
        shown = json.loads(self.temper("db", "stats", "--db", database, "--json").stdout)
        self.assertEqual(shown["reasons"]["build_failed"],
                         [{"reason": "a tile of NxN spills", "records": 3}])

    def test_import_refuses_records_without_a_schedule(self):
        bad = json.loads(record(1))
        bad["schedule"] = "garbage"
        other = json.loads(record(2))
        other["schedule_hash"] = json.loads(record(3))["schedule_hash"]
        lines = [json.dumps(bad), json.dumps(other)] + ["x"] * 23
        path = self.file("bad.jsonl", ("\n".join(lines) + "\n").encode())
        database = f"{self.folder}/b.db"
        self.fails(1, ["line 1: \"schedule\"", "line 2: \"schedule_hash\"", "and 5 more"],
                   "db", "import", "--db", database, path)
        stats = self.temper("db", "stats", "--db", database, "--json")
        self.assertEqual(json.loads(stats.stdout)["records"], 0)

    def test_doctor_without_a_free_core(self):
        locks = f"{self.folder}/locks"
        os.mkdir(locks)
        held = []
        for core in os.sched_getaffinity(0):
            held.append(open(f"{locks}/core-{core}.lock", "w"))
            fcntl.flock(held[-1], fcntl.LOCK_EX)
        done = subprocess.run([TEMPER, "doctor"], capture_output=True, text=True, timeout=60,
                              env=os.environ | {"TEMPER_CORE_LOCKS": locks})
        self.assertEqual(done.returncode, 1)
        self.assertIn("no core is free", done.stderr)
        for file in held:
            file.close()

    def test_node_names_are_escaped(self):
        b = networks.Builder()
        b.node("Relu", [b.input("x", [4])], ["y"])
        b.output("y")
        b.nodes[0].name = "two\nlines"
        path = self.file("name.onnx", b.model("name").SerializeToString())
        shown = self.temper("inspect", path).stdout
        self.assertIn("two\\nlines", shown)
        self.assertNotIn("two\nlines", shown)
        b.nodes[0].op_type = "Frobnicate"
        path = self.file("name.onnx", b.model("name").SerializeToString())
        self.fails(1, ["'two\\nlines'"], "inspect", path)

    def test_a_wrongly_declared_output_is_told(self):
        for shape, words in [([5], ["'y'", "float32[5]", "float32[4]"]), ([4], []), (["n"], [])]:
            b = networks.Builder()
            b.node("Relu", [b.input("x", [4])], ["y"])
            b.output("y", shape=shape)
            path = self.file("declared.onnx", b.model("declared").SerializeToString())
            done = self.temper("compile", path, "-o", f"{self.folder}/declared.so")
            self.assertEqual(done.returncode, 0)
            for word in words:
                self.assertIn(word, done.stderr)
            self.assertEqual("is declared as" in done.stderr, bool(words), done.stderr)

    def test_options_of_models_on_a_compiled_one(self):
        path = networks.save(self.folder, "plumbing")
        compiled = f"{self.folder}/m.so"
        self.assertEqual(self.temper("compile", path, "-o", compiled).returncode, 0)
        self.fails(2, ["--shape", "m.so is compiled"], "inspect", compiled, "--shape", "x=1")
        self.fails(2, ["--print-after", "m.so is compiled"], "inspect", compiled, "--print-after",
                   "import")

    def test_local_tuning_shows_why_the_server_ends(self):
        path = networks.save(self.folder, "plumbing")
        no_database = self.file("no.db", b"x" * 4096)
        done = self.fails(1, ["no.db is not a tuning database"], "tune", path, "--local", "--db",
                          no_database, "--trials", "1")
        self.assertNotIn("where it listens", done.stderr)

    def test_server_that_is_not_there(self):
        path = networks.save(self.folder, "plumbing")
        for arguments in [["devices"], ["query"], ["compile", path, "-o", self.out]]:
            self.fails(1, ["127.0.0.1:1", "tuner-server"], *arguments, "--server", "127.0.0.1:1")

    def test_require_tuned_lists_what_is_missing(self):
        path = networks.save(self.folder, "residual")
        self.fails(1, ["Conv", "temper tune"], "compile", path, "-o", self.out, "--require-tuned")

    def test_tensors_that_no_memory_holds(self):
        b = networks.Builder(1)
        x = b.input("x", [1 << 20, 1 << 18])
        b.output(b.node("Relu", [x], ["y"]))
        compiled = f"{self.folder}/huge.so"
        path = self.file("huge.onnx", b.model("huge").SerializeToString())
        report = self.temper("compile", path, "-o", compiled, "--json")
        self.assertEqual(report.returncode, 0, report.stderr)
        kernel = json.loads(report.stdout)["kernels"][0]["workload"]
        self.fails(1, ["no memory", "x float32"], "bench", compiled)
        self.fails(1, ["no memory", "x float32"], "inspect", compiled, "--kernel", kernel)
        b = networks.Builder(1)
        x = b.input("x", [1])
        shape = b.constant(np.array([1 << 20, 1 << 20], np.int64))
        b.output(b.node("Expand", [x, shape], ["y"]))
        path = self.file("wide.onnx", b.model("wide").SerializeToString())
        self.assertEqual(self.temper("compile", path, "-o", compiled).returncode, 0)
        np.save(f"{self.folder}/x.npy", np.zeros(1, np.float32))
        self.fails(1, ["no memory", "y float32"], "run", compiled, "--input",
                   f"x=@{self.folder}/x.npy")

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
