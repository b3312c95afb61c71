#include "compiler/ops/runtime_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

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
  // The function says the extents of all four results, also of those that the node leaves out.
  f.call.operands.resize(static_cast<size_t>(f.call.input_count) + 4, kNone);
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

// Name, number in op_recurrent.c, default alpha and beta.
struct Activation {
  std::string_view name;
  double alpha, beta;
};
constexpr Activation kActivations[] = {{"sigmoid", 0, 0},      {"tanh", 0, 0},
                                       {"relu", 0, 0},         {"affine", 1, 0},
                                       {"leakyrelu", 0.01, 0}, {"thresholdedrelu", 1, 0},
                                       {"scaledtanh", 1, 1},   {"hardsigmoid", 0.2, 0.5},
                                       {"elu", 1, 0},          {"softsign", 0, 0},
                                       {"softplus", 0, 0}};

bool TakesAlpha(int64_t kind) { return kind >= 3 && kind <= 8; }
bool TakesBeta(int64_t kind) { return kind == 3 || kind == 6 || kind == 7; }

// Listed alphas and betas go to the functions that take one, in their order.
Status FillActivations(Filler& f, const std::vector<std::string>& defaults, size_t directions) {
  const auto it = f.node.attributes.find("activations");
  std::vector<std::string> names;
  if (it != f.node.attributes.end()) {
    if (const auto* stated = std::get_if<std::vector<std::string>>(&it->second)) names = *stated;
  }
  const size_t count = defaults.size() * directions;
  if (names.empty()) {
    for (size_t d = 0; d < directions; ++d)
      names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (names.size() != count) {
    return f.Refuse(fmt::format("it has {} activations; {} are needed", names.size(), count));
  }
  const std::vector<float> alphas = f.node.Floats("activation_alpha");
  const std::vector<float> betas = f.node.Floats("activation_beta");
  f.call.floats.assign(17, 0);
  size_t alpha = 0, beta = 0;
  for (size_t i = 0; i < count; ++i) {
    std::string name = names[i];
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char ch) { return std::tolower(ch); });
    const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                     [&](const Activation& a) { return a.name == name; });
    if (found == std::end(kActivations)) {
      return f.Refuse(fmt::format("activation '{}' is unknown", names[i]));
    }
    const int64_t kind = found - std::begin(kActivations);
    f.call.ints.push_back(kind);
    f.call.floats[i] = found->alpha;
    f.call.floats[8 + i] = found->beta;
    if (TakesAlpha(kind) && alpha < alphas.size()) f.call.floats[i] = alphas[alpha++];
    if (TakesBeta(kind) && beta < betas.size()) f.call.floats[8 + i] = betas[beta++];
  }
  f.call.floats[16] = f.node.Float("clip", 0);
  return OkStatus();
}

Status FillRecurrent(Filler& f) {
  const std::string& op = f.node.op;
  const std::string direction = f.node.String("direction", "forward");
  const int64_t d = direction == "reverse" ? 1 : direction == "bidirectional" ? 2 : 0;
  const int64_t hidden = f.shape(2)[2];
  const int64_t gates = op == "RNN" ? 1 : op == "GRU" ? 3 : 4;
  const std::string flag = op == "GRU" ? "linear_before_reset" : "input_forget";
  f.call.ints = {hidden, d, f.node.Int("layout", 0), f.node.Int(flag, 0)};
  f.call.workspace_bytes = 8 * (2 * gates + 4) * hidden;
  std::vector<std::string> defaults = {"Tanh"};
  if (op == "GRU") defaults = {"Sigmoid", "Tanh"};
  if (op == "LSTM") defaults = {"Sigmoid", "Tanh", "Tanh"};
  return FillActivations(f, defaults, d == 2 ? 2 : 1);
}

Fill FindFill(std::string_view op) {
  static constexpr std::pair<std::string_view, Fill> kFills[] = {
      {"Compress", FillCompress},
      {"CumSum", FillCumSum},
      {"Det", FillDet},
      {"GRU", FillRecurrent},
      {"GridSample", FillGridSample},
      {"LSTM", FillRecurrent},
      {"MaxUnpool", FillMaxUnpool},
      {"NonMaxSuppression", FillNonMaxSuppression},
      {"NonZero", FillNothing},
      {"RNN", FillRecurrent},
      {"RoiAlign", FillRoiAlign},
      {"ScatterElements", FillScatterElements},
      {"ScatterND", FillScatterNd},
      {"TopK", FillTopK},
      {"Unique", FillUnique},
  };
  for (const auto& [name, fill] : kFills) {
    if (name == op) return fill;
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
  std::erase(values, kNone);
  return values;
}

Result<RuntimeCall> MakeRuntimeCall(const Graph& graph, const Node& node) {
  RuntimeCall call;
  call.op = node.op;
  Filler filler{graph, node, call};
  const Fill fill = FindFill(node.op);
  TEMPER_CHECK(fill != nullptr);
  call.operands = node.inputs;
  call.input_count = static_cast<int>(node.inputs.size());
  for (int value : node.outputs) {
    const bool wanted =
        value != kNone && (graph.IsOutput(value) || !graph.value(value).uses.empty());
    call.operands.push_back(wanted ? value : kNone);
    if (value != kNone && !graph.type(value).IsStatic()) call.open_shapes = true;
  }
  if (call.operands.size() > kMaxOperands) return filler.Refuse("it has too many operands");
  TEMPER_RETURN_IF_ERROR(fill(filler));
  return call;
}

}  // namespace temper::ops
