#include "compiler/graph/compose/composer.h"

#include <fmt/format.h>

#include "compiler/graph/infer/infer.h"

namespace temper::graph {

void Composer::Refuse(const std::string& what) {
  if (status_.ok()) status_ = Unimplemented(node_.Describe() + ": " + what);
}

std::vector<int> Composer::Ops(const std::string& op, std::vector<int> inputs, int count,
                               Attributes attributes) {
  std::vector<int> failed(static_cast<size_t>(count), kNone);
  if (!status_.ok()) return failed;
  const std::string base = [&] {
    for (int output : node_.outputs) {
      if (output != kNone) return graph_.value(output).name;
    }
    return std::string("value");
  }();
  std::vector<std::string> names(static_cast<size_t>(count), base + "/" + op);
  const int id = graph_.InsertBefore(id_, op, std::move(inputs), std::move(names),
                                     std::move(attributes), node_.sources);
  const std::vector<int> outputs = graph_.node(id).outputs;
  status_ = InferAndFoldSmall(graph_, id);
  for (int output : outputs) {
    if (status_.ok() && !graph_.type(output).IsStatic()) {
      status_ = Unimplemented(node_.Describe() + ": its shape is only known when the model runs");
    }
  }
  return status_.ok() ? outputs : failed;
}

int Composer::Op(const std::string& op, std::vector<int> inputs, Attributes attributes) {
  return Ops(op, std::move(inputs), 1, std::move(attributes))[0];
}

int Composer::Cast(int x, DType to) {
  if (!ok() || dtype(x) == to) return x;
  return Op("Cast", {x}, {{"to", std::string(Name(to))}});
}

int Composer::Reshape(int x, const Shape& to) {
  if (!ok() || shape(x) == to) return x;
  return Op("Reshape", {x, Ints(to)}, {{"allowzero", int64_t{1}}});
}

int Composer::Transpose(int x, std::vector<int64_t> perm) {
  bool same = true;
  for (size_t i = 0; i < perm.size(); ++i) same = same && perm[i] == static_cast<int64_t>(i);
  if (!ok() || same) return x;
  return Op("Transpose", {x}, {{"perm", std::move(perm)}});
}

int Composer::Expand(int x, const Shape& to) {
  if (!ok() || shape(x) == to) return x;
  return Op("Expand", {x, Ints(to)});
}

int Composer::Unsqueeze(int x, const std::vector<int64_t>& axes) {
  return axes.empty() ? x : Op("Unsqueeze", {x, Ints(axes)});
}

int Composer::Slice(int x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  if (!ok() || (start == 0 && step == 1 && end == shape(x)[axis])) return x;
  return Op("Slice", {x, Ints({start}), Ints({end}), Ints({axis}), Ints({step})});
}

int Composer::Concat(std::vector<int> inputs, int64_t axis) {
  if (inputs.size() == 1) return inputs[0];
  return Op("Concat", std::move(inputs), {{"axis", axis}});
}

int Composer::Gather(int x, int indices, int64_t axis) {
  return Op("Gather", {x, indices}, {{"axis", axis}});
}

int Composer::Reduce(const std::string& op, int x, const std::vector<int64_t>& axes, bool keep) {
  if (!ok() || axes.empty()) return x;
  return Op(op, {x, Ints(axes)}, {{"keepdims", int64_t{keep}}});
}

int Composer::Ints(const std::vector<int64_t>& values) {
  return IntsOfShape({static_cast<int64_t>(values.size())}, values);
}

int Composer::IntsOfShape(const Shape& shape, const std::vector<int64_t>& values) {
  return graph_.AddConstant(node_.op + "/constant", MakeInts(shape, values));
}

int Composer::Numbers(DType dtype, const Shape& shape, const std::vector<double>& values) {
  return graph_.AddConstant(node_.op + "/constant", MakeFromDoubles(dtype, shape, values));
}

int64_t Composer::Axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    Refuse(fmt::format("axis {} does not exist in a tensor of {} dimensions", axis, rank));
    return 0;
  }
  return axis < 0 ? axis + rank : axis;
}

std::vector<ResizeAxis> Composer::ResizeAxesOfNode() {
  auto axes = ResizeAxes(InferContext(graph_, id_));
  if (!axes.ok()) {
    if (status_.ok()) status_ = axes.status();
    return {};
  }
  if (!*axes) Refuse("its sizes are only known when the model runs");
  return axes->value_or(std::vector<ResizeAxis>());
}

void Composer::Replace(size_t i, int value) {
  const int output = node_.Output(i);
  if (!status_.ok() || output == kNone) return;
  if (graph_.type(output) != graph_.type(value)) {
    status_ = Internal(fmt::format("{}: its composition gives {} where the graph has {}",
                                   node_.Describe(), graph_.type(value).ToString(),
                                   graph_.type(output).ToString()));
    return;
  }
  graph_.ReplaceUses(output, value);
}

Status Composer::Finish() {
  if (!status_.ok()) return status_;
  for (int output : node_.outputs) {
    if (output == kNone) continue;
    if (!graph_.value(output).uses.empty() || graph_.IsOutput(output)) {
      return Internal(node_.Describe() + ": its composition leaves an output out");
    }
  }
  graph_.RemoveNode(id_);
  return OkStatus();
}

}  // namespace temper::graph
