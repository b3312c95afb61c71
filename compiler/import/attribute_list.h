// Which attributes ONNX gives an operator. An attribute that is misspelt, of another type or of
// another opset is refused, and not read as its default. Follows the schemas of onnx.defs.
#pragma once

#include "base/status.h"
#include "compiler/import/onnx.pb.h"

namespace temper::importer {

// AttributeProto's types, as ONNX numbers them.
enum class AttributeType {
  kUnknown = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kType = 13,
  kTypes = 14,
};

// What it says it is or, as models of IR version 1 do not say it, what it holds. An attribute of no
// stated type that holds nothing is kUnknown.
AttributeType TypeOf(const onnx::AttributeProto& attribute);

// An error unless each attribute of the node, whose operator is one of ONNX's, is one that the
// operator has in `opset`, of its type, and those that it must have are there. References to a
// function's attributes are taken by the type that they state.
Status CheckAttributes(const onnx::NodeProto& node, int opset);

}  // namespace temper::importer
