#include "compiler/import/upgrade.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>

#include "compiler/import/upgrader.h"

namespace temper::importer {
namespace {

using graph::Attribute;
using graph::kNone;
using graph::Tensor;

// Before opset 7, Add and its like broadcast b only where asked, from dimension `axis` of a on.
Status UpgradeBroadcast(Upgrader& u) {
  if (u.opset >= 7) return OkStatus();
  const bool broadcast = u.Take<int64_t>("broadcast").value_or(0) != 0;
  const auto axis = u.Take<int64_t>("axis");
  if (!broadcast || !axis || u.node.inputs.size() != 2) return OkStatus();
  for (int input : u.node.inputs) {
    if (input == kNone) return u.Error("an input is missing");
    if (!u.graph.type(input).has_rank) return u.Error("the rank of an input is not known");
  }
  const int64_t rank_a = static_cast<int64_t>(u.graph.type(u.node.inputs[0]).dims.size());
  const int64_t rank_b = static_cast<int64_t>(u.graph.type(u.node.inputs[1]).dims.size());
  const int64_t first = *axis < 0 ? *axis + rank_a : *axis;
  if (first < 0 || first > rank_a - rank_b) return u.Error(fmt::format("axis {} is wrong", *axis));
  std::vector<int64_t> added(static_cast<size_t>(rank_a - rank_b - first));
  if (added.empty()) return OkStatus();
  std::iota(added.begin(), added.end(), rank_b);
  TEMPER_ASSIGN_OR_RETURN(
      u.node.inputs[1],
      u.Emit("Unsqueeze", {u.node.inputs[1], u.Ints("axes", added)}, {u.node.name + "/b"}));
  return OkStatus();
}

Status UpgradeBatchNormalization(Upgrader& u) {
  if (u.Take<int64_t>("training_mode").value_or(0) != 0)
    return u.Error("training is not supported");
  if (u.Take<int64_t>("spatial").value_or(1) == 0) return u.Error("spatial=0 is not supported");
  u.Take<int64_t>("is_test");
  u.Take<float>("momentum");
  return u.DropOutputs(1);
}

Status UpgradeCast(Upgrader& u) {
  // The importer has turned numbers into names; opset 1 had names of its own, in capitals.
  auto to = u.Take<std::string>("to").value_or("");
  std::transform(to.begin(), to.end(), to.begin(), [](unsigned char c) { return std::tolower(c); });
  u.node.attributes["to"] = to == "float" ? "float32" : to == "double" ? "float64" : to;
  return OkStatus();
}

Status UpgradeClip(Upgrader& u) {
  if (u.opset >= 11) return OkStatus();
  TEMPER_RETURN_IF_ERROR(u.FloatToInput("min", 1));
  return u.FloatToInput("max", 2);
}

Status UpgradeDft(Upgrader& u) {
  // Before opset 20 the axis was an attribute, and the first one of the signal by default.
  if (u.opset < 20) u.node.attributes.try_emplace("axis", int64_t{1});
  return OkStatus();
}

Status UpgradeDropout(Upgrader& u) {
  u.Take<float>("ratio");
  u.Take<int64_t>("seed");
  u.Take<int64_t>("is_test");
  if (u.node.inputs.size() > 2 && u.node.inputs[2] != kNone) {
    const Tensor* training = u.graph.value(u.node.inputs[2]).constant.get();
    if (training == nullptr || training->size() != 1 || training->DoubleAt(0) != 0) {
      return u.Error("training is not supported: training_mode must be constant and false");
    }
  }
  if (u.node.inputs.size() > 1) u.node.inputs.resize(1);
  return OkStatus();
}

Status UpgradeMaxPool(Upgrader& u) {
  if (u.node.outputs.size() > 1 && !u.node.used[1]) u.node.outputs.resize(1);
  return OkStatus();
}

// Upsample became Resize, with the coordinates that it always had. Opset 10's Resize is alike.
Status UpgradeResize(Upgrader& u) {
  if (u.node.op == "Resize" && u.opset >= 11) return OkStatus();
  if (auto scales = u.Take<std::vector<float>>("scales")) {
    const Tensor tensor = graph::MakeFloats({static_cast<int64_t>(scales->size())}, *scales);
    u.SetInput(1, u.Constant("scales", tensor));
  }
  if (u.node.inputs.size() != 2) return u.Error("it needs scales");
  u.node.inputs = {u.node.inputs[0], kNone, u.node.inputs[1]};
  std::string mode = u.Take<std::string>("mode").value_or("nearest");
  if (mode == "bilinear") mode = "linear";
  u.node.op = "Resize";
  u.node.attributes["mode"] = mode;
  u.node.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  u.node.attributes["nearest_mode"] = std::string("floor");
  return OkStatus();
}

Status UpgradePad(Upgrader& u) {
  if (u.opset >= 11) return OkStatus();
  if (auto paddings = u.Take<std::vector<int64_t>>("paddings")) {
    u.node.attributes["pads"] = std::move(*paddings);
  }
  u.IntsToInput("pads", 1);
  return u.FloatToInput("value", 2);
}

Status UpgradePRelu(Upgrader& u) {
  // Before opset 7 a slope of one dimension belonged to the channels.
  if (u.opset >= 7 || u.node.inputs.size() != 2 || u.node.inputs[1] == kNone ||
      u.node.inputs[0] == kNone) {
    return OkStatus();
  }
  const graph::ValueType& x = u.graph.type(u.node.inputs[0]);
  const graph::ValueType& slope = u.graph.type(u.node.inputs[1]);
  if (!x.has_rank || !slope.has_rank) return u.Error("the rank of an input is not known");
  if (slope.dims.size() != 1 || x.dims.size() < 3) return OkStatus();
  std::vector<int64_t> added(x.dims.size() - 2);
  std::iota(added.begin(), added.end(), 1);
  TEMPER_ASSIGN_OR_RETURN(
      u.node.inputs[1],
      u.Emit("Unsqueeze", {u.node.inputs[1], u.Ints("axes", added)}, {u.node.name + "/slope"}));
  return OkStatus();
}

// Before opset 16 corners of regions were not shifted by half a pixel.
Status UpgradeRoiAlign(Upgrader& u) {
  if (u.opset < 16) {
    u.node.attributes["coordinate_transformation_mode"] = std::string("output_half_pixel");
  }
  return OkStatus();
}

Status UpgradeTopK(Upgrader& u) {
  if (u.opset >= 10) return OkStatus();
  const auto k = u.Take<int64_t>("k");
  if (k) u.SetInput(1, u.Constant("k", graph::MakeInts({}, {&*k, 1})));
  return OkStatus();
}

Status UpgradeSlice(Upgrader& u) {
  if (u.opset >= 10) return OkStatus();
  u.IntsToInput("starts", 1);
  u.IntsToInput("ends", 2);
  u.IntsToInput("axes", 3);
  return OkStatus();
}

Status UpgradeSplit(Upgrader& u) {
  if (u.opset < 13) u.IntsToInput("split", 1);
  if (u.opset >= 18) {
    const auto parts = u.Take<int64_t>("num_outputs");
    if (parts && *parts != static_cast<int64_t>(u.node.outputs.size())) {
      return u.Error(
          fmt::format("num_outputs is {} but it has {} outputs", *parts, u.node.outputs.size()));
    }
  }
  return OkStatus();
}

Status UpgradeReduce(Upgrader& u) {
  if (u.opset < (u.node.op == "ReduceSum" ? 13 : 18)) u.IntsToInput("axes", 1);
  return OkStatus();
}

Status UpgradeTile(Upgrader& u) {
  if (u.opset < 6) return u.Error("Tile before opset 6 is not supported; convert the model");
  return OkStatus();
}

// One step: what changed for an operator. Those that are not listed mean today what they always
// did, but for attributes that only restricted them.
struct Step {
  std::string_view op;
  Status (*upgrade)(Upgrader&);
};

Status SimpleUpgrade(Upgrader& u) {
  static constexpr Step kSteps[] = {
      {"Add", UpgradeBroadcast},
      {"And", UpgradeBroadcast},
      {"BatchNormalization", UpgradeBatchNormalization},
      {"Cast", UpgradeCast},
      {"Clip", UpgradeClip},
      {"DFT", UpgradeDft},
      {"Div", UpgradeBroadcast},
      {"Dropout", UpgradeDropout},
      {"Equal", UpgradeBroadcast},
      {"Greater", UpgradeBroadcast},
      {"Less", UpgradeBroadcast},
      {"MaxPool", UpgradeMaxPool},
      {"Mul", UpgradeBroadcast},
      {"Or", UpgradeBroadcast},
      {"PRelu", UpgradePRelu},
      {"Pad", UpgradePad},
      {"Pow", UpgradeBroadcast},
      {"Resize", UpgradeResize},
      {"Reshape", [](Upgrader& m) { return m.IntsToInput("shape", 1), OkStatus(); }},
      {"RoiAlign", UpgradeRoiAlign},
      {"Scatter", [](Upgrader& m) { return m.node.op = "ScatterElements", OkStatus(); }},
      {"Slice", UpgradeSlice},
      {"Split", UpgradeSplit},
      {"Squeeze", [](Upgrader& m) { return m.IntsToInput("axes", 1), OkStatus(); }},
      {"Sub", UpgradeBroadcast},
      {"Tile", UpgradeTile},
      {"Unsqueeze", [](Upgrader& m) { return m.IntsToInput("axes", 1), OkStatus(); }},
      {"TopK", UpgradeTopK},
      {"Upsample", UpgradeResize},
      {"Xor", UpgradeBroadcast},
  };
  u.Take<std::vector<int64_t>>("consumed_inputs");  // a memory hint of opset 1
  if (u.node.op.starts_with("Reduce")) return UpgradeReduce(u);
  for (const Step& step : kSteps) {
    if (step.op == u.node.op) return step.upgrade(u);
  }
  return OkStatus();
}

// Softmax, LogSoftmax and Hardmax before opset 13: over all dimensions from the axis on.
Result<std::vector<int>> UpgradeSoftmax(Upgrader& u) {
  if (u.node.inputs.size() != 1 || u.node.inputs[0] == kNone || u.node.outputs.size() != 1) {
    return u.Error("it needs one input and one output");
  }
  const int x = u.node.inputs[0];
  const int64_t axis = u.Take<int64_t>("axis").value_or(1);
  TEMPER_ASSIGN_OR_RETURN(const int shape, u.Emit("Shape", {x}, {u.node.name + "/shape"}));
  TEMPER_ASSIGN_OR_RETURN(
      const int flat, u.Emit("Flatten", {x}, {u.node.name + "/flat"}, {{"axis", Attribute(axis)}}));
  TEMPER_ASSIGN_OR_RETURN(const int soft, u.Emit(u.node.op, {flat}, {u.node.name + "/softmax"},
                                                 {{"axis", Attribute(int64_t{1})}}));
  TEMPER_ASSIGN_OR_RETURN(const int y, u.Emit("Reshape", {soft, shape}, {u.OutputName(0)},
                                              {{"allowzero", Attribute(int64_t{1})}}));
  return std::vector<int>{y};
}

}  // namespace

Result<std::vector<int>> Upgrade(graph::Graph& graph, int opset, SourceNode node) {
  Upgrader u(graph, opset, node);
  const bool flattens = node.op == "Softmax" || node.op == "LogSoftmax" || node.op == "Hardmax";
  if (opset < 13 && flattens) return UpgradeSoftmax(u);
  TEMPER_RETURN_IF_ERROR(SimpleUpgrade(u));
  return u.EmitNode();
}

}  // namespace temper::importer
