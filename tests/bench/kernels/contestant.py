"""One runtime in a process of its own: contestant.py RUNTIME THREADS FEEDS.npz MODEL...

RUNTIME is temper (whose models are compiled), ort or openvino. Says "ready" when all models are
loaded, then answers each line "INDEX SECONDS" with the microseconds of each run of that model, after
runs of 20 ms that are not timed, and "INDEX save FILE.npz" by writing the model's outputs there, in
its order. turns.py starts it.
"""

import json
import sys
import time

import numpy as np

WARM_SECONDS = 0.02


def load(runtime, path, threads):
    """A function from feeds to a list of outputs."""
    if runtime == "temper":
        import temper

        model = temper.load(path, threads=threads)
        names = [output.name for output in model.outputs]

        def run(feeds):
            outputs = model.run(feeds)
            return [outputs[name] for name in names]

        return run
    if runtime == "ort":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return lambda feeds: session.run(None, feeds)
    import openvino

    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
                "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(core.read_model(path), "CPU", settings)
    request = compiled.create_infer_request()

    def infer(feeds):
        outputs = request.infer(feeds, share_inputs=True, share_outputs=True)
        return [outputs[output] for output in compiled.outputs]

    return infer


def main():
    runtime, threads, feeds_path, *paths = sys.argv[1:]
    with np.load(feeds_path) as file:
        feeds = {name: file[name] for name in file.files}
    models = [load(runtime, path, int(threads)) for path in paths]
    for model in models:
        model(feeds)
    print("ready", flush=True)
    for line in sys.stdin:
        index, request, *path = line.split(maxsplit=2)
        model, times = models[int(index)], []
        if request == "save":
            np.savez(path[0].strip(), *model(feeds))
            print("[]", flush=True)
            continue
        model(feeds)
        end = time.perf_counter() + WARM_SECONDS
        while time.perf_counter() < end:
            model(feeds)
        end = time.perf_counter() + float(request)
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            model(feeds)
            times.append((time.perf_counter() - start) * 1e6)
        print(json.dumps(times), flush=True)


if __name__ == "__main__":
    main()
