"""The C interface of the runtime library, deploy/runtime/temper.h, as ctypes sees it."""

import ctypes
import os
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_void_p

LIBRARY_NAME = "libtemper.so"


class Error(Exception):
    """What the runtime refused or could not do; the message says why and what to do next."""


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class TensorInfo(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("dtype", DLDataType),
        ("ndim", c_int),
        ("shape", POINTER(c_int64)),
        ("max_shape", POINTER(c_int64)),
    ]


class StepInfo(ctypes.Structure):
    _fields_ = [
        ("nodes", c_char_p),
        ("workload", c_char_p),
        ("source", c_char_p),
        ("schedule", c_char_p),
        ("expected_us", c_double),
        ("flops", c_double),
        ("bytes", c_int64),
    ]


class SpecializationInfo(ctypes.Structure):
    _fields_ = [
        ("inputs", POINTER(TensorInfo)),
        ("optional", POINTER(TensorInfo)),
        ("outputs", POINTER(TensorInfo)),
        ("fixed_defaults", c_int),
        ("steps", POINTER(StepInfo)),
        ("step_count", c_int),
        ("arena_bytes", c_int64),
    ]


CPU = 1  # kDLCPU

_TENSORS = POINTER(POINTER(DLTensor))

# name: (result, arguments); models are c_void_p.
_FUNCTIONS = {
    "temper_version": (c_char_p, []),
    "temper_open": (c_int, [c_char_p, c_int, POINTER(c_void_p)]),
    "temper_close": (None, [c_void_p]),
    "temper_clone": (c_int, [c_void_p, POINTER(c_void_p)]),
    "temper_error": (c_char_p, []),
    "temper_input_count": (c_int, [c_void_p]),
    "temper_input": (POINTER(TensorInfo), [c_void_p, c_int]),
    "temper_output_count": (c_int, [c_void_p]),
    "temper_output": (POINTER(TensorInfo), [c_void_p, c_int]),
    "temper_optional_count": (c_int, [c_void_p]),
    "temper_optional": (POINTER(TensorInfo), [c_void_p, c_int]),
    "temper_specialization_count": (c_int, [c_void_p]),
    "temper_specialization": (POINTER(SpecializationInfo), [c_void_p, c_int]),
    "temper_choose": (c_int, [c_void_p, _TENSORS, _TENSORS]),
    "temper_run": (c_int, [c_void_p, _TENSORS, _TENSORS]),
    "temper_run_with": (c_int, [c_void_p, _TENSORS, _TENSORS, _TENSORS, POINTER(c_double)]),
    "temper_threads": (c_int, [c_void_p]),
    "temper_compiled_threads": (c_int, [c_void_p]),
    "temper_target": (c_char_p, [c_void_p]),
    "temper_producer": (c_char_p, [c_void_p]),
    "temper_arena_bytes": (c_int64, [c_void_p]),
    "temper_weight_bytes": (c_int64, [c_void_p]),
}


def load_library():
    """Loads libtemper.so of the folder TEMPER_LIBRARY_DIR, else of this package.

    Raises Error where it is missing or cannot be loaded.
    """
    own = os.path.dirname(os.path.abspath(__file__))
    folder = os.environ.get("TEMPER_LIBRARY_DIR") or own
    path = os.path.join(folder, LIBRARY_NAME)
    if not os.path.exists(path):
        raise Error(
            f"no runtime library {path}. Install the package with pip (python3 -m pip install "
            "./deploy/python, in the checkout), or set TEMPER_LIBRARY_DIR to the folder that has "
            f"{LIBRARY_NAME}."
        )
    try:
        library = ctypes.CDLL(path)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype = result
            function.argtypes = arguments
    except (OSError, AttributeError) as error:
        raise Error(f"cannot use the runtime library {path}: {error}") from None
    return library


def last_error(library):
    """The Error to raise after a call of the library that failed on this thread."""
    return Error(library.temper_error().decode("utf-8", "replace"))
