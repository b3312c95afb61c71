#include "compiler/partition/in_place.h"

#include <algorithm>
#include <vector>

#include "compiler/ops/op_table.h"

namespace temper::partition {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::Shape;
using ops::OpKind;

constexpr int64_t kAlignment = 64;  // of every value's memory

int64_t Elements(const Shape& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph) {}

  // Takes the node in if all its parts can be; `copies` collects the operands that would need a
  // copy where that is all that is missing and worth it.
  void Visit(const Node& node, std::vector<size_t>* copies) {
    if (node.Is("Concat")) VisitConcat(node, copies);
    if (node.Is("Split")) VisitSplit(node);
    if (node.Is("Slice")) VisitSlice(node);
  }

  InPlace Take() { return std::move(found_); }

 private:
  bool IsRuntime(int node) const {
    const ops::OpEntry* entry = ops::FindBuilder(graph_.node(node));
    return entry == nullptr || ops::StandsAlone(entry->kind);
  }
  bool IsStatic(int value) const {
    if (value == kNone || !graph_.type(value).IsStatic() || !graph_.type(value).dtype) return false;
    const auto count = graph::ElementCount(graph_.shape(value));
    return count && *count > 0 && kAlignment % ByteSize(*graph_.type(value).dtype) == 0;
  }
  int64_t Bytes(int value) const { return ByteSize(*graph_.type(value).dtype); }

  // In scratch memory: what a kernel or a function of the runtime computes and nobody else owns.
  bool IsScratch(int value) const {
    const graph::Value& v = graph_.value(value);
    return IsStatic(value) && v.producer != kNone && !v.IsConstant() && !graph_.IsOutput(value);
  }
  bool TouchedByRuntime(int value) const {
    const graph::Value& v = graph_.value(value);
    return IsRuntime(v.producer) ||
           std::any_of(v.uses.begin(), v.uses.end(),
                       [&](const graph::Use& use) { return IsRuntime(use.node); });
  }

  // Whether a part along `axis` of a value of this shape has rows with gaps between.
  static bool HasGaps(const Shape& shape, int axis) {
    return std::any_of(shape.begin(), shape.begin() + axis, [](int64_t n) { return n != 1; });
  }
  bool LiesWithGaps(int value) const {
    auto part = found_.parts.find(value);
    if (part == found_.parts.end()) return false;
    const Part& p = part->second;
    return HasGaps(graph_.shape(p.of), p.axis) || LiesWithGaps(p.of);
  }
  // Whether values may be parts along this axis of `whole`, as far as that one is concerned.
  bool MayBeWhole(int whole, int axis) const {
    if (!IsScratch(whole) || axis < 0) return false;
    const Shape shape = graph_.shape(whole);
    if (axis + 1 == static_cast<int>(shape.size())) return !TouchedByRuntime(whole);
    return !HasGaps(shape, axis) && !LiesWithGaps(whole);
  }
  // The channels of a convolution in groups of several become two axes (te/split_groups.h), which
  // gaps between its pixels do not allow: a kernel for the concatenation costs less.
  bool TouchedByGroups(int value) const {
    if (!IsScratch(value)) return false;
    const auto grouped = [&](int id) {
      const Node& node = graph_.node(id);
      return node.op == "Conv" && node.Int("group", 1) > 1 && graph_.shape(node.inputs[1])[1] > 1;
    };
    constexpr int kMostBehind = 4;  // elementwise operators, which join the convolution's kernel
    int producer = graph_.value(value).producer;
    for (int i = 0; i < kMostBehind && producer != kNone; ++i) {
      const Node& node = graph_.node(producer);
      const ops::OpEntry* entry = ops::FindBuilder(node);
      if (grouped(producer)) return true;
      if (entry == nullptr || entry->kind != OpKind::kElementwise || !node.HasInput(0)) break;
      producer = graph_.value(node.inputs[0]).producer;
    }
    return false;
  }

  bool MayBePart(int value, int whole, int axis, int64_t begin) const {
    if (!IsScratch(value) || graph_.type(value).dtype != graph_.type(whole).dtype) return false;
    const Shape shape = graph_.shape(whole);
    if (axis + 1 == static_cast<int>(shape.size())) {
      return !TouchedByRuntime(value) && !dense_wholes_.count(value);
    }
    const int64_t inner = Elements(Shape(shape.begin() + axis + 1, shape.end()));
    return begin * inner * Bytes(value) % kAlignment == 0;
  }
  void Add(const Node& node, const std::map<int, Part>& parts) {
    for (const auto& [value, part] : parts) {
      found_.parts[value] = part;
      if (part.axis + 1 < static_cast<int>(graph_.shape(part.of).size())) {
        dense_wholes_.insert(part.of);
      }
    }
    found_.nodes.insert(node.id);
  }
  static int Axis(int64_t axis, const Shape& shape) {
    const auto rank = static_cast<int64_t>(shape.size());
    if (axis < 0) axis += rank;
    return axis < 0 || axis >= rank ? -1 : static_cast<int>(axis);
  }

  // What computes it must write it: a part of another value is where that one is.
  bool IsWritten(int value) const {
    const int producer = graph_.value(value).producer;
    return !found_.parts.count(value) && !IsRuntime(producer) &&
           (!found_.nodes.count(producer) || graph_.node(producer).Is("Concat"));
  }

  void VisitConcat(const Node& node, std::vector<size_t>* copies) {
    const int y = node.Output(0);
    if (!IsStatic(y)) return;
    const int axis = Axis(node.Int("axis", 0), graph_.shape(y));
    if (!MayBeWhole(y, axis)) return;
    std::map<int, Part> parts;
    std::vector<size_t> others;
    int64_t begin = 0, in_place = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int x = node.inputs[i];
      if (!IsStatic(x)) return;
      if (axis + 1 == static_cast<int>(graph_.shape(y).size()) && TouchedByGroups(x)) return;
      if (IsScratch(x) && IsWritten(x) && !parts.count(x) && MayBePart(x, y, axis, begin)) {
        parts[x] = {y, axis, begin, node.id};
        in_place += Elements(graph_.shape(x));
      } else {
        others.push_back(i);
        if (!MayHoldCopy(y, axis, begin)) return;
      }
      begin += graph_.shape(x)[axis];
    }
    if (others.empty()) {
      Add(node, parts);
    } else if (copies != nullptr && 2 * in_place >= Elements(graph_.shape(y)) && !IsOnlyMoved(y)) {
      *copies = others;
    }
  }

  bool MayHoldCopy(int whole, int axis, int64_t begin) const {
    const Shape shape = graph_.shape(whole);
    if (axis + 1 == static_cast<int>(shape.size())) return true;
    const int64_t inner = Elements(Shape(shape.begin() + axis + 1, shape.end()));
    return begin * inner * Bytes(whole) % kAlignment == 0;
  }

  // A concatenation that is only put in another order is one kernel with what does that.
  bool IsOnlyMoved(int value) const {
    const auto& uses = graph_.value(value).uses;
    return std::all_of(uses.begin(), uses.end(), [&](const graph::Use& use) {
      const ops::OpEntry* entry = ops::FindBuilder(graph_.node(use.node));
      return entry != nullptr && entry->kind == OpKind::kInjective;
    });
  }

  void VisitSplit(const Node& node) {
    const int x = node.Input(0);
    if (!IsStatic(x)) return;
    const int axis = Axis(node.Int("axis", 0), graph_.shape(x));
    if (!MayBeWhole(x, axis)) return;
    std::map<int, Part> parts;
    int64_t begin = 0;
    for (int y : node.outputs) {
      if (!IsStatic(y) || !MayBePart(y, x, axis, begin)) return;
      parts[y] = {x, axis, begin, node.id};
      begin += graph_.shape(y)[axis];
    }
    if (begin != graph_.shape(x)[axis]) return;
    Add(node, parts);
  }

  void VisitSlice(const Node& node) {
    const int x = node.Input(0), y = node.Output(0);
    if (!IsStatic(x) || !IsStatic(y)) return;
    const Shape in = graph_.shape(x), out = graph_.shape(y);
    const graph::Tensor* starts = graph_.ConstantInput(node, 1);
    if (starts == nullptr || in.size() != out.size()) return;
    const std::vector<int64_t> start = starts->AsInts();
    std::vector<int64_t> axes, steps(start.size(), 1);
    for (size_t i = 0; i < start.size(); ++i) axes.push_back(static_cast<int64_t>(i));
    for (size_t input : {3, 4}) {
      if (!node.HasInput(input)) continue;
      const graph::Tensor* given = graph_.ConstantInput(node, input);
      if (given == nullptr || given->AsInts().size() != start.size()) return;
      (input == 3 ? axes : steps) = given->AsInts();
    }
    int axis = -1;  // the one along which it takes a part
    int64_t begin = 0;
    for (size_t i = 0; i < start.size(); ++i) {
      const int a = Axis(axes[i], in);
      if (a < 0) return;
      if (in[a] == out[a] && steps[i] > 0) continue;
      if (steps[i] != 1 || axis >= 0) return;
      axis = a;
      begin = std::clamp<int64_t>(start[i] < 0 ? start[i] + in[a] : start[i], 0, in[a]);
    }
    if (axis < 0 || begin + out[axis] > in[axis]) return;
    if (MayBeWhole(x, axis) && MayBePart(y, x, axis, begin))
      Add(node, {{y, {x, axis, begin, node.id}}});
  }

  const Graph& graph_;
  InPlace found_;
  std::set<int> dense_wholes_;  // of parts that know no gaps
};

}  // namespace

Status CopyIntoConcats(graph::Graph& graph) {
  Finder finder(graph);
  const std::vector<int> order = graph.order();
  for (int id : order) {
    std::vector<size_t> copies;
    finder.Visit(graph.node(id), &copies);
    if (copies.empty()) continue;
    for (size_t input : copies) {
      const int x = graph.node(id).inputs[input];
      const int copy = graph.InsertBefore(id, "Identity", {x}, {graph.value(x).name}, {},
                                          graph.node(id).sources);
      const int y = graph.node(copy).outputs[0];
      graph.SetType(y, graph.type(x));
      graph.SetInput(id, input, y);
    }
    finder.Visit(graph.node(id), nullptr);
  }
  return OkStatus();
}

InPlace FindInPlace(const graph::Graph& graph) {
  Finder finder(graph);
  for (int id : graph.order()) finder.Visit(graph.node(id), nullptr);
  return finder.Take();
}

namespace {

class Placer {
 public:
  Placer(const Graph& graph, const InPlace& in_place, ops::Halos& halos)
      : graph_(graph), in_place_(in_place), halos_(halos) {}

  const Placement& Place(int value) {
    if (auto known = placed_.find(value); known != placed_.end()) return known->second;
    auto found = in_place_.parts.find(value);
    if (found == in_place_.parts.end()) return placed_[value] = {value, 0};
    const Part& part = found->second;
    Placement at = Place(part.of);
    const Shape whole = graph_.shape(part.of), shape = graph_.shape(value);
    const auto last = static_cast<int>(shape.size()) - 1;
    std::vector<int64_t> extent = whole;
    int64_t rows = 1;
    for (int d = 0; d <= last; ++d) {
      extent[d] += Before(part.of, d) + After(part.of, d);
      if (d < last) rows *= extent[d];
    }
    const int64_t bytes = ByteSize(*graph_.type(value).dtype);
    if (part.axis < last) {
      int64_t inner = bytes;
      for (int d = part.axis + 1; d <= last; ++d) inner *= extent[d];
      at.offset += part.begin * inner;
      return placed_[value] = at;
    }
    const int64_t begin = Before(part.of, last) + part.begin;
    const int64_t before = begin % (kAlignment / bytes);
    at.offset += (begin - before) * bytes;
    const int64_t after = rows == 1 ? 0 : extent[last] - before - shape[last];
    if (before != 0 || after != 0 || halos_.count(value)) {
      ops::Halo& halo = halos_[value];
      halo.before.resize(shape.size(), 0);
      halo.after.resize(shape.size(), 0);
      halo.before[last] = before;
      halo.after[last] = after;
    }
    return placed_[value] = at;
  }

 private:
  int64_t Before(int value, int d) const {
    auto halo = halos_.find(value);
    return halo == halos_.end() ? 0 : halo->second.before[d];
  }
  int64_t After(int value, int d) const {
    auto halo = halos_.find(value);
    return halo == halos_.end() ? 0 : halo->second.after[d];
  }

  const Graph& graph_;
  const InPlace& in_place_;
  ops::Halos& halos_;
  std::map<int, Placement> placed_;
};

}  // namespace

std::map<int, Placement> PlaceParts(const graph::Graph& graph, const InPlace& in_place,
                                    ops::Halos& halos) {
  Placer placer(graph, in_place, halos);
  std::map<int, Placement> places;
  for (const auto& [value, part] : in_place.parts) places[value] = placer.Place(value);
  return places;
}

}  // namespace temper::partition
