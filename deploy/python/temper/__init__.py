"""Runs models that `temper compile` wrote, on numpy arrays.

    import temper
    with temper.load("model.so", threads=1) as model:
        result = model.run({"x": array})       # {"y": array}

`load` opens a compiled model. A `Model` runs on one thread at a time (a lock sees to it);
`Model.clone` makes another that shares the weights. Whatever goes wrong raises `Error`.
"""

from temper._library import Error
from temper._model import Model, Specialization, Step, Tensor, load, runtime_version

__all__ = ["Error", "Model", "Specialization", "Step", "Tensor", "load", "runtime_version"]
__version__ = "0.1.0"
