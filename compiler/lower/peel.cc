#include "compiler/lower/peel.h"

#include <algorithm>

namespace temper::lower {
namespace {

using tir::Bind;
using tir::Bounds;
using tir::Expr;
using tir::ExprKind;
using tir::Stmt;
using tir::StmtKind;

constexpr int64_t kMostStores = 32;  // of a body, copies of unrolled loops counted

int64_t ConstantOr(const Expr& e, int64_t otherwise) {
  return e->kind() == ExprKind::kIntImm ? e->int_value() : otherwise;
}

// Stores of the body; more than kMostStores where it is not to be doubled for another reason.
int64_t CountStores(const Stmt& s) {
  constexpr int64_t kTooMany = kMostStores + 1;
  int64_t count = 0;
  switch (s->kind) {
    case StmtKind::kStore:
      return 1;
    case StmtKind::kAllocate:
      return kTooMany;
    case StmtKind::kFor: {
      const int64_t copies = s->bind == Bind::kUnroll ? ConstantOr(s->extent, kTooMany) : 1;
      count = CountStores(s->body()) * copies;
      break;
    }
    default:
      for (const Stmt& c : s->children) count += CountStores(c);
  }
  return std::min(count, kTooMany);
}

class Conditions {
 public:
  Conditions(int var, tir::Interval all, tir::Interval others, std::span<const Expr> map,
             const Bounds& bounds)
      : map_(map), all_(bounds), others_(bounds) {
    all_.Set(var, all);
    others_.Set(var, others);
  }

  bool AnyDiffers(const Stmt& s) {
    if (s->kind == StmtKind::kFor) {
      const int64_t min = ConstantOr(s->min, 0), extent = ConstantOr(s->extent, 1);
      Know(s->var, {min, min + extent - 1}, {min, min + extent - 1});
    }
    if (s->kind == StmtKind::kLet) {
      const Expr here = tir::Simplifier(map_, all_).Simplify(s->value);
      const Expr there = tir::Simplifier(map_, others_).Simplify(s->value);
      Know(s->var, all_.Of(here), others_.Of(there));
    }
    if (s->kind == StmtKind::kIf && Differs(s->value)) return true;
    for (const Expr& e : s->indices) {
      if (HasCondition(e)) return true;
    }
    if (s->kind == StmtKind::kStore) {
      if (HasCondition(s->value) || (s->predicate && Differs(s->predicate))) return true;
    }
    for (const Stmt& c : s->children) {
      if (AnyDiffers(c)) return true;
    }
    return false;
  }

 private:
  void Know(const Expr& var, tir::Interval all, tir::Interval others) {
    all_.Set(var->var_id(), all);
    others_.Set(var->var_id(), others);
  }

  // Decided in the others, not in all.
  bool Differs(const Expr& condition) {
    if (condition->kind() == ExprKind::kAnd) {
      return Differs(condition->operand(0)) || Differs(condition->operand(1));
    }
    return tir::Simplifier(map_, others_).Simplify(condition)->kind() == ExprKind::kIntImm &&
           tir::Simplifier(map_, all_).Simplify(condition)->kind() != ExprKind::kIntImm;
  }

  bool HasCondition(const Expr& value) {
    bool found = false;
    tir::Visit(value, [&](const Expr& e) {
      if (e->kind() == ExprKind::kSelect && e->operand(0)->type() == tir::kCondition) {
        found = found || Differs(e->operand(0));
      }
      if (e->kind() == ExprKind::kLoad && e->has_predicate()) {
        found = found || Differs(e->predicate());
      }
      return !found;
    });
    return found;
  }

  std::span<const Expr> map_;
  Bounds all_, others_;
};

}  // namespace

bool LastDiffers(const Stmt& loop, int64_t min, int64_t extent, std::span<const Expr> map,
                 const Bounds& bounds) {
  if (loop->bind != Bind::kSerial || extent < 2) return false;
  const int64_t stores = CountStores(loop->body());
  if (stores == 0 || stores > kMostStores) return false;
  return Conditions(loop->var->var_id(), {min, min + extent - 1}, {min, min + extent - 2}, map,
                    bounds)
      .AnyDiffers(loop->body());
}

}  // namespace temper::lower
