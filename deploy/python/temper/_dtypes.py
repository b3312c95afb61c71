"""Element types: DLPack's on the library's side, numpy's on the user's."""

import numpy as np

from temper._library import Error

_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6

_NUMPY = {
    (_FLOAT, 16): "float16",
    (_FLOAT, 32): "float32",
    (_FLOAT, 64): "float64",
    (_INT, 8): "int8",
    (_INT, 16): "int16",
    (_INT, 32): "int32",
    (_INT, 64): "int64",
    (_UINT, 8): "uint8",
    (_UINT, 16): "uint16",
    (_UINT, 32): "uint32",
    (_UINT, 64): "uint64",
    (_BOOL, 8): "bool",
}

# Types that numpy lacks, with the names of the package ml_dtypes.
_ML_DTYPES = {
    (_BFLOAT, 16): "bfloat16",
    (10, 8): "float8_e4m3fn",
    (11, 8): "float8_e4m3fnuz",
    (12, 8): "float8_e5m2",
    (13, 8): "float8_e5m2fnuz",
}


def numpy_dtype(dtype):
    """The numpy dtype of a DLDataType. Raises Error for one that needs ml_dtypes without it."""
    key = (dtype.code, dtype.bits)
    if key in _NUMPY:
        return np.dtype(_NUMPY[key])
    if key not in _ML_DTYPES:
        raise Error(f"the model has tensors of an unknown type (code {key[0]}, {key[1]} bits)")
    try:
        import ml_dtypes
    except ImportError:
        raise Error(
            f"the model has tensors of {_ML_DTYPES[key]}, for which numpy needs the package "
            "ml_dtypes: python3 -m pip install ml_dtypes"
        ) from None
    return np.dtype(getattr(ml_dtypes, _ML_DTYPES[key]))
