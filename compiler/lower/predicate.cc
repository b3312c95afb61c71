#include "compiler/lower/predicate.h"

namespace temper::lower {
namespace {

using schedule::PlaceKind;
using tir::Affine;
using tir::Expr;
using tir::ExprKind;

bool HasLoad(const Expr& e) {
  if (e->kind() == ExprKind::kLoad) return true;
  for (const Expr& o : e->operands()) {
    if (HasLoad(o)) return true;
  }
  return false;
}

class Binder {
 public:
  Binder(std::span<const Expr> values, const std::vector<tir::Buffer>& buffers, const Plan& plan)
      : buffers_(buffers), plan_(plan), simplifier_(values, plan.bounds), bases_({}, plan.bounds) {}

  // `uncertain`: the expression may be evaluated where the program would not.
  Expr Run(const Expr& e, bool uncertain) {
    switch (e->kind()) {
      case ExprKind::kIntImm:
      case ExprKind::kFloatImm:
        return e;
      case ExprKind::kLoad:
      case ExprKind::kSelect: {
        constexpr size_t kMost = 48;  // more would cost more to find than to make again
        for (const Known& k : known_) {
          if (k.node == e.get() && k.uncertain == uncertain) return k.value;
        }
        Expr made = e->kind() == ExprKind::kLoad ? RunLoad(e, uncertain) : RunSelect(e, uncertain);
        if (known_.size() < kMost) known_.push_back({e.get(), uncertain, made});
        return made;
      }
      default:
        break;
    }
    bool decides = e->type() == tir::kIndex || e->type() == tir::kCondition;
    if (decides && !HasLoad(e)) return simplifier_.Simplify(e);
    auto ops = e->operands();
    if (ops.empty()) return simplifier_.Simplify(e);
    std::vector<Expr> out;
    out.reserve(ops.size());
    bool changed = false;
    for (const Expr& o : ops) {
      out.push_back(Run(o, uncertain));
      changed |= out.back().get() != o.get();
    }
    Expr made = changed ? e->WithOperands(out) : e;
    return decides ? tir::Simplify(made, plan_.bounds) : made;
  }

 private:
  Expr RunSelect(const Expr& e, bool uncertain) {
    Expr c = Run(e->operand(0), uncertain);
    if (c->kind() == ExprKind::kIntImm) return Run(e->operand(c->int_value() ? 1 : 2), uncertain);
    return tir::Select(c, Run(e->operand(1), true), Run(e->operand(2), true));
  }

  // In the buffer of a stage that is computed inside a loop lies the region alone.
  const std::vector<Expr>* RegionBase(int tensor) const {
    int producer = plan_.program->tensors[tensor].producer;
    bool local = producer >= 0 && plan_.schedule->stages[producer].place.kind == PlaceKind::kAt;
    return local ? &plan_.stages[producer].region_base : nullptr;
  }

  Expr RunLoad(const Expr& e, bool uncertain) {
    const tir::Buffer& buffer = buffers_[e->buffer()];
    const std::vector<Expr>* base = RegionBase(e->buffer());
    std::vector<Expr> index;
    index.reserve(e->indices().size());
    Expr inside;
    auto require = [&](const Expr& c) { inside = inside ? tir::And(inside, c) : c; };
    for (size_t d = 0; d < e->indices().size(); ++d) {
      const Expr& i = e->indices()[d];
      Affine a =
          HasLoad(i) ? tir::ToAffine(Run(i, uncertain), plan_.bounds) : simplifier_.ToAffine(i);
      if (base) a.Add(bases_.ToAffine((*base)[d]), -1);
      index.push_back(a.ToExpr());
      if (!uncertain) continue;
      tir::Interval range = a.Of(plan_.bounds);
      // What lies beside the last dimension belongs to others, where it exists at all.
      const bool zeros = !buffer.halo_before.empty() && d + 1 < buffer.shape.size();
      int64_t first = zeros ? -buffer.halo_before[d] : 0;
      int64_t end = buffer.shape[d] + (zeros ? buffer.halo_after[d] : 0);
      bool low = range.lo == tir::Interval::kMin || range.lo < first;
      bool high = range.hi == tir::Interval::kMax || range.hi >= end;
      auto keep = [&](const Expr& c) { require(tir::Simplify(c, plan_.bounds)); };
      if (low) keep(tir::Le(tir::Index(first), index.back()));
      if (high) keep(tir::Lt(index.back(), tir::Index(end)));
    }
    return tir::Load(e->buffer(), e->type().dtype, index, inside);
  }

  struct Known {
    const tir::ExprNode* node;
    bool uncertain;
    Expr value;
  };
  const std::vector<tir::Buffer>& buffers_;
  const Plan& plan_;
  tir::Simplifier simplifier_;  // axes stand for their values
  tir::Simplifier bases_;       // of regions, in terms of loop variables
  std::vector<Known> known_;    // loads and selections, which may occur more than once
};

}  // namespace

Expr BindBody(const Expr& body, std::span<const Expr> values,
              const std::vector<tir::Buffer>& buffers, const Plan& plan, bool overhangs) {
  return Binder(values, buffers, plan).Run(body, overhangs);
}

}  // namespace temper::lower
