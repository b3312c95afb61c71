#include "compiler/lower/hoist.h"

#include <algorithm>
#include <utility>

#include "compiler/lower/statements.h"

namespace temper::lower {
namespace {

using tir::Bind;
using tir::Expr;
using tir::ExprKind;
using tir::Scope;
using tir::Stmt;
using tir::StmtKind;

constexpr size_t kMost = 8;  // variables of one loop, which want a register each

class Hoister {
 public:
  explicit Hoister(tir::Function* function) : function_(*function) {}

  Stmt Walk(const Stmt& s) {
    if (s->kind == StmtKind::kFor && s->bind == Bind::kSerial && !HoldsLoop(s->body())) {
      return OfLoop(s);
    }
    std::vector<Stmt> children;
    bool changed = false;
    for (const Stmt& c : s->children) {
      children.push_back(Walk(c));
      changed |= children.back() != c;
    }
    return changed ? WithChildren(s, std::move(children)) : s;
  }

 private:
  struct Found {
    Expr value, var;
    int uses = 1;
  };

  Stmt OfLoop(const Stmt& loop) {
    if (loop->extent->kind() != ExprKind::kIntImm || loop->extent->int_value() < 2) return loop;
    written_.clear();
    AddWrites(loop, &written_);
    const Stmt fixed = Move(loop->body(), {loop->var->var_id()}, 1);
    const std::vector<Found> outside = std::move(found_);
    const Stmt body = Move(fixed, {}, 2);
    if (outside.empty() && found_.empty()) return loop;
    return InFront(outside, WithChildren(loop, {InFront(found_, body)}));
  }

  // The statement with variables, `found_`, for what does not depend on those `inside` and is read
  // at least so often.
  Stmt Move(const Stmt& s, Buffers inside, int least) {
    found_.clear();
    inside_ = std::move(inside);
    replaces_ = false;
    Replaced(s);
    std::erase_if(found_, [&](const Found& f) { return f.uses < least; });
    replaces_ = true;
    return found_.empty() ? s : Replaced(s);
  }

  static Stmt InFront(const std::vector<Found>& found, Stmt s) {
    for (size_t i = found.size(); i-- > 0;) s = tir::LetStmt(found[i].var, found[i].value, s);
    return s;
  }

  // What is conditional is left alone; variables of lets belong to the loop.
  Stmt Replaced(const Stmt& s) {
    switch (s->kind) {
      case StmtKind::kStore: {
        const Expr value = Replaced(s->value);
        if (value.get() == s->value.get()) return s;
        auto copy = std::make_shared<tir::StmtNode>(*s);
        copy->value = value;
        return copy;
      }
      case StmtKind::kLet:
        inside_.push_back(s->var->var_id());
        return WithChildren(s, {Replaced(s->body())});
      case StmtKind::kBlock:
      case StmtKind::kAllocate: {
        std::vector<Stmt> children;
        for (const Stmt& c : s->children) children.push_back(Replaced(c));
        return WithChildren(s, std::move(children));
      }
      default:
        return s;
    }
  }

  Expr Replaced(const Expr& e) {
    if (MayMove(e)) return VariableOf(e);
    if (e->kind() == ExprKind::kSelect || e->kind() == ExprKind::kLoad) return e;
    return tir::MapOperands(e, [&](const Expr& operand) { return Replaced(operand); });
  }

  bool MayMove(const Expr& e) const {
    if (e->lanes() != 1 || !IsFloat(e->type().dtype)) return false;
    bool loads = false, fixed = true;
    tir::Visit(e, [&](const Expr& part) {
      if (part->kind() == ExprKind::kLoad) {
        loads = true;
        fixed = fixed && function_.buffers[part->buffer()].scope == Scope::kStack &&
                !Has(written_, part->buffer()) && !part->has_predicate();
      }
      fixed = fixed && part->kind() != ExprKind::kSelect;
      fixed = fixed && !(part->kind() == ExprKind::kVar && Has(inside_, part->var_id()));
      return fixed;
    });
    return loads && fixed;
  }

  Expr VariableOf(const Expr& e) {
    for (Found& f : found_) {
      if (!tir::Equal(f.value, e)) continue;
      if (!replaces_) ++f.uses;
      return f.var;
    }
    if (replaces_ || found_.size() == kMost) return e;
    found_.push_back({e, tir::Var(function_.next_var++, "h", e->type())});
    return found_.back().var;
  }

  tir::Function& function_;
  Buffers written_;          // in the loop
  std::vector<int> inside_;  // variables of the loop and of what is in it
  bool replaces_ = false;
  std::vector<Found> found_;
};

}  // namespace

tir::Function HoistScalars(tir::Function function) {
  function.body = Hoister(&function).Walk(function.body);
  return function;
}

}  // namespace temper::lower
