#include "compiler/ops/runtime_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/graph/control_flow.h"
#include "compiler/graph/infer/infer.h"

namespace temper::ops {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::Shape;

constexpr size_t kMaxOperands = 16;  // TEMPER_OP_MAX_TENSORS

struct Filler {
  const Graph& graph;
  const Node& node;
  RuntimeCall& call;

  Shape shape(size_t i) const { return graph.shape(node.inputs[i]); }
  int64_t rank(size_t i) const { return static_cast<int64_t>(shape(i).size()); }
  int64_t Axis(int64_t absent) const {
    const int64_t axis = node.Int("axis", absent);
    return axis < 0 ? axis + rank(0) : axis;
  }
  Status Refuse(const std::string& what) const {
    return Unimplemented(node.Describe() + ": " + what);
  }
  int64_t Count(size_t i) const { return *graph::ElementCount(shape(i)); }
};

using Fill = Status (*)(Filler&);

Result<int64_t> Reduction(const Filler& f) {
  static constexpr std::string_view kNames[] = {"none", "add", "mul", "max", "min"};
  const std::string name = f.node.String("reduction", "none");
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<int64_t>(i);
  }
  return f.Refuse(fmt::format("reduction '{}' is unknown", name));
}

Status FillCumSum(Filler& f) {
  f.call.ints = {f.node.Int("exclusive", 0), f.node.Int("reverse", 0)};
  return OkStatus();
}

Status FillScatterElements(Filler& f) {
  TEMPER_ASSIGN_OR_RETURN(const int64_t reduction, Reduction(f));
  f.call.ints = {f.Axis(0), reduction};
  return OkStatus();
}

Status FillScatterNd(Filler& f) {
  TEMPER_ASSIGN_OR_RETURN(const int64_t reduction, Reduction(f));
  f.call.ints = {reduction};
  return OkStatus();
}

Status FillTopK(Filler& f) {
  const int64_t axis = f.Axis(-1);
  f.call.ints = {axis, f.node.Int("largest", 1)};
  f.call.workspace_bytes = 3 * 8 * f.shape(0)[axis];
  return OkStatus();
}

Status FillNonMaxSuppression(Filler& f) {
  f.call.ints = {f.node.Int("center_point_box", 0)};
  f.call.workspace_bytes = 3 * 8 * f.shape(1)[2];
  return OkStatus();
}

Status FillNothing(Filler&) { return OkStatus(); }

Status FillCompress(Filler& f) {
  f.call.ints = {f.node.Has("axis") ? f.Axis(0) : -1};
  return OkStatus();
}

Status FillUnique(Filler& f) {
  const int64_t axis = f.node.Has("axis") ? f.Axis(0) : -1;
  f.call.ints = {axis, f.node.Int("sorted", 1)};
  f.call.workspace_bytes = 6 * 8 * (axis < 0 ? f.Count(0) : f.shape(0)[axis]);
  return OkStatus();
}

Status FillDet(Filler& f) {
  const int64_t m = f.shape(0).back();
  if (m > (1 << 14)) return f.Refuse("its matrices are too large");
  f.call.workspace_bytes = 8 * m * m;
  return OkStatus();
}

Status FillMaxUnpool(Filler& f) {
  f.call.ints = {0};
  if (!f.node.HasInput(2)) return OkStatus();
  // Indices count in the images that were pooled.
  const Shape pooled = f.shape(0);
  const std::vector<int64_t> kernel = f.node.Ints("kernel_shape");
  const std::vector<int64_t> strides =
      f.node.Ints("strides", std::vector<int64_t>(kernel.size(), 1));
  const std::vector<int64_t> pads = f.node.Ints("pads", std::vector<int64_t>(2 * kernel.size(), 0));
  f.call.ints = {1, pooled[0], pooled[1]};
  for (size_t d = 0; d < kernel.size(); ++d) {
    f.call.ints.push_back((pooled[2 + d] - 1) * strides[d] + kernel[d] - pads[d] -
                          pads[kernel.size() + d]);
  }
  return OkStatus();
}

Status FillGridSample(Filler& f) {
  const std::string mode = f.node.String("mode", "linear");
  const std::string padding = f.node.String("padding_mode", "zeros");
  const int64_t m = mode == "linear" || mode == "bilinear" ? 0
                    : mode == "nearest"                    ? 1
                    : mode == "cubic" || mode == "bicubic" ? 2
                                                           : -1;
  const int64_t p = padding == "zeros"        ? 0
                    : padding == "border"     ? 1
                    : padding == "reflection" ? 2
                                              : -1;
  if (m < 0) return f.Refuse(fmt::format("mode '{}' is unknown", mode));
  if (p < 0) return f.Refuse(fmt::format("padding_mode '{}' is unknown", padding));
  f.call.ints = {m, p, f.node.Int("align_corners", 0)};
  return OkStatus();
}

Status FillRoiAlign(Filler& f) {
  const std::string mode = f.node.String("mode", "avg");
  const std::string transform = f.node.String("coordinate_transformation_mode", "half_pixel");
  if (mode != "avg" && mode != "max") return f.Refuse(fmt::format("mode '{}' is unknown", mode));
  if (transform != "half_pixel" && transform != "output_half_pixel") {
    return f.Refuse(fmt::format("coordinate_transformation_mode '{}' is unknown", transform));
  }
  f.call.ints = {mode == "max", transform == "half_pixel", f.node.Int("sampling_ratio", 0)};
  f.call.floats = {f.node.Float("spatial_scale", 1)};
  return OkStatus();
}

struct Mapping {
  std::string_view op;
  size_t outputs;  // that the function has; a node may leave out the last ones
  Fill fill;
};

const Mapping* FindMapping(std::string_view op) {
  static constexpr Mapping kMappings[] = {
      {"Compress", 1, FillCompress},
      {"CumSum", 1, FillCumSum},
      {"Det", 1, FillDet},
      {"GridSample", 1, FillGridSample},
      {"MaxUnpool", 1, FillMaxUnpool},
      {"NonMaxSuppression", 1, FillNonMaxSuppression},
      {"NonZero", 1, FillNothing},
      {"RoiAlign", 1, FillRoiAlign},
      {"ScatterElements", 1, FillScatterElements},
      {"ScatterND", 1, FillScatterNd},
      {"TopK", 2, FillTopK},
      {"Unique", 4, FillUnique},
  };
  for (const Mapping& mapping : kMappings) {
    if (mapping.op == op) return &mapping;
  }
  return nullptr;
}

}  // namespace

std::vector<int> RuntimeCall::Inputs() const {
  std::vector<int> values(operands.begin(), operands.begin() + input_count);
  std::erase(values, kNone);
  return values;
}

std::vector<int> RuntimeCall::Outputs() const {
  std::vector<int> values(operands.begin() + input_count, operands.end());
  values.push_back(extents);
  std::erase(values, kNone);
  return values;
}

Result<RuntimeCall> MakeRuntimeCall(const Graph& graph, const Node& node) {
  RuntimeCall call;
  call.op = node.op;
  Filler filler{graph, node, call};
  const Mapping* mapping = FindMapping(node.op);
  TEMPER_CHECK(mapping != nullptr);
  call.operands = node.inputs;
  call.input_count = static_cast<int>(node.inputs.size());
  std::vector<int> outputs = node.outputs;
  const bool roomy = graph::OpensExtents(node) && node.Has(graph::kRoom);
  if (roomy) {
    call.extents = outputs.back();
    call.open_shapes = call.extents != kNone;
    outputs.pop_back();
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int value = outputs[i];
    // The function counts on its first result where it says how large that is.
    const bool wanted = value != kNone && (graph.IsOutput(value) || (roomy && i == 0) ||
                                           !graph.value(value).uses.empty());
    call.operands.push_back(wanted ? value : kNone);
    if (value != kNone && !graph.type(value).IsStatic()) call.open_shapes = true;
  }
  const size_t named = node.inputs.size() + mapping->outputs;
  if (call.operands.size() < named) call.operands.resize(named, kNone);
  if (call.operands.size() > kMaxOperands) return filler.Refuse("it has too many operands");
  TEMPER_RETURN_IF_ERROR(mapping->fill(filler));
  return call;
}

}  // namespace temper::ops
