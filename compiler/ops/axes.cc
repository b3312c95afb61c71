#include "compiler/ops/axes.h"

#include <algorithm>

namespace temper::ops {

Result<int> NormalizeAxis(const graph::Node& node, int64_t axis, size_t rank) {
  const auto n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n) {
    return InvalidArgument(node.Describe() + ": axis " + std::to_string(axis) +
                           " is not one of an operand with " + std::to_string(n) + " dimensions");
  }
  return static_cast<int>(axis < 0 ? axis + n : axis);
}

Result<std::vector<int>> AxesOf(const Emitter& e, size_t i, size_t rank) {
  std::vector<int64_t> stated = e.node().Ints("axes");
  if (e.HasInput(i)) {
    TEMPER_ASSIGN_OR_RETURN(stated, e.ConstantInts(i, "axes"));
  }
  std::vector<int> axes;
  for (int64_t axis : stated) {
    TEMPER_ASSIGN_OR_RETURN(const int a, NormalizeAxis(e.node(), axis, rank));
    axes.push_back(a);
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

}  // namespace temper::ops
