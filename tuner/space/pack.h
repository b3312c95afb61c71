// Packing an operand of a tiled reduction into the order in which the tile reads it.
//
//   w[oc, ic, kh, kw], tile 32 along oc, loops kh, kw, ic
//   -> w.pack[oc / 32, kh, kw, ic, oc % 32]
#pragma once

#include <vector>

#include "compiler/schedule/schedule.h"
#include "tuner/space/rules.h"

namespace temper::tuner {

// Whether every dimension of the read is one axis of the stage, each a different one, or fixed, or
// q * L + l of a reduction's axis q and a spatial axis l of extent L (te/lane_sums.h).
bool CanPack(const RuleContext& context, int stage, const Read& read);

// `loop_order`: axes of the reading stage `stage` in the order of its loops, outermost first.
// `block`: for each axis the extent of its inner block, 1: none. REQUIRES: CanPack.
schedule::Step PackStep(const RuleContext& context, int stage, const Read& read,
                        const std::vector<int>& loop_order, const std::vector<int64_t>& block);

// The schedule of a pack's stage: known when the kernel is compiled, or a loop nest of its own.
void EmitPack(const schedule::Step& step, bool constant, int threads, schedule::StageSchedule* out);

}  // namespace temper::tuner
