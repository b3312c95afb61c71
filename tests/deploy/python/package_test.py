"""The package as pip installs it: the library compiled into it, and found there."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve()
PACKAGE = HERE.parents[3] / "deploy" / "python"
TOY = pathlib.Path(os.environ["TEMPER_TEST_MODELS"]) / "toy_model.so"


def python(code, **environment):
    """Runs code in a fresh interpreter that knows only the given variables of the package."""
    own = ("PYTHONPATH", "TEMPER_LIBRARY_DIR")
    clean = {k: v for k, v in os.environ.items() if k not in own}
    return subprocess.run(
        [sys.executable, "-c", code], env={**clean, **environment}, capture_output=True, text=True
    )


class Library(unittest.TestCase):
    def test_missing_library(self):
        with tempfile.TemporaryDirectory() as folder:
            result = python(
                "import temper\ntry: temper.load('x.so')\nexcept temper.Error as e: print(e)",
                PYTHONPATH=str(PACKAGE),
                TEMPER_LIBRARY_DIR=folder,
            )
        self.assertIn(f"no runtime library {folder}/libtemper.so", result.stdout, result.stderr)
        self.assertIn("TEMPER_LIBRARY_DIR", result.stdout)

    def test_damaged_library(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "libtemper.so").write_text("not a library")
            result = python(
                "import temper\ntry: temper.load('x.so')\nexcept temper.Error as e: print(e)",
                PYTHONPATH=str(PACKAGE),
                TEMPER_LIBRARY_DIR=folder,
            )
        self.assertIn("cannot use the runtime library", result.stdout, result.stderr)


class Build(unittest.TestCase):
    def build(self, target, **environment):
        """Builds the package into `target` with setup.py, as pip does, leaving the checkout be."""
        code = (
            "import setuptools, sys\n"
            f"sys.argv = ['setup.py', '-q', 'egg_info', '--egg-base', {str(target)!r}, "
            f"'build_py', '--build-lib', {str(target)!r}]\n"
            "exec(compile(open('setup.py').read(), 'setup.py', 'exec'), "
            "{'__name__': '__main__', '__file__': 'setup.py'})"
        )
        return subprocess.run(
            [sys.executable, "-c", code],
            cwd=PACKAGE,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )

    def setUp(self):
        if importlib.util.find_spec("setuptools") is None:
            self.fail("the Python of the tests needs setuptools and wheel")

    def test_compiles_the_library_into_the_package(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.build(folder)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue((pathlib.Path(folder) / "temper" / "libtemper.so").exists())
            result = python(
                f"import temper\nm = temper.load({str(TOY)!r})\n"
                "print(temper.__file__, [t.name for t in m.inputs])",
                PYTHONPATH=folder,
            )
            self.assertIn(folder, result.stdout, result.stderr)
            self.assertIn("['x', 'b', 'k']", result.stdout)

    def test_says_what_to_install_without_a_compiler(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.build(folder, CC="no-such-compiler")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("no C compiler 'no-such-compiler': install gcc or set CC", result.stderr)


if __name__ == "__main__":
    unittest.main()
