// Stages that share rows: softmax, layer normalization, reductions along the contiguous axis.
//
//   for rows of the root (parallel)
//     for each member: its part of those rows, on the stack
//     for columns: vectors of the root
//
// A reduction along the contiguous axis is split into vectors of partial results (split.h). Of
// the others, with a tile of several rows, each runs over them innermost, as independent chains.
//
// What the last pass over an operand reads, it prefetches for the next rows: until then the caches
// have had nothing to do.
//
// Where the root reads operands of the columns alone, pairs of rows lie inside the columns' loop
// and share them.
//
// A nest of one reduction alone, or with the elementwise stage behind it, has rows only.
#include <algorithm>

#include "tuner/space/loops.h"
#include "tuner/space/rules.h"
#include "tuner/space/split.h"

namespace temper::tuner {
namespace {

using schedule::Bind;
using schedule::Edge;
using schedule::StageSchedule;

constexpr int64_t kTogether = 2;         // rows
constexpr int64_t kNumbersTogether = 4;  // rows whose numbers are worth a vector
constexpr int64_t kFarthest = 1 << 14;   // iterations to prefetch ahead

enum KnobIndex { kRows, kLanes, kVectors, kParallel, kSums, kKnobCount };

class RowRule final : public NestRule {
 public:
  RowRule(const RuleContext& context, const Nest& nest) : context_(context), nest_(nest) {
    columns_ = ContiguousAxis(Root());
    if (columns_ < nest.row_axes) columns_ = -1;
    for (int a = nest.row_axes - 1; a >= 0; --a) {
      if (Root().spatial[a].extent > 1) {
        row_ = a;
        break;
      }
    }
    for (int member : nest.members) AddSplit(member);
    AddSplit(nest.root);
  }

  std::vector<Knob> Knobs() const override {
    std::vector<Knob> knobs(kKnobCount);
    int64_t rows = row_ < 0 || SplitOf(nest_.root) ? 1 : Root().spatial[row_].extent;
    int64_t columns = Columns();
    knobs[kRows] = {"rows", 0, UpTo({1, 2, 4, 8, 16}, rows)};
    if (HasShortRows(rows, columns))
      std::erase_if(knobs[kRows].values, [](int64_t r) { return r < 4; });
    if (columns > 1) {
      std::erase_if(knobs[kRows].values, [&](int64_t r) { return r > MostRows(columns); });
    }
    knobs[kLanes] = {"lanes", 0, LaneChoices(context_, nest_.root, columns)};
    if (columns == 1 && !splits_.empty()) {
      knobs[kLanes].values = LaneChoices(context_, splits_[0].stage, SplitExtent(splits_[0]));
    }
    knobs[kVectors] = {"vectors", 0, UpTo({1, 2, 3, 4, 6}, columns / knobs[kLanes].values.back())};
    const int64_t widest = knobs[kLanes].values[0];
    std::erase_if(knobs[kVectors].values, [&](int64_t n) {  // but for rows that are not whole tiles
      return columns % widest == 0 ? columns / widest % n != 0 : n % 3 == 0;
    });
    knobs[kParallel] = {"parallel", 0,
                        ParallelChoices(context_.threads, static_cast<size_t>(nest_.row_axes))};
    int64_t longest = 1;
    for (const Split& split : splits_) longest = std::max(longest, SplitExtent(split));
    knobs[kSums] = {"sums", 0, UpTo({1, 2, 4, 8}, longest / knobs[kLanes].values[0])};
    return knobs;
  }

  std::vector<schedule::Step> StageSteps(KnobValues v) const override {
    std::vector<schedule::Step> steps;
    for (const Split& split : splits_) {
      for (schedule::Step& step :
           SplitSteps(context_.stage(split.stage), split.stage, split.axis, Shape(split, v))) {
        steps.push_back(std::move(step));
      }
    }
    return steps;
  }

  void Emit(KnobValues v, const StageNumbers& numbers, int,
            schedule::Schedule* out) const override {
    int root = numbers.of_stage[nest_.root];
    StageSchedule& s = out->stages[root];
    s = {};
    s.scope = (*context_.info)[nest_.root].output ? tir::Scope::kParam : tir::Scope::kWorkspace;
    if (const Split* split = SplitOf(nest_.root)) {
      std::vector<Bind> rows(Root().spatial.size(), Bind::kSerial);
      for (int64_t a = 0; a < v[kParallel]; ++a) rows[a] = Bind::kParallel;
      EmitSplit(Root(), split->axis, Shape(*split, v), rows, root, out);
      return;
    }
    auto axes = static_cast<int>(Root().spatial.size());
    for (int a = 0; a < axes; ++a) {
      s.groups.push_back({{a}, {}, Edge::kDivides});
      bool row = a < nest_.row_axes;
      if (row) s.order.push_back({a, 0, a < v[kParallel] ? Bind::kParallel : Bind::kSerial});
    }
    int at = static_cast<int>(s.order.size()) - 1;
    int together = 0;  // the level of the rows that are stored together
    if (row_ >= 0 && v[kRows] > 1) {
      s.groups[row_].factors = {v[kRows]};
      s.groups[row_].edge = EdgeFor(Root().spatial[row_].extent, v[kRows], Edge::kClip);
      const bool pairs = SharesColumns() && v[kRows] % kTogether == 0;
      if (pairs && v[kRows] > kTogether) {
        s.groups[row_].factors = {v[kRows] / kTogether, kTogether};
      }
      if (!pairs || v[kRows] > kTogether) s.order.push_back({row_, 1, Bind::kSerial});
      if (pairs) together = static_cast<int>(s.groups[row_].factors.size());
    }
    EmitColumns(Root(), nest_.row_axes, columns_, {v[kVectors], v[kLanes]}, &s, together);
    for (int member : nest_.members) EmitMember(member, v, root, at, numbers, out);
    EmitPrefetches(v, numbers, out);
  }

  bool Extract(const schedule::Schedule& s, const StageNumbers& numbers, int,
               std::vector<int64_t>* v) const override {
    const StageSchedule& root = s.stages[numbers.of_stage[nest_.root]];
    v->assign(kKnobCount, 1);
    for (const Split& split : splits_) {
      int number = numbers.of_stage[split.stage];
      int64_t sums = VectorsOfSplit(context_.stage(split.stage), number, s);
      if (sums == 0) return false;
      (*v)[kSums] = std::max((*v)[kSums], sums);
      if (Columns() == 1) (*v)[kLanes] = s.stages[number - 2].groups[RankOf(split)].factors[1];
    }
    (*v)[kParallel] = std::count_if(root.order.begin(), root.order.end(),
                                    [](const auto& loop) { return loop.bind == Bind::kParallel; });
    if (SplitOf(nest_.root)) return true;
    if (root.groups.size() != Root().spatial.size()) return false;
    if (row_ >= 0) {
      for (int64_t f : root.groups[row_].factors) (*v)[kRows] *= f;
    }
    if (columns_ >= 0) {
      const auto& factors = root.groups[columns_].factors;
      if (!factors.empty()) (*v)[kLanes] = factors.back();
      if (factors.size() > 1) (*v)[kVectors] = factors[0];
    }
    return true;
  }

 private:
  struct Split {
    int stage = -1;
    int axis = -1;  // the reduction axis that is split
  };

  const te::Stage& Root() const { return context_.stage(nest_.root); }
  // Rows that end before the latency of combining a vector's lanes is hidden; four and more side by
  // side hide it, where they stay in the first cache.
  bool HasShortRows(int64_t rows, int64_t columns) const {
    return !splits_.empty() && !nest_.members.empty() && columns > 1 && rows >= 32 &&
           columns * 4 * 4 <= context_.target->l1_bytes / 3;
  }
  // Of which operand, result and what lies between them stay in the first cache together.
  int64_t MostRows(int64_t columns) const {
    return std::max<int64_t>(context_.target->l1_bytes / 3 / (columns * 4), 1);
  }
  int64_t Columns() const { return columns_ < 0 ? 1 : Root().spatial[columns_].extent; }
  size_t RankOf(const Split& split) const { return context_.stage(split.stage).spatial.size(); }
  int64_t SplitExtent(const Split& split) const { return context_.extent(split.stage, split.axis); }
  SplitShape Shape(const Split& split, KnobValues v) const {
    return ShapeOfSplit(SplitExtent(split), v[kSums], std::max<int64_t>(v[kLanes], 2));
  }
  void AddSplit(int stage) {
    int axis = SplitAxis(*context_.program, *context_.info, stage);
    if (axis >= 0) splits_.push_back({stage, axis});
  }
  const Split* SplitOf(int stage) const {
    for (const Split& split : splits_) {
      if (split.stage == stage) return &split;
    }
    return nullptr;
  }

  // Operands as large as the result that the stage reads, directly or through inlined stages.
  void AddStreams(int stage, std::vector<int>* tensors) const {
    for (const Read& read : (*context_.info)[stage].reads) {
      const te::Tensor& t = context_.program->tensors[read.tensor];
      if (t.producer < 0) {
        int64_t elements = 1;
        for (int64_t d : t.shape) elements *= d;
        const bool known =
            std::find(tensors->begin(), tensors->end(), read.tensor) != tensors->end();
        const int64_t points = (*context_.info)[nest_.root].points;
        if (elements == points && !t.constant && !known) tensors->push_back(read.tensor);
      } else if (std::find(nest_.members.begin(), nest_.members.end(), t.producer) ==
                 nest_.members.end()) {
        AddStreams(t.producer, tensors);
      }
    }
  }

  // In the last stage that reads an operand by columns, of the rows that come next.
  void EmitPrefetches(KnobValues v, const StageNumbers& numbers, schedule::Schedule* out) const {
    const int64_t bytes = (*context_.info)[nest_.root].points * 4;
    if (columns_ < 0 || row_ < 0 || bytes < context_.target->l2_bytes / 2) return;
    std::vector<int> order(nest_.members.begin(), nest_.members.end());
    order.push_back(nest_.root);
    std::vector<int> tensors;
    size_t last = order.size();
    while (tensors.empty() && last-- > 0) AddStreams(order[last], &tensors);
    if (tensors.empty() || (*context_.info)[order[last]].reduces) return;
    StageSchedule& s = out->stages[numbers.of_stage[order[last]]];
    const int group = ContiguousAxis(context_.stage(order[last]));
    if (group < nest_.row_axes) return;
    int64_t tile = 1;
    for (int64_t f : s.groups[group].factors) tile *= f;
    const int64_t distance = (v[kRows] * Columns() + tile - 1) / tile;
    for (size_t loop = 0; loop < s.order.size(); ++loop) {
      if (s.order[loop].group != group || s.order[loop].level != 0 || distance > kFarthest)
        continue;
      for (size_t i = 0; i < std::min<size_t>(tensors.size(), 4); ++i) {
        s.prefetches.push_back({tensors[i], static_cast<int>(loop), static_cast<int>(distance)});
      }
    }
  }

  // Whether a member is a number a row, made of such numbers, which lie side by side on the stack:
  // roots and quotients of several rows are one vector's.
  bool IsNumberOfRows(int member) const {
    const te::Stage& stage = context_.stage(member);
    if (row_ < 0 || ByteSize(context_.program->tensors[stage.tensor].dtype) != 4) return false;
    for (int a = row_ + 1; a < static_cast<int>(stage.spatial.size()); ++a) {
      if (stage.spatial[a].extent > 1) return false;
    }
    const std::vector<Read>& reads = (*context_.info)[member].reads;
    return std::all_of(reads.begin(), reads.end(), [&](const Read& r) {
      const int producer = context_.program->tensors[r.tensor].producer;
      const bool of_nest =
          std::find(nest_.members.begin(), nest_.members.end(), producer) != nest_.members.end();
      return of_nest && r.strides[row_] == 1;
    });
  }

  // The reduction that reads a member's row as it runs: with the same tile the two are one loop
  // (lower/join.h).
  const Split* ReaderOf(int member) const {
    for (const Split& split : splits_) {
      for (const Read& read : (*context_.info)[split.stage].reads) {
        if (read.tensor == context_.stage(member).tensor) return &split;
      }
    }
    return nullptr;
  }

  // Whether the root reads an operand of the columns alone, as a normalization's scale is, which
  // several rows together load once.
  bool SharesColumns() const {
    if (Columns() <= 1) return false;
    const std::vector<Read>& reads = (*context_.info)[nest_.root].reads;
    return std::any_of(reads.begin(), reads.end(), [&](const Read& r) {
      return context_.program->tensors[r.tensor].producer < 0 && r.DependsOn(columns_) &&
             !r.DependsOn(row_);
    });
  }

  // Loops of the axes from `first` on, the one called `vector` innermost; rows of that level, if it
  // is not 0, unrolled around it.
  void EmitColumns(const te::Stage& stage, int first, int vector, SplitShape tile, StageSchedule* s,
                   int together = 0) const {
    for (int a = first; a < static_cast<int>(stage.spatial.size()); ++a) {
      s->order.push_back({a, 0, Bind::kSerial});
    }
    if (together > 0) s->order.push_back({row_, together, Bind::kUnroll});
    if (vector < 0) return;
    int64_t extent = stage.spatial[vector].extent;
    int64_t lanes = tile.lanes;
    while (lanes > extent) lanes /= 2;
    if (lanes <= 1) return;
    int64_t vectors = std::min(tile.vectors, extent / lanes);
    schedule::Group& group = s->groups[vector];
    int level = 1;
    if (vectors > 1) {
      group.factors.push_back(vectors);
      s->order.push_back({vector, level++, Bind::kUnroll});
    }
    group.factors.push_back(lanes);
    group.edge = EdgeFor(extent, vectors * lanes, Edge::kMask);
    s->order.push_back({vector, level, Bind::kVector});
  }

  void EmitMember(int member, KnobValues v, int root, int at, const StageNumbers& numbers,
                  schedule::Schedule* out) const {
    const te::Stage& stage = context_.stage(member);
    StageSchedule& s = out->stages[numbers.of_stage[member]];
    s = {};
    s.place = {schedule::PlaceKind::kAt, root, at};
    s.scope = tir::Scope::kStack;
    if (const Split* split = SplitOf(member)) {
      // A number of one row alone stays in a register.
      if (v[kRows] == 1) s.scope = tir::Scope::kRegister;
      EmitSplit(stage, split->axis, Shape(*split, v),
                std::vector<Bind>(stage.spatial.size(), Bind::kSerial), numbers.of_stage[member],
                out);
      return;
    }
    for (int a = 0; a < stage.axis_count(); ++a) s.groups.push_back({{a}, {}, Edge::kDivides});
    auto spatial = static_cast<int>(stage.spatial.size());
    bool reduces = stage.combiner != te::Combiner::kNone;
    for (int a = 0; a < nest_.row_axes; ++a) {
      if (!(reduces && a == row_)) s.order.push_back({a, 0, Bind::kSerial});
    }
    if (reduces) {
      for (int a = nest_.row_axes; a < spatial; ++a) s.order.push_back({a, 0, Bind::kSerial});
      for (int a = spatial; a < stage.axis_count(); ++a) {
        s.order.push_back({a, 0, Bind::kSerial});
      }
      if (row_ >= 0) s.order.push_back({row_, 0, Bind::kUnroll});
      return;
    }
    if (IsNumberOfRows(member) && v[kRows] >= kNumbersTogether) {
      s.groups[row_].factors = {std::min<int64_t>(v[kRows], context_.target->Lanes(4))};
      for (int a = nest_.row_axes; a < spatial; ++a) s.order.push_back({a, 0, Bind::kSerial});
      s.order.push_back({row_, 1, Bind::kVector});
      return;
    }
    int vector = ContiguousAxis(stage);
    const Split* reader = ReaderOf(member);
    const SplitShape tile = reader ? Shape(*reader, v) : SplitShape{v[kVectors], v[kLanes]};
    EmitColumns(stage, nest_.row_axes, vector >= nest_.row_axes ? vector : -1, tile, &s);
  }

  const RuleContext& context_;
  Nest nest_;
  int columns_ = -1;  // the root's vector axis
  int row_ = -1;      // the root's last row axis longer than 1
  std::vector<Split> splits_;
};

}  // namespace

std::unique_ptr<NestRule> MakeRowRule(const RuleContext& context, const Nest& nest) {
  return std::make_unique<RowRule>(context, nest);
}

}  // namespace temper::tuner
