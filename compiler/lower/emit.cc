#include "compiler/lower/emit.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/lower/halo.h"
#include "compiler/lower/predicate.h"

namespace temper::lower {
namespace {

using schedule::PlaceKind;
using tir::Bind;
using tir::Expr;
using tir::ExprKind;
using tir::Scope;
using tir::Stmt;

constexpr size_t kMostTouches = 16;  // of one prefetch

class Emitter {
 public:
  Emitter(Plan plan, const Target& target)
      : plan_(std::move(plan)), program_(*plan_.program), target_(target) {}

  Result<Lowered> Run() {
    AddBuffers();
    std::vector<Stmt> body;
    for (int id : program_.outputs) {
      if (plan_.root.value_or(-1) >= 0) break;
      const tir::Buffer& b = out_.function.buffers[id];
      body.push_back(FillHalo(b, id, target_.Lanes(ByteSize(b.dtype)), plan_));
    }
    for (size_t s = 0; s < plan_.stages.size(); ++s) {
      if (PlaceOf(static_cast<int>(s)).kind == PlaceKind::kRoot && plan_.stages[s].has_loops) {
        body.push_back(EmitStage(static_cast<int>(s)));
      }
    }
    out_.function.body = tir::Block(std::move(body));
    out_.function.name = "kernel";
    out_.function.next_var = plan_.next_var;
    return std::move(out_);
  }

 private:
  const schedule::Place& PlaceOf(int s) const { return plan_.schedule->stages[s].place; }

  // One buffer a tensor, with the tensor's number. Those of inlined stages are never used.
  void AddBuffers() {
    size_t packs = plan_.schedule->steps.size();
    size_t first_pack = program_.tensors.size() - packs;
    std::vector<int> packed_as(program_.tensors.size(), -1);
    for (size_t s = 0; s < plan_.stages.size(); ++s) {
      if (PlaceOf(static_cast<int>(s)).kind != PlaceKind::kConstant) continue;
      int tensor = program_.stages[s].tensor;
      packed_as[plan_.schedule->steps[tensor - first_pack].target] = tensor;
    }
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      const te::Tensor& tensor = program_.tensors[t];
      tir::Buffer b;
      b.name = tensor.name;
      b.dtype = tensor.dtype;
      b.shape = tensor.shape;
      b.halo_before = tensor.halo_before;
      b.halo_after = tensor.halo_after;
      if (tensor.producer >= 0 && PlaceOf(tensor.producer).kind == PlaceKind::kAt &&
          plan_.stages[tensor.producer].has_loops) {
        b.scope = plan_.schedule->stages[tensor.producer].scope;
        const StagePlan& p = plan_.stages[tensor.producer];
        b.shape.assign(p.region_extent.begin(),
                       p.region_extent.begin() +
                           static_cast<ptrdiff_t>(program_.stages[tensor.producer].spatial.size()));
        if (b.scope == Scope::kStack) AlignRows(b);
      } else {
        b.scope = Scope::kWorkspace;
        const PlaceKind kind =
            tensor.producer < 0 ? PlaceKind::kRoot : PlaceOf(tensor.producer).kind;
        if (kind == PlaceKind::kInline || kind == PlaceKind::kAt ||
            packed_as[t] >= 0) {  // in the table alone: nothing reads or stores it
          b.scope = Scope::kStack;
          b.shape.assign(b.shape.size(), 1);
        }
      }
      out_.function.buffers.push_back(std::move(b));
    }
    for (int id : program_.inputs) {
      int tensor = packed_as[id] >= 0 ? packed_as[id] : id;
      const te::Tensor& input = program_.tensors[id];
      Argument a{tensor, id, false, input.constant, {}, input.transform};
      if (tensor != id) {
        a.pack = plan_.schedule->steps[tensor - first_pack].dims;
      } else if (input.transform.rows > 0) {
        for (size_t d = 0; d < input.shape.size(); ++d) {
          a.pack.push_back({static_cast<int>(d), input.shape[d], 1});
        }
      }
      AddArgument(std::move(a));
    }
    for (int id : program_.outputs) AddArgument({id, id, true, false, {}, {}});
    for (tir::Buffer& b : out_.function.buffers) {
      if (b.scope != Scope::kWorkspace || b.param >= 0) continue;
      b.workspace_offset = out_.function.workspace_bytes;
      int64_t bytes = b.ElementCount() * ByteSize(b.dtype);
      out_.function.workspace_bytes += (bytes + 63) / 64 * 64;
    }
  }

  // Rows longer than a line begin at one, so that vectors do not lie across two.
  void AlignRows(tir::Buffer& b) const {
    const int64_t line = std::max<int64_t>(target_.line_bytes / ByteSize(b.dtype), 1);
    if (b.shape.size() < 2 || b.shape.back() <= line || b.shape.back() % line == 0) return;
    b.halo_before.assign(b.shape.size(), 0);
    b.halo_after = b.halo_before;
    b.halo_after.back() = line - b.shape.back() % line;
  }

  void AddArgument(Argument a) {
    tir::Buffer& b = out_.function.buffers[a.tensor];
    b.scope = Scope::kParam;
    b.param = static_cast<int>(out_.arguments.size());
    out_.function.params.push_back(a.tensor);
    out_.arguments.push_back(std::move(a));
  }

  // Where a reader or the stage itself finds element `index` of a tensor in its buffer.
  std::vector<Expr> BufferIndex(int tensor, std::span<const Expr> index) const {
    std::vector<Expr> out(index.begin(), index.end());
    int producer = program_.tensors[tensor].producer;
    bool local = producer >= 0 && PlaceOf(producer).kind == PlaceKind::kAt;
    for (size_t d = 0; d < out.size(); ++d) {
      if (local) {
        out[d] = out[d] - plan_.stages[producer].region_base[d];
      }
      out[d] = tir::Simplify(out[d], plan_.bounds);
    }
    return out;
  }

  // The body with axis variables replaced by their values and tensors by buffers.
  Expr BodyOf(int s) const {
    const te::Stage& stage = program_.stages[s];
    const StagePlan& p = plan_.stages[s];
    std::vector<Expr> map(program_.next_var);
    for (int a = 0; a < stage.axis_count(); ++a) map[stage.axis(a).var->var_id()] = p.value[a];
    bool overhangs = std::find(p.overhangs.begin(), p.overhangs.end(), true) != p.overhangs.end();
    return BindBody(p.body, map, out_.function.buffers, plan_, overhangs);
  }

  std::vector<Expr> OwnIndex(int s) const {
    const te::Stage& stage = program_.stages[s];
    const StagePlan& p = plan_.stages[s];
    bool local = PlaceOf(s).kind == PlaceKind::kAt;
    std::vector<Expr> index;
    for (size_t d = 0; d < stage.spatial.size(); ++d) {
      index.push_back(tir::Simplify(local ? p.local[d] : p.value[d], plan_.bounds));
    }
    return index;
  }

  // `statement` only where masked axes are inside the region.
  Stmt Guard(int s, Stmt statement, std::span<const Expr> rename) const {
    const StagePlan& p = plan_.stages[s];
    for (size_t a = 0; a < p.masked.size(); ++a) {
      if (!p.masked[a]) continue;
      Expr c = tir::Simplify(tir::Lt(p.local[a], tir::Index(p.region_extent[a])), plan_.bounds);
      statement = tir::If(rename.empty() ? c : tir::Substitute(c, rename), statement);
    }
    return statement;
  }

  Stmt EmitStage(int s) { return EmitLoop(s, 0); }

  bool IsReductionLoop(int s, const Loop& l) const {
    const schedule::Group& g = plan_.schedule->stages[s].groups[l.group];
    return program_.stages[s].IsReduction(g.axes[0]);
  }

  Stmt EmitLoop(int s, size_t depth) {
    StagePlan& p = plan_.stages[s];
    if (depth == 0 && p.loops.size() > 1 && p.loops[0].bind == Bind::kParallel &&
        p.loops[1].bind == Bind::kParallel) {
      return EmitCollapsed(s);
    }
    if (depth == p.loops.size()) return EmitBody(s);
    const Loop& loop = p.loops[depth];
    bool first_reduction = IsReductionLoop(s, loop) && FirstReduction(s) == depth;
    Stmt nest = Open(loop, EmitInside(s, depth));
    if (!first_reduction) return nest;
    return tir::Block({EmitInit(s, depth), nest});
  }

  size_t FirstReduction(int s) const {
    const StagePlan& p = plan_.stages[s];
    for (size_t i = 0; i < p.loops.size(); ++i) {
      if (IsReductionLoop(s, p.loops[i])) return i;
    }
    return p.loops.size();
  }

  // What lies inside loop `depth`: the stages placed there, prefetches, then the deeper loops.
  Stmt EmitInside(int s, size_t depth) {
    std::vector<Stmt> body;
    std::vector<int> local;
    for (int inner : plan_.stages[s].placed) {
      if (PlaceOf(inner).loop != static_cast<int>(depth)) continue;
      body.push_back(EmitStage(inner));
      local.push_back(program_.stages[inner].tensor);
    }
    for (const schedule::Prefetch& f : plan_.schedule->stages[s].prefetches) {
      if (f.loop == static_cast<int>(depth)) body.push_back(EmitPrefetch(s, f));
    }
    body.push_back(EmitLoop(s, depth + 1));
    Stmt all = tir::Block(std::move(body));
    for (int tensor : local) all = tir::Allocate(tensor, all);
    return all;
  }

  static Stmt Open(const Loop& loop, Stmt body) {
    if (loop.base) body = tir::LetStmt(loop.base, loop.base_value, body);
    if (loop.extent == 1 && loop.bind != Bind::kVector) {
      // The variable is known to be zero and was simplified away, but for its use in `base`.
      return loop.base ? tir::LetStmt(loop.var, tir::Index(0), body) : body;
    }
    return tir::For(loop.var, 0, loop.extent, loop.bind, body);
  }

  // The leading parallel loops as one.
  Stmt EmitCollapsed(int s) {
    StagePlan& p = plan_.stages[s];
    size_t n = 0;
    int64_t total = 1;
    while (n < p.loops.size() && p.loops[n].bind == Bind::kParallel) total *= p.loops[n++].extent;
    Expr fused = plan_.NewVar(fmt::format("s{}p", s), 0, total - 1);
    Stmt body = EmitInside(s, n - 1);
    Expr rest = fused;
    std::vector<Expr> value(n);
    for (size_t i = n; i-- > 0;) {
      Expr extent = tir::Index(p.loops[i].extent);
      value[i] = tir::Simplify(i == 0 ? rest : tir::FloorMod(rest, extent), plan_.bounds);
      rest = tir::FloorDiv(rest, extent);
    }
    for (size_t i = n; i-- > 0;) {
      // Stages placed in an outer loop of the collapsed ones run in each iteration.
      std::vector<Stmt> before;
      std::vector<int> local;
      for (int inner : p.placed) {
        if (i + 1 == n || PlaceOf(inner).loop != static_cast<int>(i)) continue;
        before.push_back(EmitStage(inner));
        local.push_back(program_.stages[inner].tensor);
      }
      before.push_back(body);
      body = tir::Block(std::move(before));
      for (int tensor : local) body = tir::Allocate(tensor, body);
      if (p.loops[i].base) body = tir::LetStmt(p.loops[i].base, p.loops[i].base_value, body);
      body = tir::LetStmt(p.loops[i].var, value[i], body);
    }
    return tir::For(fused, 0, total, Bind::kParallel, body);
  }

  Stmt EmitBody(int s) {
    const te::Stage& stage = program_.stages[s];
    std::vector<Expr> index = OwnIndex(s);
    Expr value = BodyOf(s);
    if (stage.combiner != te::Combiner::kNone) {
      value =
          te::Combine(stage.combiner, tir::Load(stage.tensor, value->type().dtype, index), value);
    }
    return Guard(s, tir::Store(stage.tensor, index, value), {});
  }

  // Sets the result to the identity over the spatial loops inside the first reduction loop.
  Stmt EmitInit(int s, size_t depth) {
    const te::Stage& stage = program_.stages[s];
    const StagePlan& p = plan_.stages[s];
    std::vector<Loop> loops;
    std::vector<Expr> rename(plan_.next_var);
    for (size_t i = depth; i < p.loops.size(); ++i) {
      if (IsReductionLoop(s, p.loops[i])) continue;
      Loop l = p.loops[i];
      Expr fresh_var = plan_.NewVar(l.var->var_name() + "i", 0, l.extent - 1);
      rename[l.var->var_id()] = fresh_var;
      l.var = fresh_var;
      if (l.base) {
        tir::Interval range = plan_.bounds.Get(l.base->var_id());
        Expr fresh = plan_.NewVar(l.base->var_name() + "i", range.lo, range.hi);
        rename[l.base->var_id()] = fresh;
        l.base = fresh;
        l.base_value = tir::Substitute(l.base_value, rename);
      }
      loops.push_back(std::move(l));
    }
    std::vector<Expr> index = OwnIndex(s);
    for (Expr& i : index) i = tir::Substitute(i, rename);
    DType dtype = program_.tensors[stage.tensor].dtype;
    Stmt body = tir::Store(stage.tensor, index, te::Identity(stage.combiner, dtype));
    body = Guard(s, body, rename);
    for (size_t i = loops.size(); i-- > 0;) body = Open(loops[i], body);
    return body;
  }

  // Touches every line that the stage will read of the tensor `distance` iterations later.
  Stmt EmitPrefetch(int s, const schedule::Prefetch& f) {
    const te::Stage& stage = program_.stages[s];
    const StagePlan& p = plan_.stages[s];
    int tensor = f.tensor;
    std::vector<Stmt> touches;
    std::vector<Expr> map(program_.next_var);
    for (int a = 0; a < stage.axis_count(); ++a) map[stage.axis(a).var->var_id()] = p.value[a];
    tir::Visit(p.body, [&](const Expr& e) {
      if (e->kind() != ExprKind::kLoad || e->buffer() != tensor || !touches.empty()) return true;
      std::vector<Expr> index;
      std::vector<Expr> ahead(plan_.next_var);
      const Expr& var = p.loops[f.loop].var;
      ahead[var->var_id()] = var + tir::Index(f.distance);
      for (size_t i = f.loop + 1; i < p.loops.size(); ++i) {
        ahead[p.loops[i].var->var_id()] = tir::Index(0);
        if (p.loops[i].base) ahead[p.loops[i].base->var_id()] = tir::Index(0);
      }
      // Loops inside that move along the last dimension give the extent to touch; unrolled ones
      // that move along another repeat it, as steps of a reduction do.
      int64_t span = 1;
      std::vector<std::vector<int64_t>> steps;  // by touch: by how much it moves each dimension
      steps.emplace_back(e->indices().size(), 0);
      for (size_t d = 0; d < e->indices().size(); ++d) {
        Expr value = tir::Substitute(e->indices()[d], map);
        tir::Affine a = tir::ToAffine(value, plan_.bounds);
        for (size_t i = f.loop + 1; i < p.loops.size(); ++i) {
          const Loop& loop = p.loops[i];
          const int64_t c = a.CoefficientOf(loop.var->var_id());
          if (d + 1 == e->indices().size()) {
            span += std::max<int64_t>(c, 0) * (loop.extent - 1);
          } else if (c > 0 && loop.bind == Bind::kUnroll) {
            const size_t known = steps.size();
            for (int64_t n = 1; n < loop.extent && steps.size() < kMostTouches; ++n) {
              for (size_t k = 0; k < known; ++k) {
                steps.push_back(steps[k]);
                steps.back()[d] += n * c;
              }
            }
          }
        }
        index.push_back(tir::Simplify(tir::Substitute(value, ahead), plan_.bounds));
      }
      const int64_t line = target_.line_bytes / ByteSize(program_.tensors[tensor].dtype);
      for (const std::vector<int64_t>& step : steps) {
        for (int64_t at = 0; at < span && touches.size() < kMostTouches; at += line) {
          std::vector<Expr> there = BufferIndex(tensor, index);
          for (size_t d = 0; d < step.size(); ++d) {
            if (step[d] != 0) there[d] = there[d] + tir::Index(step[d]);
          }
          if (at != 0) there.back() = there.back() + tir::Index(at);
          touches.push_back(tir::Prefetch(tensor, there, 3));
        }
      }
      return true;
    });
    return tir::Block(std::move(touches));
  }

  Plan plan_;
  const te::Program& program_;
  const Target& target_;
  Lowered out_;
};

}  // namespace

Result<Lowered> Emit(Plan plan, const Target& target) {
  return Emitter(std::move(plan), target).Run();
}

}  // namespace temper::lower
