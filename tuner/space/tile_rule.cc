// A reduction whose result is tiled in registers: convolutions, matmuls, pooling, global pooling.
//
//   for outer loops of the root (parallel, ordered by a knob)
//     acc[tile] = 0                          the anchor, at the innermost outer loop, in registers
//     for reduction loops
//       for tile (unrolled) x vectors (unrolled) x lanes: acc += ...
//     for tile x vectors x lanes: root = epilogue(acc)
//
// The vector axis is the contiguous one of the root. Constant operands are packed by the tile;
// others only where their vector axis is not contiguous.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tuner/space/loops.h"
#include "tuner/space/pack.h"
#include "tuner/space/row_copy.h"
#include "tuner/space/rules.h"

namespace temper::tuner {
namespace {

using schedule::Bind;
using schedule::Edge;
using schedule::StageSchedule;

enum KnobIndex {
  kLanes,
  kVectors,
  kTile1,    // along the last axis that is not the vector's
  kTile2,    // along the one before
  kMiddleV,  // a serial loop of so many tiles along the vector axis
  kMiddle1,  // and along the first tiled axis
  kOrder,
  kParallel,
  kReduceOrder,   // 0: the axis that the operands run along innermost; 1: as in the program, or
                  // where that is the same, its last two the other way round
  kUnroll,        // of the innermost reduction loop; its extent: fully
  kUnrollSecond,  // 1: the reduction loop around it is unrolled fully too
  kPrefetch,      // of packed operands, iterations of the innermost serial loop ahead; 0: none
  kCopy,          // operands that may be copied: inside so many outer loops of the root; 0: inlined
  kKnobCount,
};

constexpr int64_t kMaxTileBody = 512;  // multiply-adds of one unrolled body
constexpr int64_t kFullUnroll = 8;     // reduction loops up to so long may vanish
constexpr int64_t kSumsUnderWay = 8;   // latency times rate of multiply-adds
constexpr int64_t kFewRegisters = 16;  // of which a tile may take all where sums are fused

class TileRule final : public NestRule {
 public:
  TileRule(const RuleContext& context, const Nest& nest) : context_(context), nest_(nest) {
    const te::Stage& root = context.stage(nest.root);
    cached_ = nest.root == nest.anchor;
    vector_ = ContiguousAxis(root);
    for (int a = static_cast<int>(root.spatial.size()) - 1; a >= 0; --a) {
      if (a == vector_ || root.spatial[a].extent == 1 || !Reuses(a)) continue;
      if (tile1_ < 0) {
        tile1_ = a;
      } else if (tile2_ < 0) {
        tile2_ = a;
      }
    }
    for (size_t a = 0; a < root.spatial.size(); ++a) {
      if (root.spatial[a].extent > 1) outer_.push_back(static_cast<int>(a));
    }
    TileBatch();
    FindAnchorAxes();
    FindPacks();
  }

  std::vector<Knob> Knobs() const override {
    std::vector<Knob> knobs(kKnobCount);
    int64_t v = vector_ < 0 ? 1 : Extent(vector_);
    int64_t e1 = tile1_ < 0 ? 1 : Extent(tile1_);
    int64_t e2 = tile2_ < 0 ? 1 : Extent(tile2_);
    knobs[kLanes] = {"lanes", 0, Lanes(v), 0.8};
    knobs[kVectors] = {"vectors", 0, VectorChoices(v, knobs[kLanes].values[0])};
    knobs[kTile1] = {"tile1", 0, {}};
    for (int64_t t = 1; t <= std::min<int64_t>(e1, 28); ++t) knobs[kTile1].values.push_back(t);
    knobs[kTile2] = {"tile2", 0, UpTo({1, 2, 3, 4, 7}, e2)};
    knobs[kMiddleV] = {"middle_v", 0, {1}, 0.6};
    knobs[kMiddle1] = {"middle1", 0, {1}, 0.6};
    if (v >= 256) knobs[kMiddleV].values = {1, 2, 4, 8};
    if (e1 >= 64) knobs[kMiddle1].values = {1, 2, 4, 8, 16};
    knobs[kOrder] = {"order", 0, OrderChoices(outer_.size())};
    knobs[kParallel] = {"parallel", 0, ParallelChoices(context_.threads, outer_.size())};
    knobs[kReduceOrder] = {"reduce_order", 0, {0}, 0.7};
    if (reduce_order_[0] != reduce_order_[1]) knobs[kReduceOrder].values.push_back(1);
    int64_t inner = reduce_order_[0].empty() ? 1 : AnchorExtent(reduce_order_[0].back());
    knobs[kUnroll] = {"unroll", 0, {}};
    for (int64_t f : {int64_t{1}, int64_t{2}, int64_t{4}, int64_t{8}}) {
      if (inner % f == 0) knobs[kUnroll].values.push_back(f);
    }
    if (inner <= kFullUnroll && inner != 1 && knobs[kUnroll].values.back() != inner) {
      knobs[kUnroll].values.push_back(inner);
    }
    knobs[kUnrollSecond] = {"unroll_second", 0, {0}, 0.6};
    if (reduce_order_[0].size() > 1 && inner <= kFullUnroll) {
      knobs[kUnrollSecond].values.push_back(1);
    }
    knobs[kPrefetch] = {"prefetch", 0, {0}, 0.5};
    // What pays is 4 to 8 KB ahead, of what streams from the third level 1 to 4: the loop's steps
    // read one to four lines each, unrolled ones more.
    if (PacksConstant() && inner >= 32) knobs[kPrefetch].values = {0, 1, 2, 4, 8, 16, 32, 64};
    knobs[kCopy] = {"copy", 0, {0}};
    if (!nest_.copies.empty()) {
      const auto most = std::min<int64_t>(static_cast<int64_t>(outer_.size()), 3);
      for (int64_t n = most; n >= 1; --n)
        knobs[kCopy].values.insert(knobs[kCopy].values.begin(), n);
    }
    return knobs;
  }

  std::vector<schedule::Step> StageSteps(KnobValues) const override {
    if (!cached_) return {};
    return {{schedule::StepKind::kWriteCache, nest_.anchor, {}}};
  }

  std::vector<schedule::Step> Packs(KnobValues v) const override {
    std::vector<int64_t> block(Anchor().axis_count(), 1);
    std::vector<AxisTile> tiles = Tiles(v);
    for (size_t i = 0; i < Anchor().spatial.size(); ++i) {
      int r = nest_.root_axis[i];
      if (r < 0) continue;
      int64_t tile = tiles[r].tile * tiles[r].lanes;
      // A clipped tile starts anywhere, so its blocks would not match.
      if (r == vector_ || Extent(r) % tile == 0) block[i] = tile;
    }
    std::vector<int> order;
    for (size_t i = 0; i < Anchor().spatial.size(); ++i) order.push_back(static_cast<int>(i));
    const auto& reduce = reduce_order_[v[kReduceOrder]];
    order.insert(order.end(), reduce.begin(), reduce.end());
    std::vector<schedule::Step> steps;
    for (int r : packs_) {
      steps.push_back(PackStep(context_, nest_.anchor, AnchorInfo().reads[r], order, block));
    }
    return steps;
  }

  void Emit(KnobValues v, const StageNumbers& numbers, int first_pack,
            schedule::Schedule* out) const override {
    int root = numbers.of_stage[nest_.root];
    int acc = numbers.of_stage[nest_.anchor] - numbers.added[nest_.anchor];
    StageSchedule& rs = out->stages[root];
    rs.scope = (*context_.info)[nest_.root].output ? tir::Scope::kParam : tir::Scope::kWorkspace;
    int outside = EmitTiledLoops(context_.stage(nest_.root), Tiles(v),
                                 OrderedAxes(outer_, v[kOrder]), v[kParallel], Edge::kClip, &rs);
    EmitAnchor(v, numbers, first_pack, &out->stages[acc]);
    if (outside > 0) {
      out->stages[acc].place = {schedule::PlaceKind::kAt, root, outside - 1};
      out->stages[acc].scope = tir::Scope::kRegister;
    }
    for (int copy : nest_.copies) {
      StageSchedule& cs = out->stages[numbers.of_stage[copy]];
      cs = {};
      cs.place.kind = schedule::PlaceKind::kInline;
      const int loop = CopyLoop(rs, outside, v[kCopy]);
      if (loop >= 0) cs = CopySchedule(context_, copy, {schedule::PlaceKind::kAt, root, loop});
    }
    auto steps = Packs(v);
    for (size_t i = 0; i < packs_.size(); ++i) {
      EmitPack(steps[i], PackedTensor(i).constant, context_.threads,
               &out->stages[numbers.packs[first_pack + i]]);
    }
  }

  bool Fits(KnobValues v) const override {
    std::vector<AxisTile> tiles = Tiles(v);
    int64_t vectors = vector_ < 0 ? 1 : tiles[vector_].tile;
    int64_t pixels = 1;
    for (size_t a = 0; a < tiles.size(); ++a) {
      if (static_cast<int>(a) != vector_) pixels *= tiles[a].tile;
    }
    if (pixels * vectors * UnrolledReduction(v) > kMaxTileBody) return false;
    const bool vectors_outside = VectorsOutside(tiles);
    int64_t operands = 0;
    for (const Read& read : AnchorInfo().reads) {
      bool along = false, across = false;
      for (size_t i = 0; i < Anchor().spatial.size(); ++i) {
        int r = nest_.root_axis[i];
        if (r < 0 || !read.DependsOn(static_cast<int>(i))) continue;
        along |= r == vector_;
        across |= r != vector_ && tiles[r].tile > 1;
      }
      const int64_t kept = across ? KeptOverUnrolled(read, tiles, v) : 0;
      if (kept > 0) {
        operands += kept * (along ? vectors : 1);
      } else if (along != across) {
        // What the outer tile loops do not move is kept while they run.
        operands += along == vectors_outside ? 1 : along ? vectors : pixels;
      } else {
        operands += 1;  // changes with every multiply-add: it comes from memory
      }
    }
    const int64_t registers = context_.target->vector_registers;
    const bool spare = registers > kFewRegisters || !context_.target->Has("fma");
    const bool mask = HoldsMask(tiles);
    return pixels * vectors + operands <= registers - (spare ? 1 : 0) - (mask ? 1 : 0);
  }

  bool Extract(const schedule::Schedule& s, const StageNumbers& numbers, int,
               std::vector<int64_t>* v) const override {
    int root = numbers.of_stage[nest_.root];
    int acc = numbers.of_stage[nest_.anchor] - numbers.added[nest_.anchor];
    std::vector<AxisTile> tiles;
    std::vector<int> order;
    v->assign(kKnobCount, 1);
    if (!ReadTiledLoops(context_.stage(nest_.root), s.stages[root], &tiles, &order,
                        &(*v)[kParallel])) {
      return false;
    }
    if (vector_ >= 0) {
      (*v)[kLanes] = tiles[vector_].lanes;
      (*v)[kVectors] = tiles[vector_].tile;
      (*v)[kMiddleV] = tiles[vector_].middle;
    }
    if (tile1_ >= 0) {
      (*v)[kTile1] = tiles[tile1_].tile;
      (*v)[kMiddle1] = tiles[tile1_].middle;
    }
    if (tile2_ >= 0) (*v)[kTile2] = tiles[tile2_].tile;
    (*v)[kOrder] = OrderNumber(outer_, order);
    (*v)[kCopy] = 0;
    if (!nest_.copies.empty()) {
      const schedule::Place& place = s.stages[numbers.of_stage[nest_.copies[0]]].place;
      if (place.kind == schedule::PlaceKind::kAt) {
        (*v)[kCopy] = std::max(place.loop - Trivial(s.stages[root]) + 1, 1);
      }
    }
    return ExtractReduction(s.stages[acc], v);
  }

 private:
  // Loops of the root's schedule that run once.
  int Trivial(const StageSchedule& rs) const {
    int count = 0;
    for (const schedule::LoopRef& loop : rs.order) {
      if (loop.level != 0) continue;
      int64_t product = 1;
      for (int64_t f : rs.groups[loop.group].factors) product *= f;
      if (Extent(rs.groups[loop.group].axes[0]) <= product) ++count;
    }
    return count;
  }

  // The root's loop in which operands are copied, -1: they are not. The innermost one that may be
  // is the last outside the tile.
  int CopyLoop(const StageSchedule& rs, int outside, int64_t loops) const {
    if (loops == 0 || outside == 0) return -1;
    int outer = 0;
    for (const schedule::LoopRef& loop : rs.order) outer += loop.level == 0 ? 1 : 0;
    const int last = std::min(outer, outside) - 1;
    return std::clamp(Trivial(rs) + static_cast<int>(loops) - 1, 0, last);
  }

  const te::Stage& Anchor() const { return context_.stage(nest_.anchor); }
  const StageInfo& AnchorInfo() const { return (*context_.info)[nest_.anchor]; }
  int64_t Extent(int root_axis) const { return context_.extent(nest_.root, root_axis); }
  int64_t AnchorExtent(int axis) const { return context_.extent(nest_.anchor, axis); }
  const te::Tensor& PackedTensor(size_t i) const {
    return context_.program->tensors[AnchorInfo().reads[packs_[i]].tensor];
  }
  bool PacksConstant() const {
    for (size_t i = 0; i < packs_.size(); ++i) {
      if (PackedTensor(i).constant) return true;
    }
    return false;
  }

  // Whether an operand of the reduction stays while root axis `a` moves. Tiles along others gain
  // nothing: each multiply-add has its own operands, as over the matrices of a batch.
  bool Reuses(int a) const {
    for (size_t i = 0; i < nest_.root_axis.size(); ++i) {
      if (nest_.root_axis[i] != a) continue;
      const auto& reads = AnchorInfo().reads;
      return reads.size() < 2 ||
             std::any_of(
                 reads.begin(), reads.end(),
                 [&](const Read& read) { return !read.DependsOn(static_cast<int>(i)); });
    }
    return true;
  }

  // Where all that reuses operands makes fewer sums than a core has under way, sums of several
  // matrices of a batch advance side by side.
  void TileBatch() {
    int64_t sums =
        vector_ < 0 ? 1
                    : (Extent(vector_) + Lanes(Extent(vector_))[0] - 1) / Lanes(Extent(vector_))[0];
    if (tile1_ >= 0) sums *= Extent(tile1_);
    if (tile2_ >= 0 || sums >= kSumsUnderWay) return;
    const auto& spatial = context_.stage(nest_.root).spatial;
    for (int a = static_cast<int>(spatial.size()) - 1; a >= 0; --a) {
      if (a == vector_ || a == tile1_ || spatial[a].extent == 1) continue;
      (tile1_ < 0 ? tile1_ : tile2_) = a;
      return;
    }
  }

  // Vector widths; first, for an axis of less than a vector, the least that holds it whole: one
  // vector with a mask is less work than several short ones.
  std::vector<int64_t> Lanes(int64_t extent) const {
    std::vector<int64_t> choices = LaneChoices(context_, nest_.anchor, extent);
    const int64_t whole = 2 * choices[0];
    if (choices[0] > 1 && whole > extent && choices[0] < extent &&
        whole <= context_.target->Lanes(WidestBytes(context_, nest_.anchor))) {
      choices.insert(choices.begin(), whole);
    }
    return choices;
  }

  // How many vectors a tile may have: some that suit most extents, and of the larger ones those
  // that leave no vector of the last tile unused.
  static std::vector<int64_t> VectorChoices(int64_t extent, int64_t lanes) {
    std::vector<int64_t> choices;
    const int64_t vectors = std::max<int64_t>((extent + lanes - 1) / lanes, 1);
    for (int64_t n = 1; n <= std::min<int64_t>(vectors, 14); ++n) {
      if (n <= 6 || n == 8 || vectors % n == 0) choices.push_back(n);
    }
    return choices;
  }

  // Whether loads in the reduction need a mask in a register while the tile is whole: a narrower
  // last tile has room for it.
  bool HoldsMask(const std::vector<AxisTile>& tiles) const {
    if (context_.target->masked_vectors || vector_ < 0) return false;
    const AxisTile& t = tiles[vector_];
    const int64_t vectors = (Extent(vector_) + t.lanes - 1) / t.lanes;
    if (Extent(vector_) % t.lanes == 0 || vectors % t.tile != 0) return false;
    const auto& reads = AnchorInfo().reads;
    for (size_t r = 0; r < reads.size(); ++r) {
      if (std::find(packs_.begin(), packs_.end(), static_cast<int>(r)) != packs_.end()) continue;
      for (size_t i = 0; i < Anchor().spatial.size(); ++i) {
        if (nest_.root_axis[i] == vector_ && reads[r].DependsOn(static_cast<int>(i))) return true;
      }
    }
    return false;
  }

  // The tile's loop over more steps lies outside, so that the fewer operands of the other one are
  // kept in registers.
  bool VectorsOutside(const std::vector<AxisTile>& tiles) const {
    if (vector_ < 0) return false;
    int64_t pixels = 1;
    for (size_t a = 0; a < tiles.size(); ++a) {
      if (static_cast<int>(a) != vector_) pixels *= tiles[a].tile;
    }
    return pixels > 1 && tiles[vector_].tile > pixels;
  }

  std::vector<AxisTile> Tiles(KnobValues v) const {
    std::vector<AxisTile> tiles(context_.stage(nest_.root).spatial.size());
    if (vector_ >= 0) tiles[vector_] = {v[kMiddleV], v[kVectors], v[kLanes]};
    if (tile1_ >= 0) tiles[tile1_] = {v[kMiddle1], v[kTile1], 1};
    if (tile2_ >= 0) tiles[tile2_] = {1, v[kTile2], 1};
    for (size_t a = 0; a < tiles.size(); ++a) {
      // A middle loop longer than its axis would make the tile larger than the axis.
      // Vectors may overhang: the last one is masked.
      int64_t extent = Extent(static_cast<int>(a));
      extent = (extent + tiles[a].lanes - 1) / tiles[a].lanes * tiles[a].lanes;
      while (tiles[a].middle > 1 && tiles[a].product() > extent) tiles[a].middle /= 2;
      while (tiles[a].tile > 1 && tiles[a].product() > extent) --tiles[a].tile;
    }
    return tiles;
  }

  int64_t UnrolledReduction(KnobValues v) const {
    int64_t unrolled = v[kUnroll];
    const auto& order = reduce_order_[v[kReduceOrder]];
    if (UnrollsSecond(v)) unrolled *= AnchorExtent(order[order.size() - 2]);
    return unrolled;
  }

  // What several unrolled steps of the reduction share, as a convolution's windows do, lives from
  // one step to the next: all that the loops inside the outermost such loop load. 0: nothing is
  // shared.
  int64_t KeptOverUnrolled(const Read& read, const std::vector<AxisTile>& tiles,
                           KnobValues v) const {
    const auto& order = reduce_order_[v[kReduceOrder]];
    std::vector<std::pair<int, int64_t>> steps;  // unrolled loops, outer to inner: axis, extent
    if (UnrollsSecond(v)) {
      const int a = order[order.size() - 2];
      steps.emplace_back(a, AnchorExtent(a));
    }
    if (!order.empty() && v[kUnroll] > 1) steps.emplace_back(order.back(), v[kUnroll]);
    for (size_t n = 0; n < steps.size(); ++n) {
      bool slides = false;
      int64_t distinct = 1;
      for (const IndexDim& dim : read.dims) {
        int64_t points = 1, last = 0;  // of the loops inside step n
        for (size_t m = n + 1; m < steps.size(); ++m) {
          const int64_t c = std::abs(dim.coefficients[steps[m].first]);
          if (c != 0) points *= steps[m].second;
          last += c * (steps[m].second - 1);
        }
        const int64_t step = std::abs(dim.coefficients[steps[n].first]);
        int64_t until = 0;  // so many steps later it is used again
        for (size_t i = 0; i < Anchor().spatial.size(); ++i) {
          const int r = nest_.root_axis[i];
          const int64_t c = std::abs(dim.coefficients[i]);
          if (r < 0 || r == vector_ || c == 0) continue;
          points *= tiles[r].tile;
          last += c * (tiles[r].tile - 1);
          if (step != 0 && tiles[r].tile > 1) until = std::max<int64_t>(c / step, 1);
        }
        if (until >= steps[n].second) until = 0;
        slides |= until > 0;
        points *= std::max<int64_t>(until, 1);
        last += step * std::max<int64_t>(until - 1, 0);
        distinct *= std::min(points, last + 1);
      }
      if (slides) return distinct;
    }
    return 0;
  }

  bool UnrollsSecond(KnobValues v) const {
    const auto& order = reduce_order_[v[kReduceOrder]];
    return v[kUnrollSecond] != 0 && order.size() > 1 && v[kUnroll] == AnchorExtent(order.back()) &&
           AnchorExtent(order[order.size() - 2]) <= kFullUnroll;
  }

  void EmitAnchor(KnobValues v, const StageNumbers& numbers, int first_pack,
                  StageSchedule* out) const {
    *out = {};
    std::vector<AxisTile> tiles = Tiles(v);
    auto spatial = static_cast<int>(Anchor().spatial.size());
    for (int i = 0; i < Anchor().axis_count(); ++i) out->groups.push_back({{i}, {}, {}});
    std::vector<schedule::LoopRef> steps, tile_loops;
    int vector_group = -1;
    for (int i = 0; i < spatial; ++i) {
      int r = nest_.root_axis[i];
      if (r >= 0 && r == vector_) {
        vector_group = i;
        continue;
      }
      if (r >= 0 && tiles[r].tile > 1) {
        tile_loops.push_back({i, 0, Bind::kUnroll});
      } else {
        out->order.push_back({i, 0, Bind::kSerial});
      }
    }
    const auto& reduce = reduce_order_[v[kReduceOrder]];
    for (size_t n = 0; n < reduce.size(); ++n) {
      bool last = n + 1 == reduce.size();
      int64_t extent = AnchorExtent(reduce[n]);
      bool full = last ? v[kUnroll] == extent : n + 2 == reduce.size() && UnrollsSecond(v);
      full = full && extent > 1;
      if (last && !full && v[kUnroll] > 1 && extent % v[kUnroll] == 0) {
        out->groups[reduce[n]].factors = {v[kUnroll]};
        steps.push_back({reduce[n], 1, Bind::kUnroll});
      }
      out->order.push_back({reduce[n], 0, full ? Bind::kUnroll : Bind::kSerial});
    }
    int serial = static_cast<int>(out->order.size()) - 1;
    out->order.insert(out->order.end(), steps.begin(), steps.end());
    const bool vectors_outside = VectorsOutside(tiles);
    if (!vectors_outside) out->order.insert(out->order.end(), tile_loops.begin(), tile_loops.end());
    if (vector_group >= 0) {
      const AxisTile& t = tiles[vector_];
      schedule::Group& group = out->groups[vector_group];
      if (t.lanes > 1) group.factors = {t.lanes};
      group.edge = EdgeFor(Extent(vector_), t.product(), Edge::kMask);
      out->order.push_back({vector_group, 0, Bind::kUnroll});
      if (vectors_outside) {
        out->order.insert(out->order.end(), tile_loops.begin(), tile_loops.end());
      }
      if (t.lanes > 1) out->order.push_back({vector_group, 1, Bind::kVector});
    }
    if (v[kPrefetch] > 0 && serial >= 0 && out->order[serial].bind == Bind::kSerial &&
        Anchor().IsReduction(out->groups[out->order[serial].group].axes[0])) {
      for (size_t i = 0; i < packs_.size(); ++i) {
        if (!PackedTensor(i).constant) continue;
        out->prefetches.push_back(
            {numbers.packed[first_pack + i], serial, static_cast<int>(v[kPrefetch])});
      }
    }
  }

  bool ExtractReduction(const StageSchedule& s, std::vector<int64_t>* v) const {
    if (s.groups.size() != static_cast<size_t>(Anchor().axis_count())) return false;
    std::vector<int> order;
    std::vector<bool> unrolled;
    for (const schedule::LoopRef& loop : s.order) {
      if (loop.group < 0 || loop.group >= Anchor().axis_count()) return false;
      if (!Anchor().IsReduction(loop.group) || loop.level != 0) continue;
      order.push_back(loop.group);
      unrolled.push_back(loop.bind == Bind::kUnroll);
    }
    if (order.size() != Anchor().reduce.size()) return false;
    (*v)[kReduceOrder] = order == reduce_order_[0] ? 0 : 1;
    (*v)[kUnroll] = 1;
    (*v)[kUnrollSecond] = 0;
    if (!order.empty()) {
      const auto& factors = s.groups[order.back()].factors;
      if (unrolled.back()) {
        (*v)[kUnroll] = AnchorExtent(order.back());
      } else if (!factors.empty()) {
        (*v)[kUnroll] = factors[0];
      }
      (*v)[kUnrollSecond] = order.size() > 1 && unrolled[order.size() - 2] ? 1 : 0;
    }
    (*v)[kPrefetch] = s.prefetches.empty() ? 0 : s.prefetches[0].distance;
    return true;
  }

  // The two orders of the reduction axes.
  void FindAnchorAxes() {
    auto spatial = static_cast<int>(Anchor().spatial.size());
    for (int a = spatial; a < Anchor().axis_count(); ++a) reduce_order_[1].push_back(a);
    reduce_order_[0] = reduce_order_[1];
    for (int a : reduce_order_[1]) {
      bool contiguous =
          std::any_of(AnchorInfo().reads.begin(), AnchorInfo().reads.end(), [&](const Read& read) {
            const te::Tensor& tensor = context_.program->tensors[read.tensor];
            return !tensor.constant && (read.strides[a] == 1 || read.strides[a] == -1);
          });
      if (!contiguous) continue;
      std::erase(reduce_order_[0], a);
      reduce_order_[0].push_back(a);
      break;
    }
    const size_t n = reduce_order_[1].size();
    if (n > 1 && reduce_order_[0] == reduce_order_[1]) {
      std::swap(reduce_order_[1][n - 2], reduce_order_[1][n - 1]);
    }
  }

  void FindPacks() {
    int v = -1;  // the anchor's axis that is the vector axis
    for (size_t i = 0; i < nest_.root_axis.size(); ++i) {
      if (nest_.root_axis[i] >= 0 && nest_.root_axis[i] == vector_) v = static_cast<int>(i);
    }
    std::vector<int> tensors;
    for (size_t r = 0; r < AnchorInfo().reads.size(); ++r) {
      const Read& read = AnchorInfo().reads[r];
      if (!CanPack(context_, nest_.anchor, read)) continue;
      bool strided = v >= 0 && read.strides[v] != 0 && read.strides[v] != 1;
      bool constant = context_.program->tensors[read.tensor].constant;
      if (!strided && !constant) continue;
      if (std::find(tensors.begin(), tensors.end(), read.tensor) != tensors.end()) continue;
      tensors.push_back(read.tensor);
      packs_.push_back(static_cast<int>(r));
    }
  }

  const RuleContext& context_;
  Nest nest_;
  bool cached_ = false;
  int vector_ = -1, tile1_ = -1, tile2_ = -1;  // axes of the root
  std::vector<int> outer_;                     // axes of the root longer than 1
  std::vector<int> reduce_order_[2];           // axes of the anchor
  std::vector<int> packs_;                     // reads of the anchor that are packed
};

}  // namespace

std::unique_ptr<NestRule> MakeTileRule(const RuleContext& context, const Nest& nest) {
  return std::make_unique<TileRule>(context, nest);
}

}  // namespace temper::tuner
