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
      : var_(var->var_id()), map_(map), all_(bounds), main_(bounds), end_(bounds) {
    all_.Set(var_, {0, extent - 1});
    main_.Set(var_, {0, extent - 2});
    end_.Set(var_, {extent - 1, extent - 1});
  }

  LastTile Run(const Stmt& body) {
    Walk(body);
    return narrower_ ? LastTile::kNarrower : masked_ ? LastTile::kMasked : LastTile::kAsOthers;
  }

 private:
  void Walk(const Stmt& s) {
    if (narrower_) return;
    if (s->kind == StmtKind::kFor && s->min->kind() == ExprKind::kIntImm &&
        s->extent->kind() == ExprKind::kIntImm) {
      const int64_t min = s->min->int_value(), last = min + s->extent->int_value() - 1;
      const int id = s->var->var_id();
      all_.Set(id, {min, last});
      main_.Set(id, {min, last});
      // Of unrolled copies the last one is the first to lie past the end.
      end_.Set(id, {s->bind == tir::Bind::kUnroll ? last : min, last});
    }
    if (s->kind == StmtKind::kIf) Look(s->value);
    if (s->predicate) Look(s->predicate);
    if (s->value) {
      tir::Visit(s->value, [&](const Expr& e) {
        if (e->kind() == ExprKind::kLoad && e->has_predicate()) Look(e->predicate());
        return true;
      });
    }
    for (const Stmt& child : s->children) Walk(child);
  }

  void Look(const Expr& condition) {
    bool uses = false;
    tir::Visit(condition, [&](const Expr& e) {
      uses |= e->kind() == ExprKind::kVar && e->var_id() == var_;
      return !uses;
    });
    if (!uses) return;
    if (!tir::Simplifier(map_, main_).Simplify(condition)->IsInt(1)) return;
    if (tir::Simplifier(map_, all_).Simplify(condition)->IsInt(1)) return;
    masked_ = true;
    narrower_ = narrower_ || tir::Simplifier(map_, end_).Simplify(condition)->IsInt(0);
  }

  int var_;
  std::span<const Expr> map_;
  tir::Bounds all_, main_, end_;  // of all iterations, without the last, of the last
  bool masked_ = false, narrower_ = false;
};

}  // namespace

LastTile ClassifyLast(const Stmt& body, const Expr& var, int64_t extent, std::span<const Expr> map,
                      const tir::Bounds& bounds) {
  if (extent < 2) return LastTile::kAsOthers;
  return Finder(var, extent, map, bounds).Run(body);
}

}  // namespace temper::lower
