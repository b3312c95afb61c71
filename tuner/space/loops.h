// Small helpers that the rules share: lanes, loop orders, edge policies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "tuner/space/rules.h"

namespace temper::tuner {

// Bytes of an element of the widest tensor that stage `s` reads or makes, at least 4.
int WidestBytes(const RuleContext& context, int s);

// Vector widths worth trying for stage `s` along an axis of `extent`: the target's, and smaller
// powers of two where that leaves a tail or does not fit; 1 where nothing else fits.
std::vector<int64_t> LaneChoices(const RuleContext& context, int s, int64_t extent);

// The axis of stage `s`'s result that is contiguous: the last one longer than 1, or the last.
// -1 for a scalar.
int ContiguousAxis(const te::Stage& stage);

// The values of `candidates` that are at most `limit`, at least {1}.
std::vector<int64_t> UpTo(std::vector<int64_t> candidates, int64_t limit);

// 0, 1, ..., n! - 1 for n axes, n at most 4: the numbers of their orders.
std::vector<int64_t> OrderChoices(size_t n);
// The order of that number of `axes` (lexicographic); axes before the last four keep their place.
std::vector<int> OrderedAxes(const std::vector<int>& axes, int64_t number);
// The first number whose order, of those of `axes` that `ordered` holds, is `ordered`; 0: none.
int64_t OrderNumber(const std::vector<int>& axes, const std::vector<int>& ordered);

// Leading loops that may be parallel: {0} for one thread, else 1 first, for `axes` outer loops.
std::vector<int64_t> ParallelChoices(int threads, size_t axes);

// kDivides where `tile` divides `extent`, else `other`.
schedule::Edge EdgeFor(int64_t extent, int64_t tile, schedule::Edge other);

// A root stage's tiles: for each axis its inner factors; then the order of its outer loops.
struct AxisTile {
  int64_t middle = 1;  // a serial loop between outer and tile
  int64_t tile = 1;    // unrolled
  int64_t lanes = 1;   // vector; of one axis only
  int64_t product() const { return middle * tile * lanes; }
};

// Groups and order for `stage` with a group an axis: outer loops in `outer_order` (trivial ones
// first), the first `parallel` that are not trivial parallel, with middle loops in the same order,
// then tiles and the vector loop. `unroll` false: tile loops stay serial. Returns the number of
// loops outside the tile.
int EmitTiledLoops(const te::Stage& stage, const std::vector<AxisTile>& tiles,
                   const std::vector<int>& outer_order, int64_t parallel, schedule::Edge tile_edge,
                   schedule::StageSchedule* out);

// The inverse: tiles, the outer axes that are not trivial in order, and parallel loops of those.
// False where the schedule does not look so.
bool ReadTiledLoops(const te::Stage& stage, const schedule::StageSchedule& s,
                    std::vector<AxisTile>* tiles, std::vector<int>* outer_order, int64_t* parallel);

}  // namespace temper::tuner
