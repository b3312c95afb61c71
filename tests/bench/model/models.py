"""The networks that networks.py measures: where they come from, and what they are fed.

models.py MODEL.onnx FEEDS.npz [INPUT=1x3x48x320 ...] writes the latter.
"""

import os
import subprocess
import sys
import tempfile
import zipfile
import zlib

import numpy as np
import onnx
from onnx import numpy_helper

WHEEL = "rapidocr-onnxruntime==1.4.4"
OCR = ("ch_PP-OCRv4_det_infer", "ch_PP-OCRv4_rec_infer")
# Of inputs whose dimensions the model leaves open.
SHAPES = {OCR[0]: ["x=1x3x480x640"], OCR[1]: ["x=1x3x48x320"]}


def fetch(folder):
    """Writes the models that the package onnx has without weights, and those of the wheel."""
    os.makedirs(folder, exist_ok=True)
    light = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
    for file in sorted(os.listdir(light)):
        path = os.path.join(folder, file.removeprefix("light_"))
        if file.endswith(".onnx") and not os.path.exists(path):
            onnx.save(with_weights(onnx.load(os.path.join(light, file))), path)
    if all(os.path.exists(os.path.join(folder, name + ".onnx")) for name in OCR):
        return
    with tempfile.TemporaryDirectory() as temporary:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", temporary,
                        WHEEL], check=True)
        with zipfile.ZipFile(os.path.join(temporary, os.listdir(temporary)[0])) as wheel:
            for entry in wheel.namelist():
                name = os.path.basename(entry)
                if name.removesuffix(".onnx") in OCR:
                    with open(os.path.join(folder, name), "wb") as file:
                        file.write(wheel.read(entry))


def with_weights(model):
    """A light model makes each large weight by ConstantOfShape: gives it seeded numbers, scaled so
    that a layer's output is about as large as its input."""
    graph = model.graph
    shapes = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    variances = {n.input[4] for n in graph.node if n.op_type == "BatchNormalization"}
    kept, made = [], set()
    for node in graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in shapes:
            kept.append(node)
            continue
        shape = [int(d) for d in shapes[node.input[0]]]
        name = node.output[0]
        random = np.random.default_rng(zlib.crc32(name.encode()))
        if name in variances:
            value = random.uniform(0.8, 1.2, shape)
        elif len(shape) < 2:
            value = random.normal(0, 0.05, shape)
        else:
            inputs = np.prod(shape[1:]) if len(shape) > 2 else max(shape)
            value = random.normal(0, np.sqrt(2 / inputs), shape)
        graph.initializer.append(numpy_helper.from_array(value.astype(np.float32), name))
        made.add(name)
    del graph.node[:]
    graph.node.extend(kept)
    weights = set(shapes) | made
    inputs = [i for i in graph.input if i.name not in weights]
    del graph.input[:]
    graph.input.extend(inputs)
    return model


def page(random, shape):
    """Dark strokes in lines on a light ground: a text detector finds something in it."""
    height, width = shape[-2:]
    image = np.full((height, width), 0.9, np.float32)
    for y in range(height // 20, height - 22, 48):
        for x in range(30, width - 44, 14):
            if random.random() < 0.15:
                continue
            for _ in range(3):
                if random.random() < 0.5:
                    left = x + random.integers(0, 9)
                    image[y:y + 20, left:left + 3] = -0.9
                else:
                    top = y + random.integers(0, 17)
                    image[top:top + 3, x:x + 11] = -0.9
    return np.broadcast_to(image, shape)


def feeds(path, shapes):
    """Seeded inputs: a page for large images, small numbers for tokens, ones for masks."""
    known = {}
    for shape in shapes:
        name, dims = shape.rsplit("=", 1)
        known[name] = [int(d) for d in dims.split("x")]
    model = onnx.load(path, load_external_data=False)
    weights = {i.name for i in model.graph.initializer}
    random, result = np.random.default_rng(1), {}
    for i in model.graph.input:
        if i.name in weights:
            continue
        tensor = i.type.tensor_type
        shape = known.get(i.name) or [max(d.dim_value, 1) for d in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if not np.issubdtype(dtype, np.floating):
            value = np.ones(shape) if "mask" in i.name else random.integers(0, 100, shape)
        elif len(shape) == 4 and min(shape[2:]) >= 100:
            value = page(random, shape)
        else:
            value = random.standard_normal(shape)
        result[i.name] = np.ascontiguousarray(value, dtype)
    return result


if __name__ == "__main__":
    np.savez(sys.argv[2], **feeds(sys.argv[1], sys.argv[3:]))
