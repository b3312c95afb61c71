// ONNX's AttributeProtos as attributes of the graph IR.
#pragma once

#include "base/status.h"
#include "compiler/graph/attribute.h"
#include "compiler/import/onnx.pb.h"
#include "compiler/import/tensor_reader.h"

namespace temper::importer {

// Numbers that stand for element types ("to" of Cast) become their names. `arguments`: the
// attributes of the function call whose body the node is part of, which its own may refer to; null
// outside of functions. Nested graphs are left out: control flow reads them itself.
Result<graph::Attributes> ReadAttributes(const onnx::NodeProto& node, TensorReader& reader,
                                         const graph::Attributes* arguments);

// The attributes of a call of `function`, its defaults among them.
Result<graph::Attributes> ReadArguments(const onnx::NodeProto& call,
                                        const onnx::FunctionProto& function, TensorReader& reader,
                                        const graph::Attributes* arguments);

// The tensor of a Constant node, whichever attribute holds it.
Result<graph::Tensor> ReadConstant(const onnx::NodeProto& node, TensorReader& reader,
                                   const graph::Attributes* arguments);

}  // namespace temper::importer
