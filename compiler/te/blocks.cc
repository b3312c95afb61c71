#include "compiler/te/blocks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/te/rewrite.h"

namespace temper::te {
namespace {

using tir::Expr;

constexpr int64_t kMostResults = 64;
constexpr int64_t kLeastElements = 65536;  // of one result
constexpr int64_t kMostBlocks = 64;
constexpr int64_t kLeastOfBlock = 8192;

struct Found {
  size_t stage = 0, axis = 0;  // of its reduction axes
  int64_t blocks = 0;
};

std::optional<Found> Find(const Program& program) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const Stage& stage = program.stages[s];
    const DType dtype = program.tensors[stage.tensor].dtype;
    if (stage.reduce.empty() || (ByteSize(dtype) == 8 && IsInt(dtype))) continue;
    if (stage.spatial.size() + 1 > kMaxRank || program.stages.size() + 1 > kMaxStages ||
        program.tensors.size() + 1 > kMaxTensors) {
      continue;
    }
    int64_t results = 1, elements = 1;
    for (const Axis& a : stage.spatial) results *= a.extent;
    size_t longest = 0;
    for (size_t a = 0; a < stage.reduce.size(); ++a) {
      elements *= stage.reduce[a].extent;
      if (stage.reduce[a].extent > stage.reduce[longest].extent) longest = a;
    }
    if (results > kMostResults || elements < kLeastElements) continue;
    const int64_t extent = stage.reduce[longest].extent;
    const int64_t most = std::min({kMostBlocks, elements / kLeastOfBlock, extent / 2});
    if (most < 2) continue;
    // Blocks that divide the axis need no comparison in the loop.
    int64_t blocks = most;
    while (blocks > 1 && extent % blocks != 0) --blocks;
    return Found{s, longest, blocks >= std::min<int64_t>(8, most) ? blocks : most};
  }
  return std::nullopt;
}

}  // namespace

bool HasBlocks(const Program& program) { return Find(program).has_value(); }

Result<Program> MakeBlocks(const Program& program) {
  const auto found = Find(program);
  if (!found) return FailedPrecondition("the workload has no huge reduction of few results");
  Program p = program;
  const Stage original = p.stages[found->stage];
  const Axis& axis = original.reduce[found->axis];
  const DType dtype = p.tensors[original.tensor].dtype;
  const int64_t steps = (axis.extent + found->blocks - 1) / found->blocks;

  Stage blocks = original;
  blocks.name += ".blocks";
  const Expr block = p.NewVar("b");
  blocks.spatial.push_back({block, found->blocks});
  blocks.reduce[found->axis] = {p.NewVar("q"), steps};
  const Expr at = block * tir::Index(steps) + blocks.reduce[found->axis].var;
  std::vector<Expr> map(p.next_var);
  map[axis.var->var_id()] = at;
  blocks.body = tir::Substitute(original.body, map);
  if (steps * found->blocks != axis.extent) {
    blocks.body = tir::Select(tir::Lt(at, tir::Index(axis.extent)), blocks.body,
                              Identity(original.combiner, dtype));
  }
  CombineParts(p, found->stage, std::move(blocks));
  return p;
}

}  // namespace temper::te
