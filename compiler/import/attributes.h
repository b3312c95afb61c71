// ONNX's AttributeProtos as attributes of the graph IR.
#pragma once

#include "base/status.h"
#include "compiler/graph/attribute.h"
#include "compiler/import/onnx.pb.h"
#include "compiler/import/tensor_reader.h"

namespace temper::importer {

// Numbers that stand for element types ("to" of Cast) become their names.
Result<graph::Attributes> ReadAttributes(const onnx::NodeProto& node, TensorReader& reader);

// The tensor of a Constant node, whichever attribute holds it.
Result<graph::Tensor> ReadConstant(const onnx::NodeProto& node, TensorReader& reader);

}  // namespace temper::importer
