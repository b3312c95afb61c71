// Two stages of short sums, such as the two sides of a Winograd transform.
//
//   for outer loops of the root (parallel, ordered by a knob)
//     for the member's short axes (unrolled): for lanes: member = a short sum
//     for the root's short axes and tiles (unrolled): for lanes: root = a short sum of members
//
// The sums are chosen by comparing an axis, or its remainder by the tile, with constants: with
// those axes unrolled each statement is left with its own sum.
#include <algorithm>

#include "tuner/space/loops.h"
#include "tuner/space/rules.h"
#include "tuner/space/short_sums.h"

namespace temper::tuner {
namespace {

using schedule::Bind;
using schedule::Edge;
using schedule::StageSchedule;

enum KnobIndex { kLanes, kVectors, kOrder, kParallel, kScope, kKnobCount };

class TransformRule final : public NestRule {
 public:
  TransformRule(const RuleContext& context, const Nest& nest) : context_(context), nest_(nest) {
    vector_ = ContiguousAxis(Root());
    for (size_t a = 0; a < Root().spatial.size(); ++a) {
      if (Root().spatial[a].extent > nest.fixed_tile[a]) outer_.push_back(static_cast<int>(a));
    }
  }

  std::vector<Knob> Knobs() const override {
    std::vector<Knob> knobs(kKnobCount);
    int64_t extent = vector_ < 0 ? 1 : Root().spatial[vector_].extent;
    knobs[kLanes] = {"lanes", 0, LaneChoices(context_, nest_.root, extent)};
    knobs[kVectors] = {"vectors", 0, UpTo({1, 2}, extent / knobs[kLanes].values.back()), 0.7};
    knobs[kOrder] = {"order", 0, OrderChoices(outer_.size())};
    knobs[kParallel] = {"parallel", 0, ParallelChoices(context_.threads, outer_.size())};
    knobs[kScope] = {"scope", 0, {0, 1}};
    return knobs;
  }

  void Emit(KnobValues v, const StageNumbers& numbers, int,
            schedule::Schedule* out) const override {
    int root = numbers.of_stage[nest_.root];
    StageSchedule& rs = out->stages[root];
    rs = {};
    rs.scope = (*context_.info)[nest_.root].output ? tir::Scope::kParam : tir::Scope::kWorkspace;
    int outside = EmitTiledLoops(Root(), Tiles(v), OrderedAxes(outer_, v[kOrder]), v[kParallel],
                                 Edge::kMask, &rs);
    StageSchedule& ms = out->stages[numbers.of_stage[nest_.members[0]]];
    ms = {};
    ms.place = {schedule::PlaceKind::kAt, root, outside - 1};
    ms.scope = v[kScope] == 0 ? tir::Scope::kRegister : tir::Scope::kStack;
    const te::Stage& member = context_.stage(nest_.members[0]);
    int last = ContiguousAxis(member);
    std::vector<schedule::LoopRef> unrolled;
    for (int a = 0; a < static_cast<int>(member.spatial.size()); ++a) {
      ms.groups.push_back({{a}, {}, Edge::kDivides});
      bool is_short = member.spatial[a].extent <= kShortAxis && a != last;
      (is_short ? unrolled : ms.order).push_back({a, 0, is_short ? Bind::kUnroll : Bind::kSerial});
    }
    ms.order.insert(ms.order.end(), unrolled.begin(), unrolled.end());
    if (v[kLanes] > 1) {
      ms.groups[last].factors = {v[kLanes]};
      ms.groups[last].edge = Edge::kMask;
      ms.order.push_back({last, 1, Bind::kVector});
    }
  }

  bool Extract(const schedule::Schedule& s, const StageNumbers& numbers, int,
               std::vector<int64_t>* v) const override {
    v->assign(kKnobCount, 1);
    std::vector<AxisTile> tiles;
    std::vector<int> order;
    if (!ReadTiledLoops(Root(), s.stages[numbers.of_stage[nest_.root]], &tiles, &order,
                        &(*v)[kParallel])) {
      return false;
    }
    if (vector_ >= 0) {
      (*v)[kLanes] = tiles[vector_].lanes;
      (*v)[kVectors] = tiles[vector_].tile;
    }
    (*v)[kOrder] = OrderNumber(outer_, order);
    tir::Scope scope = s.stages[numbers.of_stage[nest_.members[0]]].scope;
    (*v)[kScope] = scope == tir::Scope::kRegister ? 0 : 1;
    return true;
  }

 private:
  const te::Stage& Root() const { return context_.stage(nest_.root); }

  std::vector<AxisTile> Tiles(KnobValues v) const {
    std::vector<AxisTile> tiles(Root().spatial.size());
    for (size_t a = 0; a < tiles.size(); ++a) tiles[a].tile = nest_.fixed_tile[a];
    if (vector_ >= 0) tiles[vector_] = {1, v[kVectors], v[kLanes]};
    return tiles;
  }

  const RuleContext& context_;
  Nest nest_;
  int vector_ = -1;         // the root's contiguous axis
  std::vector<int> outer_;  // the root's axes that are longer than their tile
};

}  // namespace

std::unique_ptr<NestRule> MakeTransformRule(const RuleContext& context, const Nest& nest) {
  return std::make_unique<TransformRule>(context, nest);
}

}  // namespace temper::tuner
