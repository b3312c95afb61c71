#include "tuner/space/row_copy.h"

#include <algorithm>

#include "tuner/space/loops.h"

namespace temper::tuner {

using schedule::Bind;

namespace {

constexpr int64_t kMostUnrolled = 8;  // vectors of a row, whose masks are then constants
constexpr int64_t kMostPhases = 4;

}  // namespace

schedule::StageSchedule CopySchedule(const RuleContext& context, int s,
                                     const schedule::Place& place) {
  const te::Stage& stage = context.stage(s);
  schedule::StageSchedule out;
  out.place = place;
  out.scope = tir::Scope::kStack;
  const int along = ContiguousAxis(stage);
  const int64_t extent = along < 0 ? 1 : stage.spatial[along].extent;
  int64_t lanes =
      context.target->Lanes(std::max(4, ByteSize(context.program->tensors[stage.tensor].dtype)));
  while (lanes / 2 >= extent) lanes /= 2;
  for (int a = 0; a < static_cast<int>(stage.spatial.size()); ++a) {
    schedule::Group group{{a}, {}, schedule::Edge::kDivides};
    const bool vector = a == along && lanes > 1;
    if (vector) {
      group.factors = {lanes};
      group.edge = schedule::Edge::kMask;
    }
    out.groups.push_back(std::move(group));
    if (a == along) continue;
    const bool phase = a + 1 == along && stage.spatial[a].extent <= kMostPhases;
    out.order.push_back({a, 0, phase ? Bind::kUnroll : Bind::kSerial});
  }
  if (along >= 0) {
    const bool unroll = (extent + lanes - 1) / lanes <= kMostUnrolled;
    out.order.push_back({along, 0, unroll ? Bind::kUnroll : Bind::kSerial});
    if (lanes > 1) out.order.push_back({along, 1, Bind::kVector});
  }
  return out;
}

}  // namespace temper::tuner
