// The second half of lowering: binds become code.
//
//   jam      two sums over the same rows are taken in one pass (jam.h)
//   join     for i: e[i] = f(i);  for i: s += e[i]   ->  for i: e[i] = f(i), s += e[i] (join.h)
//   reuse    a long row on the stack, of which a result is made element by element, lies in the
//            result itself (reuse.h)
//   unroll   for j in 0..2 unroll: s(j)              ->  s(0); s(1)
//   vector   for v in 0..16 vector: c[i+v] = x[v]    ->  c[ramp(i, 1, 16)] = x[ramp(0, 1, 16)]
//            if i + v < n: c[i+v] = ...              ->  the condition becomes the predicate
//            if v < 1: c[i+v] = ...              ->  c[i] = ...
//   last     for j in 0..13: if j*16 < 197 - v: s(j)
//            ->  for j in 0..12: s(j); if 192 < 197 - v: s(12)
//            (peel.h), so that only the last vector of a row is masked
//   tails    the last of a loop's tiles gets code of its own where that is narrower or where masks
//            are dear (tail.h)
//   hoist    scalars of a row are loaded in front of the loop over it (hoist.h)
//   loops of one iteration and constant lets are substituted; indices are simplified throughout.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/lower/hoist.h"
#include "compiler/lower/jam.h"
#include "compiler/lower/join.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/peel.h"
#include "compiler/lower/reuse.h"
#include "compiler/lower/tail.h"
#include "compiler/lower/vectorize.h"
#include "compiler/tir/affine.h"

namespace temper::lower {
namespace {

using tir::Bind;
using tir::Expr;
using tir::ExprKind;
using tir::Interval;
using tir::Stmt;
using tir::StmtKind;

constexpr int64_t kMaxStatements = 1 << 16;

class Finisher {
 public:
  Finisher(const tir::Function& f, bool masks) : function_(f), map_(f.next_var), masks_(masks) {}

  Result<tir::Function> Run() {
    tir::Function out = function_;
    out.body = Rebuild(function_.body);
    if (!status_.ok()) return status_;
    return out;
  }

 private:
  Expr Value(const Expr& e) { return WithoutCertainty(tir::Simplifier(map_, bounds_).Simplify(e)); }

  // Loads whose predicate always holds have none.
  static Expr WithoutCertainty(const Expr& value) {
    auto certain = [](const Expr& e) {
      return e->kind() == ExprKind::kLoad && e->has_predicate() &&
             e->predicate()->kind() == ExprKind::kIntImm && e->predicate()->int_value() != 0;
    };
    bool any = false;
    tir::Visit(value, [&](const Expr& e) {
      any = any || certain(e);
      return !any;
    });
    if (!any) return value;
    return tir::Rewrite(value, [&](const Expr& e) -> Expr {
      if (!certain(e)) return {};
      std::vector<Expr> indices;
      for (const Expr& i : e->indices()) indices.push_back(WithoutCertainty(i));
      return tir::Load(e->buffer(), e->type().dtype, indices);
    });
  }

  Stmt Rebuild(const Stmt& s) {
    if (!status_.ok()) return s;
    switch (s->kind) {
      case StmtKind::kFor:
        return RebuildFor(s);
      case StmtKind::kLet: {
        Expr value = Value(s->value);
        if (value->kind() == ExprKind::kIntImm) return With(s->var, value, s->body());
        const Interval range = bounds_.Of(value);
        bounds_.Set(s->var->var_id(), range);
        if (range.lo == 0 && range.hi != Interval::kMax && SplitsTail(s, range.hi + 1)) {
          return tir::LetStmt(s->var, value, BranchOnLast(s, range.hi + 1));
        }
        return tir::LetStmt(s->var, value, Rebuild(s->body()));
      }
      case StmtKind::kIf: {
        Expr condition = Value(s->value);
        if (condition->kind() == ExprKind::kIntImm) {
          if (condition->int_value()) return Rebuild(s->children[0]);
          return s->children.size() > 1 ? Rebuild(s->children[1]) : tir::Block({});
        }
        Stmt then = Rebuild(s->children[0]);
        return tir::If(condition, then, s->children.size() > 1 ? Rebuild(s->children[1]) : nullptr);
      }
      case StmtKind::kBlock: {
        std::vector<Stmt> children;
        for (const Stmt& c : s->children) children.push_back(Rebuild(c));
        return tir::Block(std::move(children));
      }
      case StmtKind::kAllocate:
        return tir::Allocate(s->buffer, Rebuild(s->body()));
      case StmtKind::kPrefetch:
        return tir::Prefetch(s->buffer, Indices(s), static_cast<int>(s->value->int_value()));
      case StmtKind::kStore: {
        if (++statements_ > kMaxStatements) {
          status_ = FailedPrecondition("the schedule unrolls to more than 65536 statements");
        }
        std::vector<Expr> indices = Indices(s);
        Expr value = Value(s->value);
        return tir::Store(s->buffer, std::move(indices), value,
                          s->predicate ? Value(s->predicate) : Expr());
      }
    }
    return s;
  }

  std::vector<Expr> Indices(const Stmt& s) {
    std::vector<Expr> indices;
    for (const Expr& i : s->indices) indices.push_back(Value(i));
    return indices;
  }

  // The statement with `var` standing for a constant.
  Stmt With(const Expr& var, const Expr& value, const Stmt& body) {
    auto id = static_cast<size_t>(var->var_id());
    map_[id] = value;
    Stmt s = Rebuild(body);
    map_[id] = Expr();
    return s;
  }

  Stmt RebuildFor(const Stmt& s) {
    Expr min = Value(s->min), extent = Value(s->extent);
    bool fixed = min->kind() == ExprKind::kIntImm && extent->kind() == ExprKind::kIntImm;
    if (extent->kind() == ExprKind::kIntImm && extent->int_value() <= 0) return tir::Block({});
    if (extent->IsInt(1) && fixed) return With(s->var, min, s->body());
    if (s->bind == Bind::kUnroll && fixed) {
      std::vector<Stmt> copies;
      for (int64_t i = 0; i < extent->int_value() && status_.ok(); ++i) {
        copies.push_back(With(s->var, tir::Index(min->int_value() + i), s->body()));
      }
      return tir::Block(std::move(copies));
    }
    if (fixed && LastDiffers(s, min->int_value(), extent->int_value(), map_, bounds_)) {
      return PeelLast(s, min->int_value(), extent->int_value());
    }
    if (fixed && min->IsInt(0) && SplitsTail(s, extent->int_value())) {
      return RebuildWithTail(s, extent->int_value());
    }
    Interval lo = bounds_.Of(min), n = bounds_.Of(extent);
    Interval range;
    range.lo = lo.lo;
    if (lo.hi != Interval::kMax && n.hi != Interval::kMax) range.hi = lo.hi + n.hi - 1;
    bounds_.Set(s->var->var_id(), range);
    Stmt body = Rebuild(s->body());
    if (!status_.ok()) return s;
    if (s->bind == Bind::kVector) {
      if (!fixed || min->int_value() != 0) {
        status_ = Internal("a vector loop does not start at zero or has no fixed extent");
        return s;
      }
      if (HoldsInFirstAlone(body, s->var, extent->int_value())) {
        return With(s->var, tir::Index(0), s->body());
      }
      Result<Stmt> v = Vectorize(body, s->var, static_cast<int>(extent->int_value()),
                                 function_.buffers, bounds_);
      if (!v.ok()) {
        status_ = v.status();
        return s;
      }
      return *v;
    }
    Bind bind = s->bind == Bind::kUnroll ? Bind::kSerial : s->bind;
    return tir::For(s->var, min, extent, bind, body);
  }

  // Whether a condition around `body` fails for all values of var = 0 .. extent-1 but the first: a
  // gather or a masked store of one lane takes many times what the element takes.
  bool HoldsInFirstAlone(const Stmt& body, const Expr& var, int64_t extent) {
    if (body->kind != StmtKind::kIf || body->children.size() != 1 || extent < 2) return false;
    const Interval all = bounds_.Of(var);
    bounds_.Set(var->var_id(), {1, extent - 1});
    const bool fails = tir::Simplifier(map_, bounds_).Simplify(body->value)->IsInt(0);
    bounds_.Set(var->var_id(), all);
    return fails || HoldsInFirstAlone(body->children[0], var, extent);
  }

  // The last iteration by itself behind the others.
  Stmt PeelLast(const Stmt& s, int64_t min, int64_t extent) {
    Stmt others;
    if (extent == 2) {
      others = With(s->var, tir::Index(min), s->body());
    } else {
      bounds_.Set(s->var->var_id(), {min, min + extent - 2});
      others = tir::For(s->var, min, extent - 1, s->bind, Rebuild(s->body()));
    }
    return tir::Block({others, With(s->var, tir::Index(min + extent - 1), s->body())});
  }

  bool SplitsTail(const Stmt& s, int64_t extent) const {
    if (in_tail_ || (s->bind != Bind::kSerial && s->bind != Bind::kParallel)) return false;
    if (!HoldsTile(s->body())) return false;
    const LastTile last = ClassifyLast(s->body(), s->var, extent, map_, bounds_);
    return last == LastTile::kNarrower || (last == LastTile::kMasked && !masks_);
  }

  // Something computed inside, as a tile's sums are.
  static bool HoldsTile(const Stmt& s) {
    return s->kind == StmtKind::kAllocate ||
           std::any_of(s->children.begin(), s->children.end(), HoldsTile);
  }

  // The body of a loop or a let, for all values of its variable but the last and for that one.
  std::pair<Stmt, Stmt> MainAndTail(const Stmt& s, int64_t extent) {
    in_tail_ = true;  // code grows once, not with every loop around
    Stmt tail = With(s->var, tir::Index(extent - 1), s->body());
    bounds_.Set(s->var->var_id(), {0, extent - 2});
    Stmt main = Rebuild(s->body());
    bounds_.Set(s->var->var_id(), {0, extent - 1});
    in_tail_ = false;
    return {std::move(main), std::move(tail)};
  }

  static Stmt Branch(const Expr& var, int64_t extent, std::pair<Stmt, Stmt> bodies) {
    return tir::If(tir::Lt(var, tir::Index(extent - 1)), bodies.first, bodies.second);
  }

  Stmt BranchOnLast(const Stmt& s, int64_t extent) {
    return Branch(s->var, extent, MainAndTail(s, extent));
  }

  // A branch in the loop, not a loop and a last iteration: it also runs in parallel.
  Stmt RebuildWithTail(const Stmt& s, int64_t extent) {
    auto bodies = MainAndTail(s, extent);
    return tir::For(s->var, 0, extent, s->bind, Branch(s->var, extent, std::move(bodies)));
  }

  const tir::Function& function_;
  std::vector<Expr> map_;
  tir::Bounds bounds_;
  bool masks_;  // cost nothing on the target
  bool in_tail_ = false;
  int64_t statements_ = 0;
  Status status_;
};

}  // namespace

Result<tir::Function> Finish(const tir::Function& function, const Target& target) {
  tir::Function joined = JoinLoops(JamReductions(function, target));
  joined.body = ReuseResults(joined, target);
  TEMPER_ASSIGN_OR_RETURN(tir::Function finished, Finisher(joined, target.masked_vectors).Run());
  return HoistScalars(std::move(finished));
}

}  // namespace temper::lower
