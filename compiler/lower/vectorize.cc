#include "compiler/lower/vectorize.h"

namespace temper::lower {
namespace {

using tir::Affine;
using tir::Expr;
using tir::ExprKind;
using tir::Stmt;
using tir::StmtKind;

class Vectorizer {
 public:
  Vectorizer(const Expr& var, int lanes, const std::vector<tir::Buffer>& buffers,
             const tir::Bounds& bounds)
      : var_(var->var_id()), lanes_(lanes), buffers_(buffers), bounds_(bounds) {}

  Result<Stmt> Run(const Stmt& s, const Expr& predicate) {
    switch (s->kind) {
      case StmtKind::kBlock: {
        std::vector<Stmt> children;
        for (const Stmt& c : s->children) {
          TEMPER_ASSIGN_OR_RETURN(Stmt v, Run(c, predicate));
          children.push_back(std::move(v));
        }
        return tir::Block(std::move(children));
      }
      case StmtKind::kIf: {
        if (s->children.size() > 1) return Internal("a vector loop holds an if with an else");
        Expr condition = Vector(s->value);
        if (condition->lanes() == 1) {
          TEMPER_ASSIGN_OR_RETURN(Stmt v, Run(s->children[0], predicate));
          return tir::If(condition, v);
        }
        return Run(s->children[0], predicate ? tir::And(predicate, condition) : condition);
      }
      case StmtKind::kStore:
        return RunStore(s, predicate);
      default:
        return Internal("a vector loop holds a loop, a let or an allocation");
    }
  }

 private:
  Result<Stmt> RunStore(const Stmt& s, Expr predicate) const {
    std::vector<Expr> indices;
    bool moves = false;
    for (const Expr& i : s->indices) {
      indices.push_back(Vector(i));
      moves |= Uses(i);
    }
    if (!moves) return RunReduction(s, predicate);
    Expr value = Lift(Vector(s->value));
    if (s->predicate) {
      Expr own = Lift(Vector(s->predicate));
      predicate = predicate ? tir::And(predicate, own) : own;
    }
    if (predicate) value = Guarded(value, predicate);
    if (predicate && buffers_[s->buffer].scope == tir::Scope::kRegister) {
      Expr old = tir::Load(s->buffer, value->type().dtype, indices);
      return tir::Store(s->buffer, std::move(indices), tir::Select(predicate, value, Lift(old)));
    }
    return tir::Store(s->buffer, std::move(indices), value, predicate);
  }

  // c[i] = c[i] + x[v]  ->  c[i] = c[i] + lanes_sum(x[ramp]), and so for products and extremes.
  Result<Stmt> RunReduction(const Stmt& s, const Expr& predicate) const {
    const ExprKind combiner = s->value->kind();
    const bool combines = combiner == ExprKind::kAdd || combiner == ExprKind::kMul ||
                          combiner == ExprKind::kMin || combiner == ExprKind::kMax;
    if (!combines || predicate || s->predicate || !IsOld(*s, s->value->operand(0))) {
      return FailedPrecondition("a vector loop along a reduction is not one plain combination");
    }
    Expr lanes = tir::ReduceLanes(combiner, Lift(Vector(s->value->operand(1))));
    Expr both[2] = {s->value->operand(0), std::move(lanes)};
    return tir::Store(s->buffer, s->indices, s->value->WithOperands(both), Expr());
  }

  // Whether `e` is the element that the store replaces.
  static bool IsOld(const tir::StmtNode& s, const Expr& e) {
    if (e->kind() != ExprKind::kLoad || e->buffer() != s.buffer || e->has_predicate() ||
        e->indices().size() != s.indices.size()) {
      return false;
    }
    for (size_t i = 0; i < s.indices.size(); ++i) {
      if (!tir::Equal(e->indices()[i], s.indices[i])) return false;
    }
    return true;
  }

  Expr Lift(const Expr& e) const { return e->lanes() == 1 ? tir::Broadcast(e, lanes_) : e; }

  // Loads of memory whose lanes may lie outside it where the predicate is false.
  Expr Guarded(const Expr& value, const Expr& predicate) const {
    return tir::Rewrite(value, [&](const Expr& e) -> Expr {
      if (e->kind() != ExprKind::kLoad || e->lanes() == 1) return {};
      tir::Scope scope = buffers_[e->buffer()].scope;
      if (scope != tir::Scope::kParam && scope != tir::Scope::kWorkspace) return {};
      Expr p = e->has_predicate() ? tir::And(predicate, e->predicate()) : predicate;
      return tir::Load(e->buffer(), e->type().dtype, e->indices(), p);
    });
  }

  bool Uses(const Expr& e) const {
    bool uses = false;
    tir::Visit(e, [&](const Expr& n) {
      uses |= n->kind() == ExprKind::kVar && n->var_id() == var_;
      return !uses;
    });
    return uses;
  }

  Expr Vector(const Expr& e) const {
    if (!Uses(e)) return e;
    if (e->type() == tir::kIndex) {
      Affine a = tir::ToAffine(e, bounds_);
      int64_t stride = a.CoefficientOf(var_);
      Affine rest;
      rest.constant = a.constant;
      bool affine = true;
      for (const Affine::Term& t : a.terms) {
        if (t.atom->kind() == ExprKind::kVar && t.atom->var_id() == var_) continue;
        affine &= !Uses(t.atom);
        rest.terms.push_back(t);
      }
      if (affine) {
        return stride == 0 ? rest.ToExpr() : tir::Ramp(rest.ToExpr(), stride, lanes_);
      }
    }
    if (e->kind() == ExprKind::kVar) return tir::Ramp(tir::Index(0), 1, lanes_);
    std::vector<Expr> ops;
    for (const Expr& o : e->operands()) ops.push_back(Vector(o));
    return e->WithOperands(ops);
  }

  int var_;
  int lanes_;
  const std::vector<tir::Buffer>& buffers_;
  const tir::Bounds& bounds_;
};

}  // namespace

Result<Stmt> Vectorize(const Stmt& body, const Expr& var, int lanes,
                       const std::vector<tir::Buffer>& buffers, const tir::Bounds& bounds) {
  return Vectorizer(var, lanes, buffers, bounds).Run(body, Expr());
}

}  // namespace temper::lower
