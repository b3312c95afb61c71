#include "compiler/lower/predicate.h"

namespace temper::lower {
namespace {

using tir::Expr;
using tir::ExprKind;

// Conditions that keep `load` inside its buffer and that the bounds do not show; null: none.
Expr InsideOf(const Expr& load, const tir::Buffer& buffer, const tir::Bounds& bounds) {
  Expr inside;
  auto require = [&](const Expr& c) { inside = inside ? tir::And(inside, c) : c; };
  for (size_t d = 0; d < load->indices().size(); ++d) {
    tir::Affine index = tir::ToAffine(load->indices()[d], bounds);
    tir::Interval range = index.Of(bounds);
    int64_t first = buffer.halo_before.empty() ? 0 : -buffer.halo_before[d];
    int64_t end = buffer.shape[d] + (buffer.halo_after.empty() ? 0 : buffer.halo_after[d]);
    bool low = range.lo == tir::Interval::kMin || range.lo < first;
    bool high = range.hi == tir::Interval::kMax || range.hi >= end;
    if (!low && !high) continue;
    Expr i = index.ToExpr();
    if (low) require(tir::Le(tir::Index(first), i));
    if (high) require(tir::Lt(i, tir::Index(end)));
  }
  return inside;
}

class Pass {
 public:
  Pass(const std::vector<tir::Buffer>& buffers, const tir::Bounds& bounds)
      : buffers_(buffers), bounds_(bounds) {}

  // `uncertain`: the expression may be evaluated where the program would not.
  Expr Run(const Expr& e, bool uncertain) const {
    if (e->operands().empty()) return e;
    if (e->kind() == ExprKind::kLoad) return RunLoad(e, uncertain);
    bool select = e->kind() == ExprKind::kSelect;
    Expr condition = select ? tir::Simplify(e->operand(0), bounds_) : Expr();
    if (select && condition->kind() == ExprKind::kIntImm) {
      return Run(e->operand(condition->int_value() ? 1 : 2), uncertain);
    }
    std::vector<Expr> ops(e->operands().begin(), e->operands().end());
    if (select) ops[0] = condition;
    for (size_t i = 0; i < ops.size(); ++i) ops[i] = Run(ops[i], uncertain || (select && i > 0));
    return e->WithOperands(ops);
  }

 private:
  Expr RunLoad(const Expr& e, bool uncertain) const {
    std::vector<Expr> index;
    for (const Expr& i : e->indices()) index.push_back(Run(i, uncertain));
    Expr load = tir::Load(e->buffer(), e->type().dtype, index);
    if (!uncertain) return load;
    Expr inside = InsideOf(load, buffers_[e->buffer()], bounds_);
    return inside ? tir::Load(e->buffer(), e->type().dtype, index, inside) : load;
  }

  const std::vector<tir::Buffer>& buffers_;
  const tir::Bounds& bounds_;
};

}  // namespace

Expr PredicateLoads(const Expr& body, const std::vector<tir::Buffer>& buffers,
                    const tir::Bounds& bounds, bool overhangs) {
  return Pass(buffers, bounds).Run(body, overhangs);
}

}  // namespace temper::lower
