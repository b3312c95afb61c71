"""Models with If, Loop and Scan, compiled and run against ONNX Runtime."""

import tempfile
import unittest

import numpy as np
import onnx.parser
import temper
from programs import compile_model, reference


def parse(text):
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]>\n' + text)
    for i, node in enumerate(model.graph.node):
        node.name = node.name or f"n{i}"
    return model


class FlowCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def compile(self, model, *flags, expect=0):
        self.compiled, message = compile_model(model, self.folder, *flags, expect=expect)
        return message

    def check(self, text, *runs, flags=(), unroll=("0", "64", "100000")):
        """Compares all `runs` in turn, which are dictionaries of inputs, with ONNX Runtime's."""
        model = parse(text) if isinstance(text, str) else text
        for nodes in unroll:
            self.compile(model, "--unroll", nodes, *flags)
            compiled = temper.load(self.compiled, threads=1)
            for inputs in runs:
                inputs = {k: np.asarray(v) for k, v in inputs.items()}
                want = reference(f"{self.folder}/model.onnx", inputs)
                for got in [compiled.run(inputs), compiled.run(inputs)]:
                    self.assertEqual(list(got), list(want))
                    for key, value in want.items():
                        self.assertEqual(got[key].shape, value.shape, key)
                        self.assertEqual(got[key].dtype, value.dtype, key)
                        np.testing.assert_allclose(got[key], value, rtol=1e-5, atol=1e-5,
                                                   err_msg=f"{key} --unroll {nodes}")
            compiled.close()

    def refused(self, text, *parts, flags=()):
        message = self.compile(parse(text), *flags, expect=1)
        for part in parts:
            self.assertIn(part, message)
