#include "compiler/graph/passes/decompose.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "compiler/graph/compose/functions.h"
#include "compiler/graph/passes/fold_constants.h"

namespace temper::graph {
namespace {

bool IsEmpty(const Graph& graph, int value) {
  return value != kNone && graph.type(value).IsStatic() && ElementCount(graph.shape(value)) == 0;
}

// Makes constants of the node's results without elements. True if no other result is wanted.
bool TakeEmptyResults(Graph& graph, int id) {
  const std::vector<int> outputs = graph.node(id).outputs;
  bool any = false, others = false;
  for (int output : outputs) {
    if (!IsEmpty(graph, output)) {
      others |= output != kNone;
      continue;
    }
    graph.MakeConstant(output, MakeTensor(*graph.type(output).dtype, graph.shape(output)));
    any = true;
  }
  return any && !others;
}

// What a reduction over no elements gives, by ONNX's definition of each.
double EmptyReduction(const std::string& op, DType dtype) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (op == "ReduceProd") return 1;
  if (op == "ReduceMean") return std::numeric_limits<double>::quiet_NaN();
  // StoreDouble saturates: the lowest and the highest integer.
  if (op == "ReduceMax") return dtype == DType::kBool ? 0 : -infinity;
  if (op == "ReduceMin") return dtype == DType::kBool ? 1 : infinity;
  if (op == "ReduceLogSum" || op == "ReduceLogSumExp") return -infinity;
  return 0;
}

// Makes a constant of a reduction, or of a sum of products, of values without elements. False if
// the node is none, or the constant would be larger than `bytes_left`.
bool TakeEmptyReduction(Graph& graph, int id, int64_t& bytes_left) {
  const Node& node = graph.node(id);
  const bool reduction = node.op.starts_with("Reduce") && IsEmpty(graph, node.Input(0));
  const bool products =
      (node.op == "MatMul" || node.op == "Einsum") &&
      std::any_of(node.inputs.begin(), node.inputs.end(), [&](int v) { return IsEmpty(graph, v); });
  if (!node.domain.empty() || (!reduction && !products) || node.Output(0) == kNone ||
      !graph.type(node.Output(0)).IsStatic()) {
    return false;
  }
  const int output = node.Output(0);
  const DType dtype = *graph.type(output).dtype;
  const Shape shape = graph.shape(output);
  // Doubles first, then the type's.
  const int64_t bytes = *ElementCount(shape) * (8 + ByteSize(dtype));
  if (bytes > bytes_left) return false;  // refused as a kernel
  bytes_left -= bytes;
  const std::vector<double> values(static_cast<size_t>(*ElementCount(shape)),
                                   EmptyReduction(node.op, dtype));
  graph.MakeConstant(output, MakeFromDoubles(dtype, shape, values));
  graph.RemoveNode(id);
  return true;
}

// Makes constants of the scale and the zero point that no data have: 1 and 0, as ONNX Runtime has
// it. False if the node is no DynamicQuantizeLinear of no elements.
bool TakeEmptyRange(Graph& graph, int id) {
  const Node& node = graph.node(id);
  if (!node.Is("DynamicQuantizeLinear") || !IsEmpty(graph, node.Input(0))) return false;
  const int scale = node.Output(1), point = node.Output(2);
  if (scale != kNone) graph.MakeConstant(scale, MakeScalar(1));
  if (point != kNone) graph.MakeConstant(point, MakeTensor(DType::kUInt8, {}));
  graph.RemoveNode(id);
  return true;
}

// Whether the node is gone, since it computes nothing or over nothing.
bool TakeEmpty(Graph& graph, int id, int64_t& bytes_left) {
  if (!TakeEmptyResults(graph, id)) {
    return TakeEmptyReduction(graph, id, bytes_left) || TakeEmptyRange(graph, id);
  }
  graph.RemoveNode(id);
  return true;
}

}  // namespace

Status RunDecompose(Graph& graph) {
  const std::vector<int> order = graph.order();
  int64_t empty_left = kMaxGrowthBytes, composed_left = kMaxGrowthBytes;
  for (int id : order) {
    if (TakeEmpty(graph, id, empty_left)) continue;
    const std::string named = graph.node(id).Describe();
    int made = graph.value_count();
    TEMPER_RETURN_IF_ERROR(ComposeNode(graph, id));
    for (; made < graph.value_count(); ++made) {
      if (graph.value(made).IsConstant()) composed_left -= graph.value(made).constant->bytes();
    }
    if (composed_left < 0) {
      return Unimplemented(fmt::format(
          "{}: what it and others are composed of needs constants of more than {} bytes", named,
          kMaxGrowthBytes));
    }
  }
  const std::vector<int> composed = graph.order();
  for (int id : composed) TakeEmpty(graph, id, empty_left);
  return RunFoldConstants(graph);
}

}  // namespace temper::graph
