#include "compiler/import/sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/import/upgrade.h"

namespace temper::importer {
namespace {

using graph::kNone;

class Builder {
 public:
  Builder(graph::Graph& graph, const SequenceNode& node) : graph_(graph), node_(node) {}

  Result<TensorOrSequence> Build() {
    const std::string& op = node_.op;
    if (op == "SequenceEmpty") return TensorOrSequence(Sequence());
    if (op == "SequenceConstruct") return Construct();
    if (op == "SplitToSequence") return Split();
    if (node_.inputs.empty() || !std::holds_alternative<Sequence>(node_.inputs[0])) {
      return Error("input 0 must be a sequence");
    }
    Sequence sequence = std::get<Sequence>(node_.inputs[0]);
    if (op == "Identity") return TensorOrSequence(std::move(sequence));
    if (op == "SequenceInsert") return Insert(std::move(sequence));
    if (op == "SequenceErase") return Erase(std::move(sequence));
    if (op == "SequenceAt") return At(sequence);
    if (op == "SequenceLength") {
      const auto length = static_cast<int64_t>(sequence.size());
      return TensorOrSequence(graph_.AddConstant(node_.output, graph::MakeInts({}, {&length, 1})));
    }
    return Concat(sequence);
  }

 private:
  Status Error(const std::string& what) const {
    return InvalidArgument(fmt::format("{} '{}': {}", node_.op, node_.name, what));
  }
  Status Refuse(const std::string& what) const {
    return Unimplemented(fmt::format("{} '{}': {}", node_.op, node_.name, what));
  }

  int Tensor(size_t i) const {
    const auto* value = i < node_.inputs.size() ? std::get_if<int>(&node_.inputs[i]) : nullptr;
    return value == nullptr ? kNone : *value;
  }
  int64_t Int(const std::string& name, int64_t absent) const {
    const auto at = node_.attributes.find(name);
    const auto* value = at == node_.attributes.end() ? nullptr : std::get_if<int64_t>(&at->second);
    return value == nullptr ? absent : *value;
  }

  // Input `i`, a position from 0 to `last` or from the end; `absent` where there is none.
  Result<int64_t> Position(size_t i, int64_t size, int64_t last, int64_t absent) const {
    if (i < node_.inputs.size() && std::holds_alternative<Sequence>(node_.inputs[i])) {
      return Error("its position is a sequence");
    }
    const int value = Tensor(i);
    if (value == kNone) {
      if (absent < 0) return Error("it has no position to read");
      return absent;
    }
    const graph::Tensor* tensor = graph_.value(value).constant.get();
    if (tensor == nullptr) return Refuse("its position is only known at run time");
    if (!IsInt(tensor->dtype) || tensor->size() != 1) return Error("its position is no integer");
    const int64_t at = tensor->IntAt(0);
    if (at < -size || at > last) {
      return Error(fmt::format("position {} is not in a sequence of {}", at, size));
    }
    return at < 0 ? at + size : at;
  }

  Result<TensorOrSequence> Construct() const {
    Sequence sequence;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (Tensor(i) == kNone) return Error(fmt::format("input {} is no tensor", i));
      sequence.push_back(Tensor(i));
    }
    if (sequence.empty()) return Error("it has no inputs");
    return TensorOrSequence(std::move(sequence));
  }

  Result<TensorOrSequence> Insert(Sequence sequence) const {
    if (Tensor(1) == kNone) return Error("input 1 is no tensor");
    const auto size = static_cast<int64_t>(sequence.size());
    if (size >= kMaxSequence) return TooLong();
    TEMPER_ASSIGN_OR_RETURN(const int64_t at, Position(2, size, size, size));
    sequence.insert(sequence.begin() + at, Tensor(1));
    return TensorOrSequence(std::move(sequence));
  }

  Result<TensorOrSequence> Erase(Sequence sequence) const {
    const auto size = static_cast<int64_t>(sequence.size());
    TEMPER_ASSIGN_OR_RETURN(const int64_t at, Position(1, size, size - 1, size - 1));
    sequence.erase(sequence.begin() + at);
    return TensorOrSequence(std::move(sequence));
  }

  Result<TensorOrSequence> At(const Sequence& sequence) const {
    const auto size = static_cast<int64_t>(sequence.size());
    TEMPER_ASSIGN_OR_RETURN(const int64_t at, Position(1, size, size - 1, -1));
    return TensorOrSequence(sequence[static_cast<size_t>(at)]);
  }

  Status TooLong() const {
    return ResourceExhausted(fmt::format("{} '{}': a sequence has more than {} tensors", node_.op,
                                         node_.name, kMaxSequence));
  }

  Result<int> Emit(const std::string& op, std::vector<int> inputs, const std::string& output,
                   graph::Attributes attributes) {
    TEMPER_ASSIGN_OR_RETURN(const std::vector<int> values,
                            EmitAll(op, std::move(inputs), {output}, std::move(attributes)));
    return values[0];
  }
  Result<std::vector<int>> EmitAll(const std::string& op, std::vector<int> inputs,
                                   std::vector<std::string> outputs, graph::Attributes attributes) {
    SourceNode source;
    source.op = op;
    source.name = node_.name;
    source.inputs = std::move(inputs);
    source.used.assign(outputs.size(), true);
    source.outputs = std::move(outputs);
    source.attributes = std::move(attributes);
    return Upgrade(graph_, graph::kCanonicalOpset, std::move(source));
  }
  int Ints(const std::string& what, const std::vector<int64_t>& values) {
    return graph_.AddConstant(node_.name + "/" + what,
                              graph::MakeInts({static_cast<int64_t>(values.size())}, values));
  }

  // The sizes of the parts along a dimension of `size`.
  Result<std::vector<int64_t>> Sizes(int64_t size) const {
    std::vector<int64_t> sizes;
    const int split = Tensor(1);
    if (split == kNone) {
      if (size > kMaxSequence) return TooLong();
      sizes.assign(static_cast<size_t>(size), 1);
      return sizes;
    }
    const graph::Tensor* tensor = graph_.value(split).constant.get();
    if (tensor == nullptr) return Refuse("its split is only known at run time");
    if (!IsInt(tensor->dtype) || tensor->shape.size() > 1 || tensor->size() > kMaxSequence) {
      return Error("its split is no list of integers");
    }
    if (!tensor->shape.empty()) return tensor->AsInts();
    const int64_t part = tensor->IntAt(0);
    if (part < 1) return Error(fmt::format("its split is {}", part));
    if (size / part >= kMaxSequence) return TooLong();
    for (int64_t at = 0; at < size; at += part) sizes.push_back(std::min(part, size - at));
    return sizes;
  }

  Result<TensorOrSequence> Split() {
    const int x = Tensor(0);
    if (x == kNone) return Error("input 0 is no tensor");
    const graph::ValueType& type = graph_.type(x);
    const auto rank = static_cast<int64_t>(type.dims.size());
    int64_t axis = Int("axis", 0);
    if (!type.has_rank) return Refuse("its operand's shape is only known at run time");
    if (axis < -rank || axis >= rank) return Error(fmt::format("axis {} does not exist", axis));
    axis += axis < 0 ? rank : 0;
    if (!type.dims[static_cast<size_t>(axis)].known()) {
      return Refuse("its operand's shape is only known at run time");
    }
    TEMPER_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes,
                            Sizes(type.dims[static_cast<size_t>(axis)].value));
    if (sizes.empty()) return TensorOrSequence(Sequence());
    std::vector<std::string> names;
    for (size_t i = 0; i < sizes.size(); ++i) {
      names.push_back(fmt::format("{}/{}", node_.output, i));
    }
    TEMPER_ASSIGN_OR_RETURN(Sequence parts,
                            EmitAll("Split", {x, Ints("split", sizes)}, names, {{"axis", axis}}));
    if (Tensor(1) == kNone && Int("keepdims", 1) == 0) {
      const int axes = Ints("axes", {axis});
      for (size_t i = 0; i < parts.size(); ++i) {
        TEMPER_ASSIGN_OR_RETURN(parts[i], Emit("Squeeze", {parts[i], axes}, names[i], {}));
      }
    }
    return TensorOrSequence(std::move(parts));
  }

  Result<TensorOrSequence> Concat(Sequence parts) {
    if (parts.empty()) return Error("its sequence is empty");
    const auto axis = node_.attributes.find("axis");
    if (axis == node_.attributes.end()) return Error("attribute 'axis' is missing");
    if (Int("new_axis", 0) != 0) {
      const int axes = Ints("axes", {Int("axis", 0)});
      for (int& part : parts) {
        TEMPER_ASSIGN_OR_RETURN(part, Emit("Unsqueeze", {part, axes}, node_.output + "/part", {}));
      }
    }
    TEMPER_ASSIGN_OR_RETURN(
        const int y, Emit("Concat", std::move(parts), node_.output, {{"axis", Int("axis", 0)}}));
    return TensorOrSequence(y);
  }

  graph::Graph& graph_;
  const SequenceNode& node_;
};

}  // namespace

bool IsSequenceOperator(std::string_view op) {
  static constexpr std::string_view kOperators[] = {
      "ConcatFromSequence", "SequenceAt",     "SequenceConstruct", "SequenceEmpty",
      "SequenceErase",      "SequenceInsert", "SequenceLength",    "SplitToSequence"};
  return std::find(std::begin(kOperators), std::end(kOperators), op) != std::end(kOperators);
}

Result<TensorOrSequence> AddSequenceNode(graph::Graph& graph, const SequenceNode& node) {
  return Builder(graph, node).Build();
}

}  // namespace temper::importer
