// Split and Concat of more tensors than one kernel takes: a tree of them.
#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "compiler/graph/compose/functions.h"

namespace temper::graph {
namespace {

// The parts of `x` along `axis`, of the sizes given, none of which is 0.
void SplitInto(Composer& c, int x, int64_t axis, std::span<const int64_t> sizes,
               std::vector<int>& parts) {
  const size_t most = kMaxSplitParts;
  const size_t each = sizes.size() <= most ? 1 : (sizes.size() + most - 1) / most;
  std::vector<int64_t> groups;
  for (size_t i = 0; i < sizes.size(); i += each) {
    const auto group = sizes.subspan(i, std::min(each, sizes.size() - i));
    groups.push_back(std::accumulate(group.begin(), group.end(), int64_t{0}));
  }
  const std::vector<int> values =
      groups.size() == 1
          ? std::vector<int>{x}
          : c.Ops("Split", {x, c.Ints(groups)}, static_cast<int>(groups.size()), {{"axis", axis}});
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t first = i * each;
    const auto group = sizes.subspan(first, std::min(each, sizes.size() - first));
    if (group.size() == 1) {
      parts.push_back(values[i]);
    } else {
      SplitInto(c, values[i], axis, group, parts);
    }
  }
}

}  // namespace

bool IsWide(const Node& node) {
  return (node.Is("Split") && node.outputs.size() > kMaxSplitParts) ||
         (node.Is("Concat") && node.inputs.size() > kMaxConcatParts);
}

void ComposeWideSplit(Composer& c) {
  const Node& node = c.node();
  const Shape shape = c.shape(c.In(0));
  const int64_t axis = c.Axis(node.Int("axis", 0), c.rank(c.In(0)));
  if (!c.ok()) return;
  const auto count = static_cast<int64_t>(node.outputs.size());
  std::vector<int64_t> sizes;
  if (const Tensor* split = c.Constant(1)) {
    sizes = split->AsInts();
  } else {
    const int64_t each = (shape[axis] + count - 1) / count;
    for (int64_t i = 0; i < count; ++i) {
      sizes.push_back(std::clamp<int64_t>(shape[axis] - i * each, 0, each));
    }
  }
  if (sizes.size() != node.outputs.size()) return c.Refuse("its sizes are not known");
  // Parts without elements are constants by now.
  std::vector<int64_t> some;
  for (int64_t size : sizes) {
    if (size > 0) some.push_back(size);
  }
  std::vector<int> parts;
  if (!some.empty()) SplitInto(c, c.In(0), axis, some, parts);
  if (!c.ok()) return;
  if (parts.size() == 1) parts[0] = c.Op("Identity", {parts[0]});
  for (size_t i = 0, next = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 0) c.Replace(i, parts[next++]);
  }
}

void ComposeWideConcat(Composer& c) {
  std::vector<int> parts = c.node().inputs;
  const int64_t axis = c.Axis(c.node().Int("axis", 0), c.rank(c.In(0)));
  while (c.ok() && parts.size() > 1) {
    std::vector<int> joined;
    for (size_t i = 0; i < parts.size(); i += kMaxConcatParts) {
      const size_t end = std::min(parts.size(), i + kMaxConcatParts);
      joined.push_back(c.Concat({parts.begin() + static_cast<std::ptrdiff_t>(i),
                                 parts.begin() + static_cast<std::ptrdiff_t>(end)},
                                axis));
    }
    parts = std::move(joined);
  }
  c.Replace(0, parts[0]);
}

}  // namespace temper::graph
