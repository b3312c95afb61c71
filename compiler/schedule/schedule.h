// A schedule: how one program is computed, as data.
//
// First the structure: steps that add stages to the program (steps.h). Then, for each stage of
// the program so enlarged, its loops, its place and its storage. A schedule can be hashed,
// mutated, stored, printed (text.h), edited by hand, and applied or refused with a reason
// (legality.h). Stages, axes and tensors are numbers in the canonical program (te/canonical.h).
//
// Loops of a stage. Its axes are partitioned into groups; the axes of a group are fused row-major
// and then split by `factors`: a group with n factors gives n+1 loops, level 0 outermost. Level i
// over 0 has the extent factors[i-1]; level 0 has ceil(extent / product of factors). The edge
// policy says what happens where the product does not divide the extent. `order` lists all loops
// of the stage, outermost first.
//
// A stage with a reduction starts its result with the combiner's identity just before its
// outermost reduction loop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "compiler/te/program.h"
#include "compiler/tir/stmt.h"

namespace temper::schedule {

enum class Edge : uint8_t {
  kDivides,  // the factors' product divides the extent
  kClip,     // the last tile is moved back inside and recomputes what it overlaps; spatial only
  kMask,     // the tile overhangs; loads and stores are masked where the target can, else guarded
};

struct Group {
  std::vector<int> axes;         // axes of the stage, fused row-major; all spatial or all reduction
  std::vector<int64_t> factors;  // extents of the inner loops, outer to inner
  Edge edge = Edge::kDivides;

  friend bool operator==(const Group&, const Group&) = default;
};

using Bind = tir::Bind;

struct LoopRef {
  int group = 0;
  int level = 0;
  Bind bind = Bind::kSerial;  // kParallel: only the outermost loops of a root stage

  friend bool operator==(const LoopRef&, const LoopRef&) = default;
};

enum class PlaceKind : uint8_t {
  kRoot,      // a loop nest of its own
  kInline,    // its body replaces every read of it; not for reductions
  kConstant,  // computed when the kernel is compiled: a pack of a constant
  kAt,        // inside loop `loop` (an index into `order`) of stage `stage`, before deeper loops
};

struct Place {
  PlaceKind kind = PlaceKind::kRoot;
  int stage = -1;
  int loop = -1;

  friend bool operator==(const Place&, const Place&) = default;
};

struct Prefetch {
  int tensor = -1;   // read by the stage
  int loop = -1;     // index into `order`
  int distance = 0;  // iterations of that loop ahead

  friend bool operator==(const Prefetch&, const Prefetch&) = default;
};

struct StageSchedule {
  std::vector<Group> groups;
  std::vector<LoopRef> order;
  Place place;
  tir::Scope scope = tir::Scope::kWorkspace;  // of the result; kParam for outputs and constants
  std::vector<Prefetch> prefetches;

  friend bool operator==(const StageSchedule&, const StageSchedule&) = default;
};

enum class StepKind : uint8_t {
  kPack,        // tensor -> a stage that holds it reordered in blocks; all its readers read that
  kWriteCache,  // stage -> the stage's reduction moves to a new stage before it
  kSplitReduction,  // stage -> a new stage before it makes partial results, which it combines
};

// One dimension of a packed tensor: index i stands for i * step along `axis` of the source.
struct PackDim {
  int axis = 0;
  int64_t extent = 1;
  int64_t step = 1;

  friend bool operator==(const PackDim&, const PackDim&) = default;
};

struct Step {
  StepKind kind = StepKind::kPack;
  int target = -1;  // kPack: a tensor; else a stage
  // kPack: dimensions of the result, outermost first. For each source axis, the dims of that
  // axis, in order, are its blocks: the last has step 1 and each step is the next one's
  // step * extent. Together they cover the source's extent; the overhang holds zeros.
  std::vector<PackDim> dims;
  // kSplitReduction: a reduction axis of the stage, and how many partial results each element has.
  int axis = 0;
  int64_t parts = 0;

  friend bool operator==(const Step&, const Step&) = default;
};

struct Schedule {
  Hash workload;        // te::WorkloadHash of the program it was made for
  int alternative = 0;  // which program of the workload's alternatives
  int threads = 1;
  std::vector<Step> steps;
  std::vector<StageSchedule> stages;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// Over everything in the schedule (of a place, stage and loop only where the kind is kAt); the same
// on every platform.
Hash ScheduleHash(const Schedule& schedule);

// Limits on the lists of a schedule that comes from outside: a text, a message, a record.
inline constexpr size_t kMaxSteps = 64;
inline constexpr size_t kMaxPackDims = 24;
inline constexpr size_t kMaxStageSchedules = 256;
inline constexpr size_t kMaxGroups = 32;
inline constexpr size_t kMaxGroupAxes = 24;
inline constexpr size_t kMaxFactors = 16;
inline constexpr size_t kMaxOrder = 64;
inline constexpr size_t kMaxPrefetches = 16;

// INVALID_ARGUMENT where a list is longer than those, a number is negative or over 2^40, or an
// enum has no such value. Says nothing of any program: that is CheckLegal's part.
Status CheckBounds(const Schedule& schedule);

}  // namespace temper::schedule
