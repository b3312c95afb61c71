"""Models: opening, describing, running, profiling."""

import ctypes
import operator
import os
import threading
from collections import namedtuple

import numpy as np

from temper._dtypes import numpy_dtype
from temper._library import CPU, DLTensor, Error, last_error, load_library

Tensor = namedtuple("Tensor", "name dtype shape")
Tensor.__doc__ = """One input or output of a model.

name: str; dtype: numpy.dtype; shape: tuple of int, -1 (outputs only) where an extent is known
after the run only.
"""

Step = namedtuple("Step", "nodes workload source schedule expected_us flops bytes us")
Step.__doc__ = """One kernel call of a model.

nodes: tuple of the source model's node names; workload: its hash; source: where the schedule came
from (exact, similar, model or prior); schedule: its text; expected_us: microseconds, 0 where not
known; flops: operations, a multiply-add counting two; bytes: read and written at least; us: median
microseconds measured by `Model.profile`.
"""

_library = None
_library_lock = threading.Lock()


def _runtime():
    """The library, loaded at first use, so that importing the package cannot fail."""
    global _library
    with _library_lock:
        if _library is None:
            _library = load_library()
        return _library


def runtime_version():
    """The version of the runtime library in use, such as "0.1.0"."""
    return _runtime().temper_version().decode()


def load(path, threads=1):
    """Opens a model that `temper compile` wrote.

    path: str or path-like. threads: how many a run may use, 0 for one per core.
    Returns a Model. Raises Error where the file is missing, is no compiled model, or was compiled
    for another CPU or by a newer compiler.
    """
    library = _runtime()
    try:
        threads = operator.index(threads)
    except TypeError:
        raise Error(f"threads is {threads!r}: must be a whole number") from None
    if not -1 <= threads <= 1 << 30:  # would wrap around in C
        raise Error(f"{threads} threads: must be 1 to 1024, or 0 for one per core")
    handle = ctypes.c_void_p()
    if library.temper_open(os.fsencode(path), threads, ctypes.byref(handle)):
        raise last_error(library)
    return Model(library, handle.value)


class _Slots:
    """The C array of tensors of a model's inputs, or outputs, filled anew by each run."""

    def __init__(self, infos):
        self.tensors = (DLTensor * len(infos))()
        self.pointers = (ctypes.POINTER(DLTensor) * len(infos))()
        self.specs = []  # (name, dtype, max_shape) by position
        self.described = []
        self.shapes = []  # C arrays that `tensors` point to
        for i, info in enumerate(infos):
            name = info.name.decode("utf-8", "replace")
            dtype = numpy_dtype(info.dtype)
            shape = tuple(info.shape[d] for d in range(info.ndim))
            max_shape = tuple(info.max_shape[d] for d in range(info.ndim))
            c_shape = (ctypes.c_int64 * info.ndim)(*max_shape)
            tensor = self.tensors[i]
            tensor.device_type = CPU
            tensor.ndim = info.ndim
            tensor.dtype = info.dtype
            tensor.shape = ctypes.cast(c_shape, ctypes.POINTER(ctypes.c_int64))
            self.pointers[i] = ctypes.pointer(tensor)
            self.specs.append((name, dtype, max_shape))
            self.described.append(Tensor(name, dtype, shape))
            self.shapes.append(c_shape)


class Model:
    """A compiled model, made by `load` or `clone`.

    inputs, outputs: tuples of Tensor, in the model's order. threads: how many a run uses.
    compiled_threads: how many its schedules were chosen for. target, producer: str.
    arena_bytes, weight_bytes: bytes of scratch memory (each clone's own) and of weights (shared).

    Usable as a context manager, which closes it. Runs on one thread at a time; calls from several
    wait for each other. The interpreter's lock is released while a model runs.
    """

    def __init__(self, library, handle):
        self._library = library
        self._handle = handle
        self._lock = threading.Lock()
        try:
            self._in = _Slots(self._infos("input"))
            self._out = _Slots(self._infos("output"))
        except Error:
            self.close()
            raise
        self._names = [name for name, _, _ in self._in.specs]
        self._dynamic = [i for i, t in enumerate(self._out.described) if -1 in t.shape]
        self.inputs = tuple(self._in.described)
        self.outputs = tuple(self._out.described)
        self.threads = library.temper_threads(handle)
        self.compiled_threads = library.temper_compiled_threads(handle)
        self.target = library.temper_target(handle).decode("utf-8", "replace")
        self.producer = library.temper_producer(handle).decode("utf-8", "replace")
        self.arena_bytes = library.temper_arena_bytes(handle)
        self.weight_bytes = library.temper_weight_bytes(handle)

    def _infos(self, kind):
        count = getattr(self._library, f"temper_{kind}_count")(self._handle)
        get = getattr(self._library, f"temper_{kind}")
        return [get(self._handle, i).contents for i in range(count)]

    def run(self, inputs, outputs=None):
        """Runs the model once.

        inputs: {name: array}, or a list or tuple of arrays in the order of `self.inputs`; each
        with the dtype and shape that `self.inputs` states. Arrays that are not contiguous are
        copied; numbers and nested lists are converted.
        outputs: None, or {name: array} with contiguous arrays to write some of the outputs to,
        which share no memory with the inputs or each other; a -1 of the shape takes the largest
        extent, and what is returned is the part that was written.
        Returns {name: array} of all outputs: those given, else new ones, owned by the caller.
        Raises Error for a missing or unknown name, a wrong dtype or shape, or a closed model.
        """
        with self._lock:
            return self._run(inputs, outputs, None)

    def profile(self, inputs, runs=10):
        """Runs the model `runs` times, after one that does not count, timing every step.

        inputs: as for `run`. Returns a list of Step, in the order of execution. The sum of the
        steps exceeds the time of `run` a little, by the reading of the clock between them.
        """
        if runs < 1:
            raise Error(f"{runs} runs: must be 1 or more")
        with self._lock:
            self._check_open()
            count = self._library.temper_step_count(self._handle)
            times = np.zeros((runs + 1, count))
            pointer = ctypes.POINTER(ctypes.c_double)
            for row in times:
                self._run(inputs, None, row.ctypes.data_as(pointer))
            median = np.median(times[1:], axis=0)
            return [self._step(i, float(median[i])) for i in range(count)]

    def _step(self, i, us):
        info = self._library.temper_step(self._handle, i).contents
        text = [
            (t or b"").decode("utf-8", "replace")
            for t in (info.nodes, info.workload, info.source, info.schedule)
        ]
        nodes = tuple(text[0].split(",")) if text[0] else ()
        return Step(nodes, *text[1:], info.expected_us, info.flops, info.bytes, us)

    def clone(self):
        """A Model over the same weights, with scratch memory and threads of its own."""
        with self._lock:
            self._check_open()
            handle = ctypes.c_void_p()
            if self._library.temper_clone(self._handle, ctypes.byref(handle)):
                raise last_error(self._library)
        return Model(self._library, handle.value)

    def close(self):
        """Frees the model. Closing twice is harmless; every other call then raises Error."""
        with self._lock:
            handle, self._handle = self._handle, None
            if handle is not None:
                self._library.temper_close(handle)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None) is not None:
            self._library.temper_close(self._handle)

    def __repr__(self):
        names = ", ".join(f"{t.name}: {t.dtype}{list(t.shape)}" for t in self.inputs)
        results = ", ".join(f"{t.name}: {t.dtype}{list(t.shape)}" for t in self.outputs)
        return f"<temper.Model {names} -> {results}, {self.threads} threads>"

    def _check_open(self):
        if self._handle is None:
            raise Error("the model is closed")

    def _run(self, inputs, outputs, us):
        self._check_open()
        keep = self._set_inputs(inputs)
        results = self._set_outputs(outputs)
        library = self._library
        if us is None:
            status = library.temper_run(self._handle, self._in.pointers, self._out.pointers)
        else:
            status = library.temper_run_step_times(
                self._handle, self._in.pointers, self._out.pointers, us
            )
        del keep  # alive until here: the library read from it
        if status:
            raise last_error(library)
        for i in self._dynamic:
            self._cut(i, results)
        return results

    def _set_inputs(self, inputs):
        """Points the input slots at the arrays; returns what must outlive the call."""
        arrays = self._in_order(inputs)
        keep = []
        wrong = []
        tensors = self._in.tensors
        for i, (name, dtype, shape) in enumerate(self._in.specs):
            array = arrays[i]
            if not isinstance(array, np.ndarray):
                array = _as_array(array, dtype)
            if array.dtype != dtype or array.shape != shape:
                wrong.append(_mismatch("input", name, dtype, shape, array))
                continue
            if not array.flags.c_contiguous:
                array = np.ascontiguousarray(array).reshape(shape)
            keep.append(array)
            tensors[i].data = array.__array_interface__["data"][0]
        if wrong:
            raise Error(" ".join(wrong))
        return keep

    def _in_order(self, inputs):
        names = self._names
        if isinstance(inputs, (list, tuple)):
            if len(inputs) != len(names):
                raise Error(f"{len(inputs)} inputs for {len(names)}: the model takes {self._takes()}.")
            return inputs
        try:
            arrays = [inputs[name] for name in names]
        except (KeyError, TypeError, IndexError):
            arrays = None
        if arrays is None or len(inputs) != len(names):
            raise self._wrong_names(inputs)
        return arrays

    def _wrong_names(self, inputs):
        if not hasattr(inputs, "keys"):
            return Error(
                f"inputs are a {type(inputs).__name__}; give {{name: array}} or a list of arrays. "
                f"The model takes {self._takes()}."
            )
        missing = [n for n in self._names if n not in inputs]
        unknown = [n for n in inputs if n not in self._names]
        what = [f"missing input {_list(missing)}"] if missing else []
        what += [f"unknown input {_list(unknown)}"] if unknown else []
        given = _list(inputs) if len(inputs) else "none"
        return Error(f"{'; '.join(what)}; given: {given}. The model takes {self._takes()}.")

    def _takes(self):
        return ", ".join(_describe(*spec) for spec in self._in.specs)

    def _set_outputs(self, outputs):
        """Points the output slots at given or new arrays, which it returns by name."""
        if outputs is not None:
            unknown = [n for n in outputs if n not in [s[0] for s in self._out.specs]]
            if unknown:
                names = [s[0] for s in self._out.specs]
                raise Error(f"unknown output {_list(unknown)}: the model's are {_list(names)}")
        results = {}
        tensors = self._out.tensors
        for i, (name, dtype, shape) in enumerate(self._out.specs):
            array = None if outputs is None else outputs.get(name)
            if array is None:
                array = np.empty(shape, dtype)
            else:
                _check_output(name, dtype, shape, array)
            results[name] = array
            tensors[i].data = array.__array_interface__["data"][0]
        for i in self._dynamic:
            self._out.shapes[i][:] = self._out.specs[i][2]
        return results

    def _cut(self, i, results):
        """Reduces an output from the room it was given to the extents it has."""
        name, _, _ = self._out.specs[i]
        shape = tuple(self._out.shapes[i])
        array = results[name]
        if shape != array.shape:
            # The elements lie dense at the start of the room.
            results[name] = array.reshape(-1)[: int(np.prod(shape))].reshape(shape)


def _list(names):
    return ", ".join(repr(n) for n in names)


def _as_array(value, dtype):
    """Numbers and lists take the model's dtype; another library's arrays keep theirs."""
    try:
        if hasattr(value, "dtype"):
            return np.asarray(value)
        return np.asarray(value, dtype=dtype)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise Error(f"cannot make an array of a {type(value).__name__}: {error}") from None


def _describe(name, dtype, shape):
    return f"{name!r}: {dtype}{list(shape)}"


def _mismatch(kind, name, dtype, shape, array):
    text = (
        f"{kind} {name!r} is {array.dtype}{list(array.shape)}; the model has {dtype}{list(shape)}."
    )
    if array.dtype != dtype:
        text += f" Convert it with .astype({str(dtype)!r})."
    return text


def _check_output(name, dtype, shape, array):
    if not isinstance(array, np.ndarray):
        raise Error(f"output {name!r} is a {type(array).__name__}; it must be a numpy array")
    if array.dtype != dtype or array.shape != shape:
        raise Error(_mismatch("output", name, dtype, shape, array))
    if not array.flags.c_contiguous or not array.flags.writeable:
        raise Error(f"output {name!r} must be contiguous and writeable")
