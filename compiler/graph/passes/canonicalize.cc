#include "compiler/graph/passes/canonicalize.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "compiler/graph/infer/context.h"
#include "compiler/graph/infer/infer.h"

namespace temper::graph {
namespace {

using Ints = std::vector<int64_t>;

// One node being rewritten in place.
struct Rewriter {
  Graph& graph;
  const int id;

  const Node& node() const { return graph.node(id); }
  void SetInts(size_t input, const std::string& what, const Ints& values) {
    const std::string name = graph.value(node().outputs[0]).name + "/" + what;
    const Tensor* old = graph.ConstantInput(node(), input);
    Tensor tensor = MakeInts({static_cast<int64_t>(values.size())}, values);
    if (old != nullptr && SameBits(*old, tensor)) return;
    graph.SetInput(id, input, graph.AddConstant(name, std::move(tensor)));
  }
  void Set(const std::string& name, Attribute value) {
    graph.SetAttribute(id, name, std::move(value));
  }
  void Default(const std::string& name, Attribute value) {
    if (!node().Has(name)) Set(name, std::move(value));
  }
  void Remove(const std::string& name) { graph.RemoveAttribute(id, name); }
};

struct WindowLists {
  Ints kernel, strides, dilations, pads;
};

WindowLists Lists(const std::vector<Window>& windows) {
  WindowLists lists;
  for (const Window& w : windows) {
    lists.kernel.push_back(w.kernel);
    lists.strides.push_back(w.stride);
    lists.dilations.push_back(w.dilation);
    lists.pads.push_back(w.pad_begin);
  }
  for (const Window& w : windows) lists.pads.push_back(w.pad_end);
  return lists;
}

void SetWindows(Rewriter& r, const std::vector<Window>& windows) {
  const WindowLists lists = Lists(windows);
  r.Set("kernel_shape", lists.kernel);
  r.Set("strides", lists.strides);
  r.Set("dilations", lists.dilations);
  r.Set("pads", lists.pads);
  r.Remove("auto_pad");
}

Status CanonicalizeConv(Rewriter& r) {
  const InferContext c(r.graph, r.id);
  const Shape in = Spatial(c.shape(0));
  const Shape kernel = Spatial(c.shape(1));
  r.Default("group", int64_t{1});
  if (r.node().Is("Conv")) {
    TEMPER_ASSIGN_OR_RETURN(const auto windows, ConvWindows(c, in, kernel));
    SetWindows(r, windows);
    return OkStatus();
  }
  TEMPER_ASSIGN_OR_RETURN(const auto windows, TransposedWindows(c, in, kernel));
  SetWindows(r, windows);
  Ints extra;
  for (const Window& w : windows) extra.push_back(w.extra);
  r.Set("output_padding", extra);
  r.Remove("output_shape");
  return OkStatus();
}

Status CanonicalizePool(Rewriter& r) {
  const InferContext c(r.graph, r.id);
  const Shape in = Spatial(c.shape(0));
  TEMPER_ASSIGN_OR_RETURN(auto windows, ConvWindows(c, in, r.node().Ints("kernel_shape")));
  const bool average = r.node().Is("AveragePool");
  if (average) r.Default("count_include_pad", int64_t{0});
  const bool keep_ceil = average && r.node().Int("count_include_pad", 0) != 0;
  if (r.node().Int("ceil_mode", 0) != 0 && !keep_ceil) {
    for (size_t i = 0; i < windows.size(); ++i) {
      Window& w = windows[i];
      const int64_t extent = (w.kernel - 1) * w.dilation + 1;
      w.pad_end = std::max(w.pad_end, (w.out - 1) * w.stride + extent - in[i] - w.pad_begin);
    }
    r.Remove("ceil_mode");
  }
  if (r.node().Int("ceil_mode", 0) == 0) r.Remove("ceil_mode");
  SetWindows(r, windows);
  if (r.node().Output(1) == kNone) r.Remove("storage_order");
  return OkStatus();
}

Status CanonicalizeReshape(Rewriter& r) {
  const Shape out = r.graph.shape(r.node().outputs[0]);
  r.graph.SetOp(r.id, "Reshape");
  r.SetInts(1, "shape", out);
  r.Remove("axis");
  r.Remove("axes");
  r.Remove("allowzero");
  if (std::count(out.begin(), out.end(), 0) != 0) r.Set("allowzero", int64_t{1});
  return OkStatus();
}

Status CanonicalizeReduce(Rewriter& r) {
  const InferContext c(r.graph, r.id);
  TEMPER_ASSIGN_OR_RETURN(const auto axes, ReduceAxes(c));
  if (!axes) return OkStatus();
  r.SetInts(1, "axes", *axes);
  r.Default("keepdims", int64_t{1});
  // An empty list now means what it says.
  if (axes->empty()) {
    r.Set("noop_with_empty_axes", int64_t{1});
  } else {
    r.Remove("noop_with_empty_axes");
  }
  return OkStatus();
}

Status CanonicalizeSlice(Rewriter& r) {
  const InferContext c(r.graph, r.id);
  TEMPER_ASSIGN_OR_RETURN(const auto ranges, SliceRanges(c));
  if (!ranges) return OkStatus();
  Ints starts, ends, steps;
  Ints axes(ranges->size());
  std::iota(axes.begin(), axes.end(), 0);
  for (size_t i = 0; i < ranges->size(); ++i) {
    const SliceRange& range = (*ranges)[i];
    const int64_t dim = c.shape(0)[i];
    // Nothing or one element: the step does not matter, and might overflow.
    const bool forward = range.count <= 1;
    const int64_t step = forward ? 1 : range.step;
    const int64_t start = range.count == 0 ? 0 : range.start;
    const int64_t end = start + range.count * step;
    starts.push_back(start);
    ends.push_back(end < 0 ? -(dim + 1) : end);
    steps.push_back(step);
  }
  r.SetInts(1, "starts", starts);
  r.SetInts(2, "ends", ends);
  r.SetInts(3, "axes", axes);
  r.SetInts(4, "steps", steps);
  return OkStatus();
}

Status CanonicalizePad(Rewriter& r) {
  const InferContext c(r.graph, r.id);
  r.Default("mode", std::string("constant"));
  TEMPER_ASSIGN_OR_RETURN(const auto pads, c.ConstantInts(1));
  TEMPER_ASSIGN_OR_RETURN(const auto axes, c.ConstantInts(3));
  if (!pads || (c.Has(3) && !axes)) return OkStatus();
  const size_t rank = c.shape(0).size();
  if (axes) {
    Ints all(2 * rank, 0);
    for (size_t i = 0; i < axes->size(); ++i) {
      const size_t axis = static_cast<size_t>((*axes)[i] < 0 ? (*axes)[i] + c.rank(0) : (*axes)[i]);
      all[axis] = (*pads)[i];
      all[rank + axis] = (*pads)[axes->size() + i];
    }
    r.SetInts(1, "pads", all);
  }
  const int value = c.Has(2)
                        ? r.node().inputs[2]
                        : r.graph.AddConstant(r.graph.value(r.node().outputs[0]).name + "/value",
                                              MakeTensor(c.dtype(0), {}));
  r.graph.SetInputs(r.id, {r.node().inputs[0], r.node().inputs[1], value});
  return OkStatus();
}

Status CanonicalizeAxis(Rewriter& r, int64_t absent) {
  const int64_t axis = r.node().Int("axis", absent);
  const int64_t rank = static_cast<int64_t>(r.graph.type(r.node().inputs[0]).dims.size());
  r.Set("axis", axis < 0 ? axis + rank : axis);
  return OkStatus();
}

Status CanonicalizeSplit(Rewriter& r) {
  TEMPER_RETURN_IF_ERROR(CanonicalizeAxis(r, 0));
  const InferContext c(r.graph, r.id);
  TEMPER_ASSIGN_OR_RETURN(const auto sizes, SplitSizes(c, r.node().Int("axis", 0)));
  if (!sizes) return OkStatus();
  // The name of SetInts comes from output 0, which may be absent.
  const std::string name = r.graph.value(r.node().inputs[0]).name + "/split";
  r.graph.SetInput(
      r.id, 1, r.graph.AddConstant(name, MakeInts({static_cast<int64_t>(sizes->size())}, *sizes)));
  return OkStatus();
}

// Sum(a, b, c) -> Add(Add(a, b), c); Mean further divides by the count.
Status CanonicalizeVariadic(Rewriter& r) {
  const Node node = r.node();
  const bool mean = node.Is("Mean");
  const std::string op = mean || node.Is("Sum") ? "Add" : node.op;
  const std::string name = r.graph.value(node.outputs[0]).name;
  if (node.inputs.size() == 1) {
    r.graph.SetOp(r.id, "Identity");
    return OkStatus();
  }
  if (node.inputs.size() == 2 && !mean) {
    r.graph.SetOp(r.id, op);
    return OkStatus();
  }
  int sum = node.inputs[0];
  const size_t last = mean ? node.inputs.size() : node.inputs.size() - 1;
  for (size_t i = 1; i < last; ++i) {
    const int added = r.graph.InsertBefore(r.id, op, {sum, node.inputs[i]},
                                           {name + "/" + std::to_string(i)}, {}, node.sources);
    TEMPER_RETURN_IF_ERROR(InferNode(r.graph, added));
    sum = r.graph.node(added).outputs[0];
  }
  int other = node.inputs.back();
  if (mean) {
    const double count = static_cast<double>(node.inputs.size());
    const DType dtype = *r.graph.type(sum).dtype;
    other = r.graph.AddConstant(name + "/count", MakeFromDoubles(dtype, {}, {&count, 1}));
  }
  r.graph.SetInputs(r.id, {sum, other});
  r.graph.SetOp(r.id, mean ? "Div" : op);
  return OkStatus();
}

// A quotient by constants becomes a product, which is many times as fast: where their reciprocals
// are exact (powers of two), or where only Erf reads it, whose slope keeps the last bit's error
// below its own (Gelu's x / sqrt(2)).
Status CanonicalizeDiv(Rewriter& r) {
  const Node& node = r.node();
  const Tensor* by = r.graph.ConstantInput(node, 1);
  const Value& quotient = r.graph.value(node.outputs[0]);
  if (by == nullptr || by->size() > 65536 || !IsFloat(by->dtype)) return OkStatus();
  const bool smooth = !quotient.uses.empty() && quotient.output_uses == 0 &&
                      std::all_of(quotient.uses.begin(), quotient.uses.end(),
                                  [&](const Use& use) { return r.graph.node(use.node).Is("Erf"); });
  std::vector<double> inverse = by->AsDoubles();
  for (double& v : inverse) {
    int exponent = 0;
    const bool exact = std::abs(std::frexp(v, &exponent)) == 0.5;
    if (!std::isfinite(v) || v == 0 || (!exact && !smooth)) return OkStatus();
    v = 1 / v;
  }
  Tensor factors = MakeFromDoubles(by->dtype, by->shape, inverse);
  for (int64_t i = 0; i < factors.size(); ++i) {
    // Not where the type has no such number, or a denormal one that a machine may take for zero.
    const double v = factors.DoubleAt(i), least = by->dtype == DType::kFloat16 ? 0x1p-14 : 0x1p-126;
    if (!std::isfinite(v) || std::abs(v) < least) return OkStatus();
  }
  r.graph.SetInput(r.id, 1, r.graph.AddConstant(quotient.name + "/inverse", std::move(factors)));
  r.graph.SetOp(r.id, "Mul");
  return OkStatus();
}

void SetDefaults(Rewriter& r) {
  struct Row {
    std::string_view op;
    std::string_view attribute;
    Attribute value;
  };
  // Selu's and others' defaults as in ONNX's operator documents.
  static const std::vector<Row> kRows = {
      {"BatchNormalization", "epsilon", 1e-5f},
      {"Celu", "alpha", 1.0f},
      {"DepthToSpace", "mode", std::string("DCR")},
      {"Elu", "alpha", 1.0f},
      {"Gelu", "approximate", std::string("none")},
      {"Gemm", "alpha", 1.0f},
      {"Gemm", "beta", 1.0f},
      {"Gemm", "transA", int64_t{0}},
      {"Gemm", "transB", int64_t{0}},
      {"HardSigmoid", "alpha", 0.2f},
      {"HardSigmoid", "beta", 0.5f},
      {"LRN", "alpha", 1e-4f},
      {"LRN", "beta", 0.75f},
      {"LRN", "bias", 1.0f},
      {"LayerNormalization", "epsilon", 1e-5f},
      {"LeakyRelu", "alpha", 0.01f},
      {"Mod", "fmod", int64_t{0}},
      {"Selu", "alpha", 1.67326319217681884765625f},
      {"Selu", "gamma", 1.05070102214813232421875f},
      {"ArgMax", "keepdims", int64_t{1}},
      {"ArgMin", "keepdims", int64_t{1}},
      {"ArgMax", "select_last_index", int64_t{0}},
      {"ArgMin", "select_last_index", int64_t{0}},
  };
  for (const Row& row : kRows) {
    if (row.op == r.node().op) r.Default(std::string(row.attribute), row.value);
  }
}

Status CanonicalizeNode(Rewriter& r) {
  const Node& node = r.node();
  const std::string op = node.op;
  SetDefaults(r);
  if (op == "Conv" || op == "ConvTranspose") return CanonicalizeConv(r);
  if (op == "MaxPool" || op == "AveragePool" || op == "LpPool") return CanonicalizePool(r);
  if (op == "Reshape" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze") {
    return CanonicalizeReshape(r);
  }
  if (op.starts_with("Reduce")) return CanonicalizeReduce(r);
  if (op == "Slice") return CanonicalizeSlice(r);
  if (op == "Pad") return CanonicalizePad(r);
  if (op == "Split") return CanonicalizeSplit(r);
  if (op == "Softmax" || op == "LogSoftmax" || op == "LayerNormalization") {
    return CanonicalizeAxis(r, -1);
  }
  if (op == "Concat" || op == "Gather" || op == "GatherElements" || op == "ArgMax" ||
      op == "ArgMin") {
    return CanonicalizeAxis(r, 0);
  }
  if (op == "Sum" || op == "Mean" || op == "Max" || op == "Min") return CanonicalizeVariadic(r);
  if (op == "Div") return CanonicalizeDiv(r);
  if (op == "Expand") r.SetInts(1, "shape", r.graph.shape(node.outputs[0]));
  if (op == "Transpose" && node.Ints("perm").empty()) {
    Ints perm(r.graph.type(node.inputs[0]).dims.size());
    std::iota(perm.rbegin(), perm.rend(), 0);
    r.Set("perm", perm);
  } else if (op == "Transpose") {
    Ints perm = node.Ints("perm");
    for (int64_t& axis : perm) axis += axis < 0 ? static_cast<int64_t>(perm.size()) : 0;
    r.Set("perm", perm);
  }
  return OkStatus();
}

// All present operands and results have static types, and some result is wanted.
bool IsTyped(const Graph& graph, const Node& node) {
  bool wanted = false;
  for (int input : node.inputs) {
    if (input != kNone && !graph.type(input).IsStatic()) return false;
  }
  for (int output : node.outputs) {
    if (output == kNone) continue;
    wanted = true;
    if (!graph.type(output).IsStatic()) return false;
  }
  // Results that are absent may only follow ones that are there, but for Split.
  return wanted && (node.Is("Split") || node.Output(0) != kNone);
}

}  // namespace

Status RunCanonicalize(Graph& graph) {
  const std::vector<int> order = graph.order();
  for (int id : order) {
    if (!IsTyped(graph, graph.node(id)) || !graph.node(id).domain.empty()) continue;
    Rewriter rewriter{graph, id};
    TEMPER_RETURN_IF_ERROR(CanonicalizeNode(rewriter));
  }
  return OkStatus();
}

}  // namespace temper::graph
