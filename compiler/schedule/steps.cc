#include "compiler/schedule/steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/te/rewrite.h"

namespace temper::schedule {
namespace {

using tir::Expr;
using tir::ExprKind;

Status CheckPack(const te::Program& p, const Step& step, size_t number) {
  auto fail = [&](const std::string& what) {
    return FailedPrecondition(fmt::format("step {}: {}", number, what));
  };
  if (step.target < 0 || step.target >= static_cast<int>(p.tensors.size())) {
    return fail(fmt::format("there is no tensor {} to pack", step.target));
  }
  const te::Tensor& t = p.tensors[step.target];
  if (!t.halo_before.empty()) return fail(fmt::format("tensor {} has a halo", step.target));
  if (step.dims.empty() || step.dims.size() > te::kMaxRank) {
    return fail("a pack has from 1 to 12 dimensions");
  }
  std::vector<int64_t> covered(t.shape.size(), 0);
  std::vector<int64_t> last_step(t.shape.size(), 0);
  for (const PackDim& d : step.dims) {
    if (d.axis < 0 || d.axis >= static_cast<int>(t.shape.size())) {
      return fail(fmt::format("tensor {} has no axis {}", step.target, d.axis));
    }
    constexpr int64_t kLimit = int64_t{1} << 31;
    if (d.extent < 1 || d.step < 1 || d.extent > kLimit || d.step > kLimit) {
      return fail("an extent or step is out of range");
    }
    if (last_step[d.axis] != 0 && last_step[d.axis] != d.step * d.extent) {
      return fail(fmt::format("the blocks of axis {} do not nest", d.axis));
    }
    if (last_step[d.axis] == 0) covered[d.axis] = d.step * d.extent;
    last_step[d.axis] = d.step;
  }
  int64_t elements = 1;
  for (const PackDim& d : step.dims) {
    if (elements > te::kMaxElements / d.extent) return fail("the packed tensor is too large");
    elements *= d.extent;
  }
  for (size_t a = 0; a < t.shape.size(); ++a) {
    if (last_step[a] != 1 || covered[a] < t.shape[a]) {
      return fail(fmt::format("the blocks of axis {} do not cover it", a));
    }
    if (covered[a] >= 2 * std::max<int64_t>(t.shape[a], 64)) {
      return fail(fmt::format("the blocks of axis {} are mostly overhang", a));
    }
  }
  return OkStatus();
}

// The packed tensor's stage: p[i0, ...] = t[sum of i * step by axis], zero past the end.
te::Stage PackStage(te::Program& p, const Step& step) {
  const te::Tensor& t = p.tensors[step.target];
  te::Stage s;
  s.name = t.name + ".pack";
  std::vector<Expr> source(t.shape.size());
  std::vector<int64_t> covered(t.shape.size(), 1);
  for (size_t i = 0; i < step.dims.size(); ++i) {
    const PackDim& d = step.dims[i];
    Expr v = p.NewVar(fmt::format("p{}", i));
    s.spatial.push_back({v, d.extent});
    Expr part = v * tir::Index(d.step);
    source[d.axis] = source[d.axis] ? source[d.axis] + part : part;
    covered[d.axis] *= d.extent;
  }
  Expr inside;
  for (size_t a = 0; a < t.shape.size(); ++a) {
    if (covered[a] == t.shape[a]) continue;
    Expr c = tir::Lt(source[a], tir::Index(t.shape[a]));
    inside = inside ? tir::And(inside, c) : c;
  }
  Expr value = p.Read(step.target, source);
  s.body = inside ? tir::Select(inside, value, tir::Number(t.dtype, 0)) : value;
  return s;
}

bool Reads(const Expr& body, int tensor) {
  bool reads = false;
  tir::Visit(body, [&](const Expr& e) {
    reads |= e->kind() == ExprKind::kLoad && e->buffer() == tensor;
    return !reads;
  });
  return reads;
}

int FirstReader(const te::Program& p, int tensor) {
  for (size_t s = 0; s < p.stages.size(); ++s) {
    if (Reads(p.stages[s].body, tensor)) return static_cast<int>(s);
  }
  return -1;
}

Status ApplyPack(te::Program& p, const Step& step, size_t number) {
  TEMPER_RETURN_IF_ERROR(CheckPack(p, step, number));
  int reader = FirstReader(p, step.target);
  if (reader < 0) {
    return FailedPrecondition(
        fmt::format("step {}: no stage reads tensor {}", number, step.target));
  }
  const int id = te::InsertStage(p, reader, PackStage(p, step));
  for (size_t s = reader + 1; s < p.stages.size(); ++s) {
    if (!Reads(p.stages[s].body, step.target)) continue;
    p.stages[s].body = tir::Rewrite(p.stages[s].body, [&](const Expr& e) -> Expr {
      if (e->kind() != ExprKind::kLoad || e->buffer() != step.target) return {};
      std::vector<Expr> index;
      std::vector<bool> outermost(p.tensors[step.target].shape.size(), true);
      for (const PackDim& d : step.dims) {
        Expr i = tir::FloorDiv(e->indices()[d.axis], tir::Index(d.step));
        if (!outermost[d.axis]) i = tir::FloorMod(i, tir::Index(d.extent));
        outermost[d.axis] = false;
        index.push_back(i);
      }
      return p.Read(id, index);
    });
  }
  return OkStatus();
}

Status ApplyWriteCache(te::Program& p, const Step& step, size_t number) {
  if (step.target < 0 || step.target >= static_cast<int>(p.stages.size())) {
    return FailedPrecondition(fmt::format("step {}: there is no stage {}", number, step.target));
  }
  te::Stage& original = p.stages[step.target];
  if (original.combiner == te::Combiner::kNone) {
    return FailedPrecondition(
        fmt::format("step {}: stage {} has no reduction to cache", number, step.target));
  }
  te::Stage cache = original;
  cache.name += ".cache";
  te::Stage copy;
  copy.name = original.name;
  copy.tensor = original.tensor;
  std::vector<Expr> index;
  for (size_t i = 0; i < original.spatial.size(); ++i) {
    Expr v = p.NewVar(fmt::format("c{}", i));
    copy.spatial.push_back({v, original.spatial[i].extent});
    index.push_back(v);
  }
  int position = step.target;
  copy.body = p.Read(te::InsertStage(p, position, std::move(cache)), index);
  p.stages[position + 1] = std::move(copy);
  return OkStatus();
}

Status CheckSplitReduction(const te::Program& p, const Step& step, size_t number) {
  auto fail = [&](const std::string& what) {
    return FailedPrecondition(fmt::format("step {}: {}", number, what));
  };
  if (step.target < 0 || step.target >= static_cast<int>(p.stages.size())) {
    return fail(fmt::format("there is no stage {}", step.target));
  }
  const te::Stage& s = p.stages[step.target];
  if (step.axis < 0 || step.axis >= s.axis_count() || !s.IsReduction(step.axis)) {
    return fail(fmt::format("stage {} has no reduction axis {}", step.target, step.axis));
  }
  if (s.spatial.size() + 1 > te::kMaxRank) return fail("its partial results have too many axes");
  constexpr int64_t kMaxParts = 1024;
  if (step.parts < 2 || step.parts > kMaxParts || step.parts / 2 >= s.axis(step.axis).extent) {
    return fail(fmt::format("{} parts of {} elements", step.parts, s.axis(step.axis).extent));
  }
  int64_t elements = step.parts;
  for (const te::Axis& a : s.spatial) {
    if (elements > te::kMaxElements / a.extent) return fail("its partial results are too many");
    elements *= a.extent;
  }
  return OkStatus();
}

// max over v > -inf ? v : -inf, and so for a minimum.
bool PassesOverNan(const te::Stage& stage) {
  const bool max = stage.combiner == te::Combiner::kMax;
  if (!max && stage.combiner != te::Combiner::kMin) return false;
  const Expr& body = stage.body;
  if (body->kind() != ExprKind::kSelect || body->operand(0)->kind() != ExprKind::kLt) return false;
  const Expr least = te::Identity(stage.combiner, body->type().dtype);
  const Expr &low = body->operand(0)->operand(0), &high = body->operand(0)->operand(1);
  return IsFloat(body->type().dtype) && tir::Equal(body->operand(2), least) &&
         tir::Equal(max ? low : high, least) && tir::Equal(max ? high : low, body->operand(1));
}

Status ApplySplitReduction(te::Program& p, const Step& step, size_t number) {
  TEMPER_RETURN_IF_ERROR(CheckSplitReduction(p, step, number));
  const te::Stage original = p.stages[step.target];
  const te::Axis& split = original.axis(step.axis);
  te::Stage parts = original;
  parts.name += ".parts";
  const Expr part = p.NewVar("p");
  const te::Axis steps{p.NewVar("q"), (split.extent + step.parts - 1) / step.parts};
  parts.spatial.push_back({part, step.parts});
  parts.reduce[step.axis - original.spatial.size()] = steps;
  const Expr at = steps.var * tir::Index(step.parts) + part;
  std::vector<Expr> map(p.next_var);
  map[split.var->var_id()] = at;
  parts.body = tir::Substitute(original.body, map);
  const DType dtype = p.tensors[original.tensor].dtype;
  if (steps.extent * step.parts != split.extent) {
    parts.body = tir::Select(tir::Lt(at, tir::Index(split.extent)), parts.body,
                             te::Identity(original.combiner, dtype));
  }
  te::CombineParts(p, step.target, std::move(parts));
  te::Stage& rest = p.stages[step.target + 1];
  // An extreme that passes NaN over does so in its parts too: said again, it spares the combination
  // of the lanes the search for NaN.
  if (PassesOverNan(original)) {
    const Expr least = original.body->operand(2);
    const bool max = original.combiner == te::Combiner::kMax;
    const Expr beyond = max ? tir::Lt(least, rest.body) : tir::Lt(rest.body, least);
    rest.body = tir::Select(beyond, rest.body, least);
  }
  return OkStatus();
}

}  // namespace

Result<te::Program> ApplySteps(const te::Program& program, const std::vector<Step>& steps) {
  te::Program p = program;
  if (steps.size() + p.stages.size() > te::kMaxStages ||
      steps.size() + p.tensors.size() > te::kMaxTensors) {
    return FailedPrecondition("the schedule's steps make the program too large");
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    switch (steps[i].kind) {
      case StepKind::kPack:
        TEMPER_RETURN_IF_ERROR(ApplyPack(p, steps[i], i));
        break;
      case StepKind::kWriteCache:
        TEMPER_RETURN_IF_ERROR(ApplyWriteCache(p, steps[i], i));
        break;
      case StepKind::kSplitReduction:
        TEMPER_RETURN_IF_ERROR(ApplySplitReduction(p, steps[i], i));
        break;
    }
  }
  return p;
}

}  // namespace temper::schedule
