#include "compiler/lower/predicate.h"

namespace temper::lower {
namespace {

using tir::Expr;
using tir::ExprKind;

// Conditions that keep `load` inside its buffer and that the bounds do not show.
Expr InsideOf(const Expr& load, const tir::Buffer& buffer, const tir::Bounds& bounds) {
  Expr inside;
  auto require = [&](const Expr& c) {
    Expr simple = tir::Simplify(c, bounds);
    if (simple->kind() == ExprKind::kIntImm && simple->int_value()) return;
    inside = inside ? tir::And(inside, simple) : simple;
  };
  for (size_t d = 0; d < load->indices().size(); ++d) {
    const Expr& i = load->indices()[d];
    int64_t before = buffer.halo_before.empty() ? 0 : buffer.halo_before[d];
    int64_t after = buffer.halo_after.empty() ? 0 : buffer.halo_after[d];
    require(tir::Le(tir::Index(-before), i));
    require(tir::Lt(i, tir::Index(buffer.shape[d] + after)));
  }
  return inside;
}

bool HasLoad(const Expr& e) {
  bool found = false;
  tir::Visit(e, [&](const Expr& n) {
    found |= n->kind() == ExprKind::kLoad;
    return !found;
  });
  return found;
}

class Pass {
 public:
  Pass(const std::vector<tir::Buffer>& buffers, const tir::Bounds& bounds, bool overhangs)
      : buffers_(buffers), bounds_(bounds), overhangs_(overhangs) {}

  Expr Run(const Expr& e, const Expr& condition) const {
    if (e->kind() == ExprKind::kLoad) return RunLoad(e, condition);
    if (e->operands().empty()) return e;
    std::vector<Expr> ops(e->operands().begin(), e->operands().end());
    if (e->kind() == ExprKind::kSelect && (HasLoad(ops[1]) || HasLoad(ops[2]))) {
      ops[0] = Run(tir::Simplify(ops[0], bounds_), condition);
      if (ops[0]->kind() == ExprKind::kIntImm) {
        return Run(ops[ops[0]->int_value() ? 1 : 2], condition);
      }
      ops[1] = Run(ops[1], And(condition, ops[0]));
      ops[2] = Run(ops[2], And(condition, tir::Not(ops[0])));
    } else {
      for (Expr& o : ops) o = Run(o, condition);
    }
    return e->WithOperands(ops);
  }

 private:
  static Expr And(const Expr& a, const Expr& b) { return a ? tir::And(a, b) : b; }

  Expr RunLoad(const Expr& e, const Expr& condition) const {
    std::vector<Expr> index;
    for (const Expr& i : e->indices()) index.push_back(Run(i, condition));
    Expr load = tir::Load(e->buffer(), e->type().dtype, index);
    Expr inside;
    if (condition || overhangs_) inside = InsideOf(load, buffers_[e->buffer()], bounds_);
    // Where the bounds show that the load is always inside, it may be done in any case.
    if (!inside) return load;
    Expr predicate = overhangs_ ? inside : Expr();
    if (condition) predicate = predicate ? tir::And(condition, predicate) : condition;
    return tir::Load(e->buffer(), e->type().dtype, index, predicate);
  }

  const std::vector<tir::Buffer>& buffers_;
  const tir::Bounds& bounds_;
  bool overhangs_;
};

}  // namespace

Expr PredicateLoads(const Expr& body, const std::vector<tir::Buffer>& buffers,
                    const tir::Bounds& bounds, bool overhangs) {
  return Pass(buffers, bounds, overhangs).Run(body, Expr());
}

}  // namespace temper::lower
