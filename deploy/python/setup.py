"""Compiles the runtime library, ../runtime, into the package; pyproject.toml has all else.

The C compiler is $CC, or cc. The wheel is for one platform and any Python 3, as the library is
loaded with ctypes.
"""

import os
import pathlib
import shlex
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1 it was part of the package wheel
    try:
        from wheel.bdist_wheel import bdist_wheel
    except ImportError:
        bdist_wheel = None  # the package can still be built, but no wheel of it

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RUNTIME = ROOT / "deploy" / "runtime"


def compile_runtime(library):
    sources = sorted(str(s) for s in RUNTIME.glob("*.c"))
    if not sources:
        raise SystemExit(
            f"{RUNTIME} has no C sources: install from a checkout of the whole repository, "
            "python3 -m pip install ./deploy/python"
        )
    compiler = shlex.split(os.environ.get("CC", "cc"))
    flags = ["-std=c11", "-O2", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden"]
    command = compiler + flags + [f"-I{ROOT}", "-o", str(library)] + sources + ["-ldl", "-lm"]
    try:
        subprocess.run(command, check=True)
    except FileNotFoundError:
        raise SystemExit(f"no C compiler {compiler[0]!r}: install gcc or set CC") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"the runtime did not compile: {shlex.join(error.cmd)}") from None


class BuildWithRuntime(build_py):
    def run(self):
        super().run()
        # An editable install runs from the checkout, any other from what is built.
        folder = HERE if getattr(self, "editable_mode", False) else pathlib.Path(self.build_lib)
        package = folder / "temper"
        package.mkdir(parents=True, exist_ok=True)
        compile_runtime(package / "libtemper.so")

    def get_outputs(self, include_bytecode=1):
        outputs = super().get_outputs(include_bytecode)
        if getattr(self, "editable_mode", False):
            return outputs
        return outputs + [os.path.join(self.build_lib, "temper", "libtemper.so")]


COMMANDS = {"build_py": BuildWithRuntime}

if bdist_wheel:

    class PlatformWheel(bdist_wheel):
        def finalize_options(self):
            super().finalize_options()
            self.root_is_pure = False

        def get_tag(self):
            return "py3", "none", super().get_tag()[2]

    COMMANDS["bdist_wheel"] = PlatformWheel

setup(cmdclass=COMMANDS)
