// What lowering knows before it writes a statement: for each stage that has loops, its body with
// inlined stages substituted, its loop variables, the value of each axis in terms of them, and,
// where the stage lies inside another's loop, the region it must compute there.
//
// Region inference: a stage placed at a loop computes, for each of its axes, an interval
// [base, base + extent) that covers what its readers read while the loops outside that point
// stand still. The base is an expression in the outer variables, the extent a number. Reads that
// are not affine need the whole axis.
#pragma once

#include <optional>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/tir/affine.h"

namespace temper::lower {

struct Loop {
  tir::Expr var;
  int64_t extent = 1;
  tir::Bind bind = tir::Bind::kSerial;
  int group = 0;
  int level = 0;
  // For level 0 of a clipped group: `base` = min(var * tile, bound), which the axis value uses.
  tir::Expr base;
  tir::Expr base_value;
};

struct StagePlan {
  bool has_loops = false;              // false: inlined, or computed when the kernel is compiled
  tir::Expr body;                      // in terms of the stage's axis variables; no inlined reads
  std::vector<Loop> loops;             // outermost first
  std::vector<tir::Expr> region_base;  // an axis: where the computed interval starts
  std::vector<int64_t> region_extent;  // and how long it is
  std::vector<tir::Expr> local;        // an axis: offset in the region, in terms of loop variables
  std::vector<tir::Expr> value;        // an axis: region_base + local
  std::vector<bool> masked;            // an axis: the loops may run past the region's end
  std::vector<bool> overhangs;         // an axis: `value` may lie outside [0, extent of the axis)
  std::vector<int> placed;             // stages that run inside a loop of this one, ascending
};

struct Plan {
  const te::Program* program = nullptr;
  const schedule::Schedule* schedule = nullptr;
  std::optional<int> root;  // only the loop nest of this stage is planned; none: all
  std::vector<StagePlan> stages;
  tir::Bounds bounds;  // of every loop variable
  int next_var = 0;

  tir::Expr NewVar(const std::string& name, int64_t lo, int64_t hi);
};

// REQUIRES: schedule::CheckStages(program, schedule). FAILED_PRECONDITION where factors do not
// divide a region or a region does not fit. `program` has the steps applied and must outlive the
// plan, as must the schedule. `root`: the stage at root whose nest alone is wanted, -1 for none.
Result<Plan> MakePlan(const te::Program& program, const schedule::Schedule& schedule,
                      std::optional<int> root = std::nullopt);

}  // namespace temper::lower
