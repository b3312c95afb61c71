"""Checks the shape of the source tree: who may include whom, and a few limits.

The table below is that of docs/architecture.md. Run as `include_direction_test.py ROOT`; ctest
does. The checker itself is tested on small made-up trees, so that it cannot pass by seeing nothing.
"""

import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MAX_LINES = 800
SOURCES = (".h", ".cc", ".c", ".inc")

_TIR = ["base", "compiler/target", "compiler/tir"]
_LOWER = _TIR + ["compiler/te", "compiler/schedule", "compiler/lower"]
_OPS = _TIR + ["compiler/graph", "compiler/te", "compiler/ops"]

# Folder -> folders and files that it may include, itself aside. The longest matching folder counts.
MAY_INCLUDE = {
    "base": [],
    "proto": [],
    "deploy": [],
    "compiler/target": ["base"],
    "compiler/tir": _TIR,
    "compiler/te": _TIR,
    "compiler/schedule": _LOWER,
    "compiler/lower": _LOWER,
    "compiler/graph": ["base", "compiler/target"],
    "compiler/ops": _OPS,
    "compiler/codegen": _LOWER + ["deploy/runtime/abi.h"],
    "compiler/import": ["base", "compiler/target", "compiler/graph"],
    "compiler/partition": _OPS + ["costmodel", "compiler/schedule"],
    "compiler/wire": _TIR + ["proto", "compiler/te", "compiler/schedule"],
    "costmodel": _TIR,
    "db": ["proto", "base"],
    # tuner/search and below pick a schedule by the cost model where no record has one.
    "compiler/driver": ["base", "compiler", "costmodel", "db", "proto", "deploy/runtime",
                        "tuner/search", "tuner/space"],
    # tuner/client speaks to a server; worker/sandbox tells `temper doctor` whether jails work.
    "compiler/tools": ["base", "compiler", "costmodel", "db", "proto", "deploy/runtime",
                       "tuner/search", "tuner/space", "tuner/client", "worker/sandbox"],
    "tuner": _LOWER + ["costmodel", "compiler/wire", "db", "proto", "tuner"],
    # compiler/target, because a worker says which device it is.
    "worker": ["proto", "base", "deploy/runtime", "compiler/target", "worker"],
}

# (what, pattern of the header, where it may be included, in how many files at most)
CONFINED = [
    ("LLVM", r"(llvm|llvm-c|lld|clang)/", r"compiler/codegen/llvm/[^/]+\.cc$", None),
    ("XGBoost", r"xgboost/", r".*\.cc$", 1),
    ("SQLite", r"sqlite3", r".*\.cc$", 1),
    ("gRPC", r"(grpc|grpcpp|grpc\+\+)/|.*\.grpc\.pb\.h$",
     r"(tuner/server|tuner/fleet|tuner/client|worker/agent|compiler/tools)/", None),
]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


def matches(path, prefix):
    return path == prefix or path.startswith(prefix + "/")


def module_of(path):
    """The folder that the table speaks of: compiler/te of compiler/te/program.h."""
    parts = os.path.dirname(path).split("/")
    deep = parts[0] in ("compiler", "tuner", "worker", "deploy")
    return "/".join(parts[: 2 if deep else 1])


def allowed_for(module):
    known = [folder for folder in MAY_INCLUDE if matches(module, folder)]
    return MAY_INCLUDE[max(known, key=len)] if known else None


def find_cycle(edges):
    """A list of folders that include each other in turn, or None."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        for successor in sorted(edges.get(node, ())):
            cycle = visit(successor)
            if cycle:
                return cycle
        path.pop()
        done.add(node)
        return None

    for start in sorted(edges):
        cycle = visit(start)
        if cycle:
            return cycle
    return None


def check_direction(tree):
    """Faults of the quoted includes. `tree`: path -> text."""
    faults, edges = [], {}
    for path, text in sorted(tree.items()):
        if not path.endswith(SOURCES):
            continue
        module = module_of(path)
        in_tests = matches(path, "tests")
        allowed = allowed_for(module)
        if allowed is None and not in_tests:
            faults.append(f"{path}: {module} is not in the table of {os.path.basename(__file__)}")
            continue
        for quoted, _ in INCLUDE.findall(text):
            if not quoted:
                continue
            # x.pb.h and x.grpc.pb.h are made of x.proto at build.
            proto = re.sub(r"(\.grpc)?\.pb\.h$", ".proto", quoted)
            generated = proto != quoted and proto in tree
            if quoted not in tree and (matches(path, "deploy")
                                       or matches(path, "tests/outside_project")):
                # Public headers are installed together, into any folder; the other stands for a
                # project that lies anywhere.
                quoted = os.path.dirname(path) + "/" + quoted
            if quoted not in tree and not generated:
                faults.append(f'{path}: no file "{quoted}"; includes start at the root')
                continue
            if in_tests:
                continue
            target = module_of(quoted)
            if target == module:
                continue
            edges.setdefault(module, set()).add(target)
            if not any(matches(quoted, prefix) for prefix in allowed):
                faults.append(f'{path}: {module} may not include "{quoted}"')
    cycle = find_cycle(edges)
    if cycle:
        faults.append("folders include each other in a cycle: " + " -> ".join(cycle))
    return faults


def check_confined(tree):
    """Faults of libraries' headers that are seen where they should not be; tests may."""
    faults = []
    for what, header, where, most in CONFINED:
        users = []
        for path, text in sorted(tree.items()):
            if not path.endswith(SOURCES) or matches(path, "tests"):
                continue
            if any(re.match(header, a or b) for a, b in INCLUDE.findall(text)):
                users.append(path)
        faults += [f"{p}: headers of {what} may not be included here"
                   for p in users if not re.match(where, p)]
        if most is not None and len(users) > most:
            faults.append(f"headers of {what} are for {most} file, not for: {', '.join(users)}")
    return faults


def check_sizes(tree):
    return [f"{path}: {lines} lines, more than {MAX_LINES}: split it"
            for path, text in sorted(tree.items()) if path.endswith(SOURCES)
            for lines in [text.count("\n")] if lines > MAX_LINES]


def check_readmes(tree):
    folders = {os.path.dirname(path) for path in tree
               if path.endswith(SOURCES) and not matches(path, "tests")}
    return [f"{folder}: there is no README.md" for folder in sorted(folders)
            if folder + "/README.md" not in tree]


def read_tree(root):
    tree = {}
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build"))
                            and f != "__pycache__" and not f.endswith(".egg-info"))
        for name in files:
            if name.endswith(SOURCES + (".proto",)) or name == "README.md":
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    tree[os.path.relpath(path, root)] = file.read()
    return tree


class CheckerTest(unittest.TestCase):
    """The checker finds what it should, on made-up trees."""

    def assert_fault(self, faults, part):
        self.assertTrue(any(part in fault for fault in faults), f"{part!r} not in {faults}")

    def test_good_tree(self):
        tree = {
            "base/a.h": "#include <vector>\n",
            "compiler/tir/b.h": '#include "base/a.h"\n#include "compiler/tir/c.h"\n',
            "compiler/tir/c.h": "",
            "compiler/codegen/llvm/d.cc": "#include <llvm/IR/Module.h>\n"
                                          '#include "deploy/runtime/abi.h"\n',
            "deploy/runtime/abi.h": "",
            "proto/x.proto": "",
            "tuner/server/e.cc": '#include "proto/x.grpc.pb.h"\n#include <grpcpp/grpcpp.h>\n',
            "tests/f.cc": '#include "compiler/tir/b.h"\n#include "base/a.h"\n',
        }
        self.assertEqual(check_direction(tree) + check_confined(tree), [])

    def test_upward_include(self):
        tree = {"base/a.h": '#include "compiler/tir/b.h"\n', "compiler/tir/b.h": ""}
        self.assert_fault(check_direction(tree), 'base may not include "compiler/tir/b.h"')

    def test_single_file_permission(self):
        tree = {"compiler/codegen/a.cc": '#include "deploy/runtime/pack.h"\n',
                "deploy/runtime/pack.h": ""}
        self.assert_fault(check_direction(tree), "may not include")

    def test_worker_stays_apart(self):
        for header in ("compiler/codegen/x.h", "tuner/search/x.h", "costmodel/x.h", "db/x.h"):
            tree = {"worker/agent/a.cc": f'#include "{header}"\n', header: ""}
            self.assert_fault(check_direction(tree), f'may not include "{header}"')

    def test_similar_names_are_not_the_same(self):
        tree = {"compiler/tir/a.h": '#include "baseline/b.h"\n', "baseline/b.h": ""}
        faults = check_direction(tree)
        self.assert_fault(faults, 'may not include "baseline/b.h"')
        self.assert_fault(faults, "baseline is not in the table")

    def test_cycle_between_folders_that_may_include_each_other(self):
        tree = {"tuner/space/a.h": '#include "tuner/search/b.h"\n',
                "tuner/search/b.h": '  #  include "tuner/space/c.h"\n', "tuner/space/c.h": ""}
        self.assert_fault(check_direction(tree), "cycle: tuner/search -> tuner/space -> ")

    def test_installed_headers_may_name_their_neighbours(self):
        tree = {"deploy/runtime/temper.h": '#include "abi.h"\n', "deploy/runtime/abi.h": ""}
        self.assertEqual(check_direction(tree), [])
        self.assert_fault(check_direction({"deploy/runtime/temper.h": '#include "abi.h"\n'}),
                          "no file")

    def test_missing_file(self):
        self.assert_fault(check_direction({"db/a.h": '#include "proto/x.pb.h"\n'}), "no file")
        self.assert_fault(check_direction({"base/a.h": '#include "b.h"\n'}), 'no file "b.h"')

    def test_sources_do_not_include_tests(self):
        tree = {"base/a.h": '#include "tests/b.h"\n', "tests/b.h": ""}
        self.assert_fault(check_direction(tree), 'may not include "tests/b.h"')

    def test_confined_headers(self):
        for path, header in [("compiler/codegen/llvm/a.h", "llvm/IR/Value.h"),
                             ("compiler/tir/a.cc", "llvm-c/Core.h"),
                             ("tuner/search/a.cc", "grpcpp/grpcpp.h"),
                             ("db/a.h", "sqlite3.h"),
                             ("costmodel/a.h", "xgboost/c_api.h")]:
            self.assert_fault(check_confined({path: f"#include <{header}>\n"}), path)
            self.assert_fault(check_confined({path: f'#include "{header}"\n'}), path)

    def test_one_file_only(self):
        tree = {"db/a.cc": "#include <sqlite3.h>\n", "db/b.cc": "#include <sqlite3.h>\n"}
        self.assert_fault(check_confined(tree), "db/a.cc, db/b.cc")
        self.assertEqual(check_confined({"db/a.cc": "#include <sqlite3.h>\n",
                                         "tests/db/b.cc": "#include <sqlite3.h>\n"}), [])

    def test_sizes_and_readmes(self):
        self.assert_fault(check_sizes({"base/a.cc": "\n" * 801}), "801 lines")
        self.assertEqual(check_sizes({"base/a.cc": "\n" * 800}), [])
        self.assert_fault(check_readmes({"base/a.cc": ""}), "base: there is no README.md")
        self.assertEqual(check_readmes({"base/a.cc": "", "base/README.md": "", "tests/b.cc": ""}),
                         [])


class SourceTreeTest(unittest.TestCase):
    """The real tree has no fault."""

    @classmethod
    def setUpClass(cls):
        cls.tree = read_tree(ROOT)

    def assert_none(self, faults):
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_tree_was_read(self):
        self.assertIn("base/status.h", self.tree)
        self.assertGreater(len(self.tree), 30)

    def test_direction(self):
        self.assert_none(check_direction(self.tree))

    def test_confined(self):
        self.assert_none(check_confined(self.tree))

    def test_sizes(self):
        self.assert_none(check_sizes(self.tree))

    def test_readmes(self):
        self.assert_none(check_readmes(self.tree))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        ROOT = os.path.abspath(sys.argv.pop(1))
    unittest.main()
