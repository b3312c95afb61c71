#include "compiler/lower/plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace temper::lower {
namespace {

using schedule::Edge;
using schedule::Group;
using schedule::PlaceKind;
using schedule::StageSchedule;
using tir::Affine;
using tir::Expr;
using tir::ExprKind;
using tir::Interval;

constexpr int64_t kMaxLocalElements = 1 << 16;
constexpr size_t kMostSeen = 64;  // more would cost more to find than to work out again

class Planner {
 public:
  Planner(const te::Program& program, const schedule::Schedule& schedule, std::optional<int> root)
      : program_(program), schedule_(schedule) {
    plan_.root = root;
    plan_.program = &program;
    plan_.schedule = &schedule;
    plan_.next_var = program.next_var;
    plan_.stages.resize(program.stages.size());
  }

  Result<Plan> Run() {
    InlineBodies();
    auto n = static_cast<int>(program_.stages.size());
    for (int s = n - 1; s >= 0; --s) {
      if (!plan_.stages[s].has_loops) continue;
      if (Place(s).kind == PlaceKind::kAt) {
        plan_.stages[Place(s).stage].placed.insert(plan_.stages[Place(s).stage].placed.begin(), s);
        TEMPER_RETURN_IF_ERROR(InferRegion(s));
      } else {
        WholeRegion(s);
      }
      TEMPER_RETURN_IF_ERROR(MakeLoops(s));
    }
    return std::move(plan_);
  }

 private:
  const schedule::Place& Place(int s) const { return schedule_.stages[s].place; }
  Status Fail(int s, const std::string& what) const {
    return FailedPrecondition(fmt::format("stage {} '{}': {}", s, program_.stages[s].name, what));
  }

  void InlineBodies() {
    for (size_t s = 0; s < program_.stages.size(); ++s) {
      PlaceKind kind = Place(static_cast<int>(s)).kind;
      plan_.stages[s].has_loops =
          (kind == PlaceKind::kRoot || kind == PlaceKind::kAt) && Wanted(static_cast<int>(s));
      if (!plan_.stages[s].has_loops && kind != PlaceKind::kInline) continue;
      plan_.stages[s].body = program_.stages[s].body;
      if (!ReadsInlined(program_.stages[s].body)) continue;
      plan_.stages[s].body = tir::Rewrite(program_.stages[s].body, [&](const Expr& e) -> Expr {
        if (e->kind() != ExprKind::kLoad) return {};
        int producer = program_.tensors[e->buffer()].producer;
        if (producer < 0 || Place(producer).kind != PlaceKind::kInline) return {};
        const te::Stage& p = program_.stages[producer];
        std::vector<Expr> map(program_.next_var);
        for (size_t i = 0; i < p.spatial.size(); ++i) {
          map[p.spatial[i].var->var_id()] = e->indices()[i];
        }
        return tir::Substitute(plan_.stages[producer].body, map);
      });
    }
  }

  bool Wanted(int s) const {
    while (Place(s).kind == PlaceKind::kAt) s = Place(s).stage;
    return !plan_.root || *plan_.root == s;
  }

  bool ReadsInlined(const Expr& body) const {
    bool found = false;
    tir::Visit(body, [&](const Expr& e) {
      if (e->kind() == ExprKind::kLoad) {
        int producer = program_.tensors[e->buffer()].producer;
        found |= producer >= 0 && Place(producer).kind == PlaceKind::kInline;
      }
      return !found;
    });
    return found;
  }

  void WholeRegion(int s) {
    const te::Stage& stage = program_.stages[s];
    StagePlan& p = plan_.stages[s];
    for (int a = 0; a < stage.axis_count(); ++a) {
      p.region_base.push_back(tir::Index(0));
      p.region_extent.push_back(stage.axis(a).extent);
    }
  }

  // Variables that stand still at the place of stage s: those of the loops around it.
  std::vector<bool> OuterVars(int s) const {
    std::vector<bool> outer(plan_.next_var, false);
    while (Place(s).kind == PlaceKind::kAt) {
      const StagePlan& host = plan_.stages[Place(s).stage];
      for (int i = 0; i <= Place(s).loop; ++i) {
        outer[host.loops[i].var->var_id()] = true;
        if (host.loops[i].base) outer[host.loops[i].base->var_id()] = true;
      }
      s = Place(s).stage;
    }
    return outer;
  }

  struct Range {
    bool whole = false;
    bool set = false;
    Affine base;  // of outer variables
    int64_t lo = 0, hi = 0;
  };

  // Widens `range` by what an index takes while the inner variables run.
  void Cover(const Affine& a, const std::vector<bool>& outer, Range* range) const {
    if (range->whole) return;
    Affine base, inner;
    inner.constant = a.constant;
    for (const Affine::Term& t : a.terms) {
      bool any_inner = false, any_outer = false;
      tir::Visit(t.atom, [&](const Expr& e) {
        if (e->kind() == ExprKind::kVar) {
          auto id = static_cast<size_t>(e->var_id());
          (id < outer.size() && outer[id] ? any_outer : any_inner) = true;
        }
        if (e->kind() == ExprKind::kLoad) any_inner = any_outer = true;
        return true;
      });
      if (any_inner && any_outer) {
        range->whole = true;
        return;
      }
      (any_outer ? base : inner).terms.push_back(t);
    }
    Interval i = inner.Of(plan_.bounds);
    if (!i.bounded()) {
      range->whole = true;
      return;
    }
    if (!range->set) {
      *range = {false, true, base, i.lo, i.hi};
      return;
    }
    Affine difference = base;
    difference.Add(range->base, -1);
    if (!difference.IsConstant()) {
      range->whole = true;
      return;
    }
    range->lo = std::min(range->lo, i.lo + difference.constant);
    range->hi = std::max(range->hi, i.hi + difference.constant);
  }

  // A tile that overhangs its axis lies in registers as a whole: what is past the end is computed
  // from zeros and never stored, which costs less than a mask at each step. So does what such tiles
  // alone read on the stack.
  int64_t Overhung(int s, const Range& range, int64_t full) const {
    const bool kept = schedule_.stages[s].scope == tir::Scope::kRegister || OnlyForRegisterTiles(s);
    if (!kept || range.whole || !range.set || !range.base.IsConstant() ||
        range.base.constant + range.lo < 0) {
      return full;
    }
    return std::max(full, range.base.constant + range.hi + 1);
  }

  bool OnlyForRegisterTiles(int s) const {
    const te::Stage& stage = program_.stages[s];
    if (stage.combiner != te::Combiner::kNone) return false;
    for (size_t r = s + 1; r < plan_.stages.size(); ++r) {
      if (!plan_.stages[r].has_loops) continue;
      bool reads = false;
      tir::Visit(plan_.stages[r].body, [&](const Expr& e) {
        reads |= e->kind() == ExprKind::kLoad && e->buffer() == stage.tensor;
        return !reads;
      });
      if (reads && (schedule_.stages[r].scope != tir::Scope::kRegister ||
                    program_.stages[r].combiner == te::Combiner::kNone)) {
        return false;
      }
    }
    return true;
  }

  Status InferRegion(int s) {
    const te::Stage& stage = program_.stages[s];
    StagePlan& p = plan_.stages[s];
    std::vector<bool> outer = OuterVars(s);
    std::vector<Range> ranges(stage.spatial.size());
    for (size_t r = s + 1; r < plan_.stages.size(); ++r) {
      const StagePlan& reader = plan_.stages[r];
      if (!reader.has_loops) continue;
      std::vector<Expr> map = AxisMap(static_cast<int>(r));
      tir::Simplifier simplifier(map, plan_.bounds);
      std::vector<std::pair<size_t, const tir::ExprNode*>> seen;  // what loads share counts once
      std::vector<const tir::ExprNode*> loads;
      tir::Visit(reader.body, [&](const Expr& e) {
        if (e->kind() != ExprKind::kLoad) return true;
        if (std::find(loads.begin(), loads.end(), e.get()) != loads.end()) return false;
        if (loads.size() < kMostSeen) loads.push_back(e.get());
        if (e->buffer() == stage.tensor) {
          for (size_t a = 0; a < ranges.size(); ++a) {
            std::pair<size_t, const tir::ExprNode*> index(a, e->indices()[a].get());
            if (std::find(seen.begin(), seen.end(), index) != seen.end()) continue;
            if (seen.size() < kMostSeen) seen.push_back(index);
            Cover(simplifier.ToAffine(e->indices()[a]), outer, &ranges[a]);
          }
        }
        return true;
      });
    }
    int64_t elements = 1;
    for (size_t a = 0; a < ranges.size(); ++a) {
      int64_t full = stage.spatial[a].extent;
      const Range& range = ranges[a];
      if (range.whole || !range.set || range.hi - range.lo + 1 >= full) {
        p.region_base.push_back(tir::Index(0));
        p.region_extent.push_back(Overhung(s, range, full));
      } else {
        Affine base = range.base;
        base.constant += range.lo;
        p.region_base.push_back(base.ToExpr());
        p.region_extent.push_back(range.hi - range.lo + 1);
      }
      int64_t extent = p.region_extent.back();
      if (extent > kMaxLocalElements ||
          elements > kMaxLocalElements / std::max<int64_t>(extent, 1)) {
        return Fail(s, "what it computes inside a loop is too large for the stack");
      }
      elements *= extent;
    }
    for (const te::Axis& a : stage.reduce) {
      p.region_base.push_back(tir::Index(0));
      p.region_extent.push_back(a.extent);
    }
    return OkStatus();
  }

  // Axis variable id -> value of the axis in terms of loop variables.
  std::vector<Expr> AxisMap(int s) const {
    const te::Stage& stage = program_.stages[s];
    std::vector<Expr> map(program_.next_var);
    for (int a = 0; a < stage.axis_count(); ++a) {
      map[stage.axis(a).var->var_id()] = plan_.stages[s].value[a];
    }
    return map;
  }

  Status MakeLoops(int s) {
    const StageSchedule& ss = schedule_.stages[s];
    StagePlan& p = plan_.stages[s];
    int axes = program_.stages[s].axis_count();
    p.local.resize(axes);
    p.value.resize(axes);
    p.masked.assign(axes, false);
    p.overhangs.assign(axes, false);
    p.loops.resize(ss.order.size());
    for (size_t g = 0; g < ss.groups.size(); ++g) {
      TEMPER_RETURN_IF_ERROR(MakeGroup(s, static_cast<int>(g)));
    }
    for (int a = 0; a < axes; ++a) {
      Affine value = tir::ToAffine(p.region_base[a], plan_.bounds);
      value.Add(tir::ToAffine(p.local[a], plan_.bounds), 1);
      p.value[a] = value.ToExpr();
      Interval i = value.Of(plan_.bounds);
      int64_t extent = program_.stages[s].axis(a).extent;
      p.overhangs[a] = !i.bounded() || i.lo < 0 || i.hi >= extent;
    }
    return OkStatus();
  }

  Status MakeGroup(int s, int number) {
    const StageSchedule& ss = schedule_.stages[s];
    const Group& g = ss.groups[number];
    StagePlan& p = plan_.stages[s];
    int64_t extent = 1, tile = 1;
    for (int a : g.axes) extent *= p.region_extent[a];
    for (int64_t f : g.factors) tile *= f;
    Edge edge = extent % tile == 0 ? Edge::kDivides : g.edge;
    if (edge == Edge::kDivides && extent % tile != 0) {
      return Fail(s, fmt::format("tile {} does not divide {} in group {}", tile, extent, number));
    }
    if (edge == Edge::kClip && tile > extent) {
      return Fail(s, fmt::format("tile {} exceeds {} in group {}", tile, extent, number));
    }
    Affine fused;
    int64_t below = tile;
    for (size_t i = 0; i < ss.order.size(); ++i) {
      const schedule::LoopRef& ref = ss.order[i];
      if (ref.group != number) continue;
      Loop& loop = p.loops[i];
      loop.group = number;
      loop.level = ref.level;
      loop.bind = ref.bind;
      loop.extent = ref.level == 0 ? (extent + tile - 1) / tile : g.factors[ref.level - 1];
      loop.var = plan_.NewVar(fmt::format("s{}g{}l{}", s, number, ref.level), 0, loop.extent - 1);
      if (ref.level > 0) below /= g.factors[ref.level - 1];
      if (ref.level == 0 && edge == Edge::kClip) {
        loop.base = plan_.NewVar(fmt::format("s{}g{}b", s, number), 0, extent - tile);
        loop.base_value = tir::Min(loop.var * tir::Index(tile), tir::Index(extent - tile));
        fused.Add(loop.base, 1);
      } else {
        fused.Add(tir::ToAffine(loop.var, plan_.bounds), below);
      }
    }
    Expr rest = fused.ToExpr();
    for (size_t i = g.axes.size(); i-- > 0;) {
      int a = g.axes[i];
      Expr size = tir::Index(std::max<int64_t>(p.region_extent[a], 1));
      Expr local = i == 0 ? rest : tir::FloorMod(rest, size);
      p.local[a] = tir::Simplify(local, plan_.bounds);
      if (i > 0) rest = tir::Simplify(tir::FloorDiv(rest, size), plan_.bounds);
      p.masked[a] = edge == Edge::kMask;
    }
    return OkStatus();
  }

  const te::Program& program_;
  const schedule::Schedule& schedule_;
  Plan plan_;
};

}  // namespace

tir::Expr Plan::NewVar(const std::string& name, int64_t lo, int64_t hi) {
  int id = next_var++;
  bounds.Set(id, {lo, std::max(lo, hi)});
  return tir::Var(id, name);
}

Result<Plan> MakePlan(const te::Program& program, const schedule::Schedule& schedule,
                      std::optional<int> root) {
  return Planner(program, schedule, root).Run();
}

}  // namespace temper::lower
