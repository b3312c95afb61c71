// Slice, Split, Concat.
#include <algorithm>

#include "compiler/ops/axes.h"
#include "compiler/ops/op_table.h"

namespace temper::ops {

using tir::Expr;

Status BuildSlice(Emitter& e) {
  const int x = e.Input(0);
  const graph::Shape in = e.shape(x);
  TEMPER_ASSIGN_OR_RETURN(const auto starts, e.ConstantInts(1, "starts"));
  std::vector<int64_t> axes, steps(starts.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (e.HasInput(3)) {
    TEMPER_ASSIGN_OR_RETURN(axes, e.ConstantInts(3, "axes"));
  }
  if (e.HasInput(4)) {
    TEMPER_ASSIGN_OR_RETURN(steps, e.ConstantInts(4, "steps"));
  }
  if (axes.size() != starts.size() || steps.size() != starts.size()) {
    return InvalidArgument(e.node().Describe() + ": starts, axes and steps differ in length");
  }
  // Where it ends follows from the result's shape.
  std::vector<int64_t> begin(in.size(), 0), step(in.size(), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    TEMPER_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(e.node(), axes[i], in.size()));
    const int64_t extent = in[axis];
    int64_t start = starts[i] < 0 ? starts[i] + extent : starts[i];
    if (steps[i] == 0) return InvalidArgument(e.node().Describe() + ": a step of 0");
    start = std::clamp<int64_t>(start, 0, steps[i] > 0 ? extent : extent - 1);
    begin[axis] = start;
    step[axis] = std::clamp<int64_t>(steps[i], -(int64_t{1} << 40), int64_t{1} << 40);
  }
  const graph::Shape out = e.shape(e.Output(0));
  for (size_t d = 0; d < in.size(); ++d) {
    if (out[d] == 1) continue;
    const int64_t last = begin[d] + (out[d] - 1) * step[d];
    if (last < 0 || last >= in[d]) return e.Refuse("its result is larger than its operand allows");
  }
  e.DefinePoints(0, [&](const Indices& p) {
    Indices indices;
    for (size_t d = 0; d < in.size(); ++d) {
      indices.push_back(out[d] == 1 ? Expr(begin[d]) : p[d] * Expr(step[d]) + Expr(begin[d]));
    }
    return e.Read(x, indices);
  });
  return OkStatus();
}

Status BuildSplit(Emitter& e) {
  const int x = e.Input(0);
  const graph::Shape in = e.shape(x);
  TEMPER_ASSIGN_OR_RETURN(const int axis,
                          NormalizeAxis(e.node(), e.node().Int("axis", 0), in.size()));
  // Parts whose value nobody asked for have no shape to read: the others then need `split`.
  std::vector<int64_t> parts;
  if (e.HasInput(1)) {
    TEMPER_ASSIGN_OR_RETURN(parts, e.ConstantInts(1, "split"));
  } else {
    const auto n = static_cast<int64_t>(e.node().outputs.size());
    const int64_t each = (in[axis] + n - 1) / n;
    for (int64_t i = 0; i < n; ++i) parts.push_back(std::min(each, in[axis] - i * each));
  }
  if (parts.size() != e.node().outputs.size()) {
    return InvalidArgument(e.node().Describe() + ": split does not name one extent an output");
  }
  int64_t begin = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] < 0 || begin + parts[i] > in[axis]) {
      return InvalidArgument(e.node().Describe() + ": split does not fit the operand");
    }
    if (e.Output(i) != graph::kNone) {
      e.DefinePoints(i, [&](const Indices& p) {
        Indices indices = p;
        indices[axis] = p[axis] + Expr(begin);
        return e.Read(x, indices);
      });
    }
    begin += parts[i];
  }
  return OkStatus();
}

Status BuildConcat(Emitter& e) {
  const graph::Shape out = e.shape(e.Output(0));
  TEMPER_ASSIGN_OR_RETURN(const int axis,
                          NormalizeAxis(e.node(), e.node().Int("axis", 0), out.size()));
  std::vector<std::pair<int, int64_t>> parts;  // value, first position; those with elements
  int64_t begin = 0;
  for (int input : e.node().inputs) {
    const int64_t extent = input == graph::kNone ? 0 : e.shape(input)[axis];
    if (extent > 0) parts.emplace_back(input, begin);
    begin += extent;
  }
  if (begin != out[axis] || parts.empty()) return e.Refuse("operands that do not fill its result");
  e.DefinePoints(0, [&](const Indices& p) {
    Expr value;
    for (size_t i = parts.size(); i-- > 0;) {
      Indices indices = p;
      indices[axis] = p[axis] - Expr(parts[i].second);
      const Expr v = e.Read(parts[i].first, indices);
      value = value ? tir::Select(tir::Lt(p[axis], Expr(parts[i + 1].second)), v, value) : v;
    }
    return value;
  });
  return OkStatus();
}

}  // namespace temper::ops
