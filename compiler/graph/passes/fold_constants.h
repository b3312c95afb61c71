// Pass fold_constants: nodes whose operands are constant become constants.
//
//   c = Mul(2, 3); y = Add(x, c)
//   y = Add(x, 6)
//
// Results are kept only as long as they add no more to the memory than the model's constants and
// kMaxFoldedBytes; an operand that nothing else reads makes room for its result. So a few bytes of
// model cannot fill the memory. What no kernel computes, such as ConstantOfShape, has a bound of
// its own, kMaxGrowthBytes. What is read is bounded by a multiple of the model's constants, so that
// it cannot take forever.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

inline constexpr int64_t kMaxFoldedBytes = int64_t{48} << 20;
// Of a result that another pass may make.
inline constexpr int64_t kMaxGrowthBytes = int64_t{1} << 30;

Status RunFoldConstants(Graph& graph);

}  // namespace temper::graph
