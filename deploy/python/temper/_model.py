"""Models: opening, describing, running, profiling."""

import ctypes
import operator
import os
import re
import threading
from collections import namedtuple

import numpy as np

from temper._dtypes import numpy_dtype
from temper._library import CPU, DLTensor, Error, last_error, load_library

Tensor = namedtuple("Tensor", "name dtype shape")
Tensor.__doc__ = """One input or output of a model.

name: str; dtype: numpy.dtype; shape: tuple of int, -1 where an extent is known after the run only
(outputs) or where the model was compiled for several (`Model.specializations` lists them).
"""

Specialization = namedtuple("Specialization", "inputs outputs")
Specialization.__doc__ = """One of the sets of shapes that a model was compiled for.

inputs, outputs: tuples of Tensor.
"""

Step = namedtuple("Step", "nodes workload source schedule expected_us flops bytes us")
Step.__doc__ = """One kernel call of a model.

nodes: tuple of the source model's node names; workload: its hash; source: where the schedule came
from (exact, similar, model or prior); schedule: its text; expected_us: microseconds, 0 where not
known; flops: operations, a multiply-add counting two; bytes: read and written at least; us: median
microseconds measured by `Model.profile`.
"""

_NO_DEFAULTS = (
    "To give an initializer of the source model, compile it with --overridable NAME, "
    "or, from IR version 4 on, without --no-overridable."
)

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
    """The C array of tensors of some inputs or outputs, filled anew by each run."""

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
        self.dynamic = [i for i, t in enumerate(self.described) if -1 in t.shape]

    def point(self, i, array):
        self.tensors[i].data = array.__array_interface__["data"][0]


class _Specialization:
    """What a run with inputs of certain shapes needs."""

    def __init__(self, model, info):
        library, handle = model._library, model._handle
        self.inputs = _Slots([info.inputs[i] for i in range(library.temper_input_count(handle))])
        count = library.temper_optional_count(handle)
        self.optional = _Slots([info.optional[i] for i in range(count)])
        self.no_optional = (ctypes.POINTER(DLTensor) * count)()
        self.outputs = _Slots([info.outputs[i] for i in range(library.temper_output_count(handle))])
        self.fixed_defaults = bool(info.fixed_defaults)
        self.steps = [info.steps[i] for i in range(info.step_count)]


class Model:
    """A compiled model, made by `load` or `clone`.

    inputs, outputs: tuples of Tensor, in the model's order. optional_inputs: those that a run may
    leave out, because the model has a default for them. specializations: tuple of Specialization,
    the sets of shapes that the model was compiled for, of which a run uses the one that its inputs
    fit. threads: how many a run uses.
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
            required = _Slots(self._infos("input"))
            optional = _Slots(self._infos("optional"))
            outputs = _Slots(self._infos("output"))
            count = library.temper_specialization_count(handle)
            get = library.temper_specialization
            self._all = [_Specialization(self, get(handle, k).contents) for k in range(count)]
        except Error:
            self.close()
            raise
        self._specs = required.specs
        self._names = [name for name, _, _ in required.specs]
        self._optional_names = {name: i for i, (name, _, _) in enumerate(optional.specs)}
        self._by_shape = {}  # specializations for runs without optional inputs
        for s in reversed(self._all):
            shapes = tuple(shape for _, _, shape in s.inputs.specs)
            self._by_shape[shapes] = s
        self.inputs = tuple(required.described)
        self.optional_inputs = tuple(optional.described)
        self.outputs = tuple(outputs.described)
        shown = [s for s in self._all if s.fixed_defaults or not self._optional_names]
        self.specializations = tuple(
            Specialization(tuple(s.inputs.described), tuple(s.outputs.described))
            for s in shown or self._all
        )
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
        with the dtype and shape that `self.inputs` states, together those of one of
        `self.specializations`. Of `self.optional_inputs` any may be given by name in this run's
        place of their default. Arrays that are not contiguous are copied; numbers and nested
        lists are converted.
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
            times = []
            self._run(inputs, None, times)
            first = len(times)
            times.clear()
            for _ in range(runs):
                steps = self._run(inputs, None, times)
            median = np.median(np.reshape(times, (runs, first)), axis=0)
            return [_step(info, float(us)) for info, us in zip(steps, median)]

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

    def _run(self, inputs, outputs, times):
        """Runs; with a list of times, appends each step's and returns the steps instead."""
        self._check_open()
        arrays, optional = self._in_order(inputs)
        chosen, keep = self._set_inputs(arrays, optional)
        results = self._set_outputs(chosen, outputs)
        us = None if times is None else (ctypes.c_double * (len(chosen.steps) + 1))()
        status = self._library.temper_run_with(
            self._handle,
            chosen.inputs.pointers,
            chosen.no_optional,
            chosen.outputs.pointers,
            us,
        )
        del keep  # alive until here: the library read from it
        if status:
            raise last_error(self._library)
        if times is not None:
            times.extend(us[: len(chosen.steps)])
            return chosen.steps
        for i in chosen.outputs.dynamic:
            _cut(chosen.outputs, i, results)
        return results

    def _set_inputs(self, arrays, optional):
        """Chooses by the arrays and points its slots at them; returns both."""
        arrays = [
            array if isinstance(array, np.ndarray) else _as_array(array, dtype)
            for array, (_, dtype, _) in zip(arrays, self._specs)
        ]
        chosen = self._by_shape.get(tuple(array.shape for array in arrays))
        if optional or chosen is None:
            chosen = self._choose(arrays, optional)
        wrong = [
            _mismatch("input", name, dtype, shape, array)
            for array, (name, dtype, shape) in zip(arrays, chosen.inputs.specs)
            if array.dtype != dtype or array.shape != shape
        ]
        if wrong:
            raise Error(" ".join(wrong))
        keep = [_dense(array) for array in arrays]
        for i, array in enumerate(keep):
            chosen.inputs.point(i, array)
        for i in range(len(chosen.no_optional)):
            chosen.no_optional[i] = None
        for i, array in optional.items():
            name, dtype, shape = chosen.optional.specs[i]
            if array.dtype != dtype or array.shape != shape:
                raise Error(_mismatch("input", name, dtype, shape, array))
            keep.append(_dense(array))
            chosen.optional.point(i, keep[-1])
            chosen.no_optional[i] = chosen.optional.pointers[i]
        return chosen, keep

    def _choose(self, arrays, optional):
        """The specialization for these arrays; an Error that lists all where there is none."""
        shapes = tuple(array.shape for array in arrays)
        for s in self._all:
            if optional and s.fixed_defaults:
                continue
            if len(self._by_shape) == 1 or tuple(x for _, _, x in s.inputs.specs) == shapes:
                return s
        for array, tensor in zip(arrays, self.inputs):
            # The extents that vary are listed below, for all inputs together.
            fits = -1 in tensor.shape or array.shape == tensor.shape
            if not fits or array.dtype != tensor.dtype:
                raise Error(_mismatch("input", tensor.name, tensor.dtype, tensor.shape, array))
        given = ", ".join(f"{n!r} {list(s)}" for n, s in zip(self._names, shapes))
        known = "; ".join(
            ", ".join(f"{t.name!r} {list(t.shape)}" for t in s.inputs)
            for s in self.specializations
        )
        raise Error(
            f"the inputs {given} fit none of the shapes that the model was compiled for: {known}. "
            "Give it one of them, or compile it with a further --shape."
        )

    def _in_order(self, inputs):
        """The arrays of the inputs in their order, and those of optional ones by number."""
        names = self._names
        if isinstance(inputs, (list, tuple)):
            if len(inputs) != len(names):
                raise Error(f"{len(inputs)} inputs for {len(names)}: the model takes {self._takes()}.")
            return inputs, {}
        try:
            arrays = [inputs[name] for name in names]
        except (KeyError, TypeError, IndexError):
            raise self._wrong_names(inputs) from None
        if len(inputs) == len(names):
            return arrays, {}
        optional = {}
        for name in inputs:
            i = self._optional_names.get(name)
            if i is not None:
                array = inputs[name]
                if not isinstance(array, np.ndarray):
                    array = _as_array(array, self._all[0].optional.specs[i][1])
                optional[i] = array
        if len(inputs) != len(names) + len(optional):
            raise self._wrong_names(inputs)
        return arrays, optional

    def _wrong_names(self, inputs):
        if not hasattr(inputs, "keys"):
            return Error(
                f"inputs are a {type(inputs).__name__}; give {{name: array}} or a list of arrays. "
                f"The model takes {self._takes()}."
            )
        missing = [n for n in self._names if n not in inputs]
        unknown = [n for n in inputs if n not in self._names and n not in self._optional_names]
        what = [f"missing input {_list(missing)}"] if missing else []
        what += [f"unknown input {_list(unknown)}"] if unknown else []
        given = _list(inputs) if len(inputs) else "none"
        text = f"{'; '.join(what)}; given: {given}. The model takes {self._takes()}."
        if unknown and not self.optional_inputs:
            text += " " + _NO_DEFAULTS
        return Error(text)

    def _takes(self):
        text = ", ".join(_describe(*t) for t in self.inputs)
        if self.optional_inputs:
            text += "; and may be given " + ", ".join(_describe(*t) for t in self.optional_inputs)
        return text

    def _set_outputs(self, chosen, outputs):
        """Points the output slots at given or new arrays, which it returns by name."""
        slots = chosen.outputs
        if outputs is not None:
            names = [s[0] for s in slots.specs]
            unknown = [n for n in outputs if n not in names]
            if unknown:
                raise Error(f"unknown output {_list(unknown)}: the model's are {_list(names)}")
        results = {}
        for i, (name, dtype, shape) in enumerate(slots.specs):
            array = None if outputs is None else outputs.get(name)
            if array is None:
                array = np.empty(shape, dtype)
            else:
                _check_output(name, dtype, shape, array)
            results[name] = array
            slots.point(i, array)
        for i in slots.dynamic:
            slots.shapes[i][:] = slots.specs[i][2]
        return results


def _cut(slots, i, results):
    """Reduces an output from the room it was given to the extents it has."""
    name, _, _ = slots.specs[i]
    shape = tuple(slots.shapes[i])
    array = results[name]
    if shape != array.shape:
        # The elements lie dense at the start of the room.
        results[name] = array.reshape(-1)[: int(np.prod(shape))].reshape(shape)


def _dense(array):
    if array.flags.c_contiguous:
        return array
    return np.ascontiguousarray(array).reshape(array.shape)


def _step(info, us):
    text = [
        (t or b"").decode("utf-8", "replace")
        for t in (info.nodes, info.workload, info.source, info.schedule)
    ]
    return Step(_split_names(text[0]), *text[1:], info.expected_us, info.flops, info.bytes, us)


def _split_names(text):
    """Names joined by commas, with a backslash before a comma or backslash of a name."""
    names = [""] if text else []
    for token in re.findall(r"\\[,\\]|.", text, re.DOTALL):
        if token == ",":
            names.append("")
        else:
            names[-1] += token[-1]
    return tuple(names)


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
