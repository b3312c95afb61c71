// A matrix product whose last column is a sum along the rows (te/last_column.h).
//
//   for outer loops of the root (parallel); for blocks of rows
//     vectors[rows] = 0; for k: for rows, vectors (unrolled): vectors += x * w     in registers
//     last[rows] = sum_k x * column, vectors of k (split.h)                        in registers
//     for rows, vectors: root = vectors or last
//
// Each loop of the root that the column does not move with has it copied to the stack before.
#include <algorithm>

#include "tuner/space/loops.h"
#include "tuner/space/rules.h"
#include "tuner/space/split.h"

namespace temper::tuner {
namespace {

using schedule::Bind;
using schedule::Edge;
using schedule::PlaceKind;
using schedule::StageSchedule;

enum KnobIndex { kRows, kUnroll, kSums, kParallel, kKnobCount };

constexpr int64_t kMostRows = 14;
constexpr int64_t kCopiedAtOnce = 8;

class ColumnRule final : public NestRule {
 public:
  ColumnRule(const RuleContext& context, const Nest& nest)
      : context_(context),
        root_(nest.root),
        vectors_(nest.members[0]),
        column_(nest.members[1]),
        last_(nest.members[2]) {
    columns_ = static_cast<int>(Root().spatial.size()) - 1;
    rows_ = columns_ - 1;
    lanes_ = context.target->Lanes(4);
    for (int a = 0; a < columns_; ++a) {
      if (Root().spatial[a].extent > 1) outer_.push_back(a);
    }
  }

  std::vector<Knob> Knobs() const override {
    std::vector<Knob> knobs(kKnobCount);
    knobs[kRows] = {"rows", 0, {}};
    for (int64_t r = 1; r <= std::min(kMostRows, Root().spatial[rows_].extent); ++r) {
      knobs[kRows].values.push_back(r);
    }
    const int64_t sum = Sum();
    knobs[kUnroll] = {"unroll", 0, {1}};
    for (int64_t u : {int64_t{2}, int64_t{4}, int64_t{8}}) {
      if (sum % u == 0) knobs[kUnroll].values.push_back(u);
    }
    knobs[kSums] = {"sums", 0, UpTo({1, 2, 4}, std::max<int64_t>(sum / lanes_, 1))};
    knobs[kParallel] = {"parallel", 0, ParallelChoices(context_.threads, outer_.size())};
    return knobs;
  }

  std::vector<schedule::Step> StageSteps(KnobValues v) const override {
    const te::Stage& last = context_.stage(last_);
    return SplitSteps(last, last_, static_cast<int>(last.spatial.size()), Shape(v));
  }

  void Emit(KnobValues v, const StageNumbers& numbers, int,
            schedule::Schedule* out) const override {
    const int root = numbers.of_stage[root_];
    StageSchedule& rs = out->stages[root];
    rs.scope = (*context_.info)[root_].output ? tir::Scope::kParam : tir::Scope::kWorkspace;
    std::vector<AxisTile> tiles(Root().spatial.size());
    tiles[rows_] = {1, v[kRows], 1};
    tiles[columns_] = {1, Vectors() + 1, lanes_};
    const int outside = EmitTiledLoops(Root(), tiles, outer_, v[kParallel], Edge::kClip, &rs);
    EmitVectors(v, {PlaceKind::kAt, root, outside - 1}, &out->stages[numbers.of_stage[vectors_]]);
    // The loop over blocks of rows is the innermost one outside, where there is more than one.
    const bool blocks = Root().spatial[rows_].extent > v[kRows];
    EmitColumn({PlaceKind::kAt, root, outside - (blocks ? 2 : 1)},
               &out->stages[numbers.of_stage[column_]]);
    StageSchedule& ls = out->stages[numbers.of_stage[last_]];
    ls = {};
    ls.place = {PlaceKind::kAt, root, outside - 1};
    ls.scope = tir::Scope::kRegister;
    const te::Stage& last = context_.stage(last_);
    std::vector<Bind> leading(last.spatial.size(), Bind::kSerial);
    leading[rows_] = Bind::kUnroll;
    EmitSplit(last, static_cast<int>(last.spatial.size()), Shape(v), leading,
              numbers.of_stage[last_], out);
  }

  bool Fits(KnobValues v) const override {
    return v[kRows] * Vectors() + Vectors() + 1 < context_.target->vector_registers;
  }

  bool Extract(const schedule::Schedule& s, const StageNumbers& numbers, int,
               std::vector<int64_t>* v) const override {
    v->assign(kKnobCount, 1);
    std::vector<AxisTile> tiles;
    std::vector<int> order;
    if (!ReadTiledLoops(Root(), s.stages[numbers.of_stage[root_]], &tiles, &order,
                        &(*v)[kParallel])) {
      return false;
    }
    (*v)[kRows] = tiles[rows_].tile;
    const StageSchedule& vs = s.stages[numbers.of_stage[vectors_]];
    if (vs.groups.size() != Root().spatial.size() + 1) return false;
    const auto& factors = vs.groups.back().factors;
    if (!factors.empty()) (*v)[kUnroll] = factors[0];
    (*v)[kSums] = VectorsOfSplit(context_.stage(last_), numbers.of_stage[last_], s);
    return (*v)[kSums] > 0;
  }

 private:
  const te::Stage& Root() const { return context_.stage(root_); }
  int64_t Sum() const { return context_.stage(vectors_).reduce[0].extent; }
  int64_t Vectors() const { return (Root().spatial[columns_].extent + lanes_ - 1) / lanes_ - 1; }
  SplitShape Shape(KnobValues v) const {
    return ShapeOfSplit(Sum(), v[kSums], std::max<int64_t>(lanes_, 2));
  }

  void EmitVectors(KnobValues v, const schedule::Place& place, StageSchedule* out) const {
    *out = {};
    out->place = place;
    out->scope = tir::Scope::kRegister;
    for (int a = 0; a <= columns_; ++a) {
      out->groups.push_back({{a}, {}, Edge::kDivides});
      if (a < rows_) out->order.push_back({a, 0, Bind::kSerial});
    }
    const int sum = columns_ + 1;
    out->groups.push_back({{sum}, {}, Edge::kDivides});
    out->order.push_back({sum, 0, Bind::kSerial});
    if (v[kUnroll] > 1) {
      out->groups[sum].factors = {v[kUnroll]};
      out->order.push_back({sum, 1, Bind::kUnroll});
    }
    out->order.push_back({rows_, 0, Bind::kUnroll});
    out->order.push_back({columns_, 0, Bind::kUnroll});
    if (lanes_ > 1) {
      out->groups[columns_].factors = {lanes_};
      out->order.push_back({columns_, 1, Bind::kVector});
    }
  }

  void EmitColumn(const schedule::Place& place, StageSchedule* out) const {
    *out = {};
    out->place = place;
    out->scope = tir::Scope::kStack;
    const te::Stage& column = context_.stage(column_);
    for (int a = 0; a < static_cast<int>(column.spatial.size()); ++a) {
      out->groups.push_back({{a}, {}, Edge::kDivides});
      out->order.push_back({a, 0, Bind::kSerial});
    }
    if (column.spatial.back().extent % kCopiedAtOnce != 0) return;
    out->groups.back().factors = {kCopiedAtOnce};
    out->order.push_back({static_cast<int>(column.spatial.size()) - 1, 1, Bind::kUnroll});
  }

  const RuleContext& context_;
  const int root_, vectors_, column_, last_;  // stages
  int columns_ = 0, rows_ = 0;                // axes of the root
  int64_t lanes_ = 1;
  std::vector<int> outer_;  // axes of the root longer than 1, but for the columns
};

}  // namespace

std::unique_ptr<NestRule> MakeColumnRule(const RuleContext& context, const Nest& nest) {
  return std::make_unique<ColumnRule>(context, nest);
}

}  // namespace temper::tuner
