#include "compiler/lower/tail.h"

namespace temper::lower {
namespace {

using tir::Expr;
using tir::ExprKind;
using tir::Stmt;
using tir::StmtKind;

class Finder {
 public:
  Finder(const Expr& var, int64_t extent, std::span<const Expr> map, const tir::Bounds& bounds)
      : var_(var->var_id()), map_(map), all_(bounds), main_(bounds) {
    all_.Set(var_, {0, extent - 1});
    main_.Set(var_, {0, extent - 2});
  }

  bool Walk(const Stmt& s) {
    for (const Expr* e : {&s->value, &s->predicate}) {
      if (*e && (s->kind == StmtKind::kIf || e == &s->predicate) && Decided(*e)) return true;
      if (*e && InLoads(*e)) return true;
    }
    if (s->kind == StmtKind::kFor && s->min->kind() == ExprKind::kIntImm &&
        s->extent->kind() == ExprKind::kIntImm) {
      const int64_t min = s->min->int_value();
      const tir::Interval range{min, min + s->extent->int_value() - 1};
      all_.Set(s->var->var_id(), range);
      main_.Set(s->var->var_id(), range);
    }
    for (const Stmt& child : s->children) {
      if (Walk(child)) return true;
    }
    return false;
  }

 private:
  bool InLoads(const Expr& root) {
    bool found = false;
    tir::Visit(root, [&](const Expr& e) {
      if (e->kind() == ExprKind::kLoad && e->has_predicate()) found |= Decided(e->predicate());
      return !found;
    });
    return found;
  }

  bool Decided(const Expr& condition) {
    bool uses = false;
    tir::Visit(condition, [&](const Expr& e) {
      uses |= e->kind() == ExprKind::kVar && e->var_id() == var_;
      return !uses;
    });
    if (!uses) return false;
    const Expr main = tir::Simplifier(map_, main_).Simplify(condition);
    if (!main->IsInt(1)) return false;
    return !tir::Simplifier(map_, all_).Simplify(condition)->IsInt(1);
  }

  int var_;
  std::span<const Expr> map_;
  tir::Bounds all_, main_;  // with all iterations, and without the last
};

}  // namespace

bool OnlyLastIsMasked(const Stmt& body, const Expr& var, int64_t extent, std::span<const Expr> map,
                      const tir::Bounds& bounds) {
  return extent > 1 && Finder(var, extent, map, bounds).Walk(body);
}

}  // namespace temper::lower
