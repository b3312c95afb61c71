// A stage without a reduction as a loop nest of its own, everything it reads inlined or computed
// before: elementwise chains, copies, transposes, padding.
//
//   for outer loops (parallel, ordered by a knob)
//     for vectors (unrolled): for lanes: out = body
//
// The vector axis is the contiguous one of the result, or the one along which the largest operand
// is contiguous; where these differ, the other one is the unrolled one, so that code generation
// finds blocks of four by four to transpose. Where the plan says so, the nest may vanish into its
// reader instead.
#include <algorithm>

#include "tuner/space/loops.h"
#include "tuner/space/rules.h"

namespace temper::tuner {
namespace {

using schedule::Edge;
using schedule::StageSchedule;

enum KnobIndex { kInline, kAxis, kLanes, kVectors, kTile, kOrder, kParallel, kKnobCount };

class ElementwiseRule final : public NestRule {
 public:
  ElementwiseRule(const RuleContext& context, const Nest& nest) : context_(context), nest_(nest) {
    const te::Stage& stage = Stage();
    int contiguous = ContiguousAxis(stage);
    if (contiguous >= 0) axes_.push_back(contiguous);
    int64_t largest = 0;
    int other = -1;
    for (const Read& read : Info().reads) {
      int64_t points = 1;
      int along = -1;
      for (size_t a = 0; a < stage.spatial.size(); ++a) {
        if (read.DependsOn(static_cast<int>(a))) points *= stage.spatial[a].extent;
        if (read.strides[a] == 1 && stage.spatial[a].extent > 1) along = static_cast<int>(a);
      }
      if (points > largest && along >= 0) {
        largest = points;
        other = along;
      }
    }
    if (other >= 0 && other != contiguous) axes_.push_back(other);
    for (size_t a = 0; a < stage.spatial.size(); ++a) {
      if (stage.spatial[a].extent > 1) outer_.push_back(static_cast<int>(a));
    }
  }

  std::vector<Knob> Knobs() const override {
    std::vector<Knob> knobs(kKnobCount);
    knobs[kInline] = {"inline", 0, {0}};
    if (nest_.may_inline) knobs[kInline].values = {0, 1};
    knobs[kAxis] = {"axis", 0, {0}};
    int64_t extent = 1;
    if (axes_.size() > 1) knobs[kAxis].values.push_back(1);
    for (int a : axes_) extent = std::max(extent, Stage().spatial[a].extent);
    knobs[kLanes] = {"lanes", 0, LaneChoices(context_, nest_.root, extent)};
    knobs[kVectors] = {"vectors", 0, UpTo({1, 2, 4}, extent / knobs[kLanes].values.back())};
    knobs[kTile] = {
        "tile", 0,
        axes_.size() > 1 ? std::vector<int64_t>{1, 2, 4, 8} : std::vector<int64_t>{1, 2, 4}};
    // A few channels are woven into whole vectors (codegen/llvm/interleave.cc).
    if (axes_.size() > 1 && Stage().spatial[axes_[0]].extent == 3) knobs[kTile].values.push_back(3);
    knobs[kOrder] = {"order", 0, OrderChoices(outer_.size())};
    knobs[kParallel] = {"parallel", 0, ParallelChoices(context_.threads, outer_.size())};
    return knobs;
  }

  void Emit(KnobValues v, const StageNumbers& numbers, int,
            schedule::Schedule* out) const override {
    StageSchedule& s = out->stages[numbers.of_stage[nest_.root]];
    s = {};
    if (v[kInline] != 0) {
      s.place.kind = schedule::PlaceKind::kInline;
      return;
    }
    EmitTiledLoops(Stage(), Tiles(v), OrderedAxes(outer_, v[kOrder]), v[kParallel], Edge::kClip,
                   &s);
    s.scope = Info().output ? tir::Scope::kParam : tir::Scope::kWorkspace;
  }

  bool Extract(const schedule::Schedule& s, const StageNumbers& numbers, int,
               std::vector<int64_t>* v) const override {
    const StageSchedule& stage = s.stages[numbers.of_stage[nest_.root]];
    v->assign(kKnobCount, 1);
    (*v)[kInline] = stage.place.kind == schedule::PlaceKind::kInline ? 1 : 0;
    (*v)[kAxis] = 0;
    (*v)[kOrder] = 0;
    (*v)[kParallel] = context_.threads > 1 ? 1 : 0;
    if ((*v)[kInline] != 0) {
      (*v)[kLanes] = Knobs()[kLanes].values[0];
      return true;
    }
    std::vector<AxisTile> tiles;
    std::vector<int> order;
    if (!ReadTiledLoops(Stage(), stage, &tiles, &order, &(*v)[kParallel])) return false;
    for (size_t i = 0; i < axes_.size(); ++i) {
      if (tiles[axes_[i]].lanes > 1) (*v)[kAxis] = static_cast<int64_t>(i);
    }
    if (!axes_.empty()) {
      int axis = axes_[(*v)[kAxis]];
      (*v)[kLanes] = tiles[axis].lanes;
      (*v)[kVectors] = tiles[axis].tile;
      int second = SecondAxis(axis);
      if (second >= 0) (*v)[kTile] = tiles[second].tile;
    }
    (*v)[kOrder] = OrderNumber(outer_, order);
    return true;
  }

 private:
  const te::Stage& Stage() const { return context_.stage(nest_.root); }
  const StageInfo& Info() const { return (*context_.info)[nest_.root]; }

  // Unrolled beside the vector: the other choice of its axis, along which what a vector gathers is
  // contiguous, else the last other axis that is longer than 1.
  int SecondAxis(int axis) const {
    for (int other : axes_) {
      if (other != axis) return other;
    }
    for (size_t i = outer_.size(); i-- > 0;) {
      if (outer_[i] != axis) return outer_[i];
    }
    return -1;
  }

  std::vector<AxisTile> Tiles(KnobValues v) const {
    std::vector<AxisTile> tiles(Stage().spatial.size());
    if (axes_.empty()) return tiles;
    int axis = axes_[v[kAxis]];
    int64_t extent = Stage().spatial[axis].extent;
    AxisTile& t = tiles[axis];
    t.lanes = v[kLanes];
    while (t.lanes > extent) t.lanes /= 2;
    t.tile = v[kVectors];
    while (t.tile > 1 && t.tile * t.lanes > extent) t.tile /= 2;
    int second = SecondAxis(axis);
    if (second >= 0) {
      tiles[second].tile = v[kTile];
      while (tiles[second].tile > Stage().spatial[second].extent) tiles[second].tile /= 2;
    }
    return tiles;
  }

  const RuleContext& context_;
  Nest nest_;
  std::vector<int> axes_;   // choices of the vector axis
  std::vector<int> outer_;  // axes longer than 1
};

}  // namespace

std::unique_ptr<NestRule> MakeElementwiseRule(const RuleContext& context, const Nest& nest) {
  return std::make_unique<ElementwiseRule>(context, nest);
}

}  // namespace temper::tuner
