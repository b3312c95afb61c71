#include "compiler/lower/reuse.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/lower/statements.h"
#include "compiler/tir/affine.h"

namespace temper::lower {
namespace {

using tir::Expr;
using tir::ExprKind;
using tir::Stmt;
using tir::StmtKind;

constexpr int64_t kLongRow = 8;  // a row of an eighth of the first cache need not be aligned

int CountAccesses(const Stmt& s, int buffer) {
  int n = s->buffer == buffer && s->kind != StmtKind::kAllocate;
  ForEachExpr(s, [&](const Expr& value) {
    tir::Visit(value, [&](const Expr& e) {
      n += e->kind() == ExprKind::kLoad && e->buffer() == buffer;
      return true;
    });
  });
  for (const Stmt& c : s->children) n += CountAccesses(c, buffer);
  return n;
}

// The statement of a sequence that touches the buffer last; its own deepest sequence's, and so on.
const Stmt* LastUse(const Stmt& s, int buffer) {
  if (s->kind == StmtKind::kStore) return &s;
  for (size_t i = s->children.size(); i-- > 0;) {
    if (CountAccesses(s->children[i], buffer) > 0) return LastUse(s->children[i], buffer);
  }
  return nullptr;
}

class Reuser {
 public:
  Reuser(const tir::Function& function, const Target& target)
      : function_(function), target_(target) {}

  Stmt Walk(const Stmt& s) {
    std::optional<Moved> here;
    switch (s->kind) {
      case StmtKind::kFor:
        if (s->min->IsInt(0) && s->extent->kind() == ExprKind::kIntImm) {
          bounds_.Set(s->var->var_id(), {0, s->extent->int_value() - 1});
          outer_.push_back(s->var->var_id());
        }
        break;
      case StmtKind::kAllocate:
        here = Find(s);
        if (here) {
          taken_.push_back(here->result);
          return Walk(Renamed(s->body(), s->buffer, *here));
        }
        break;
      default:
        break;
    }
    std::vector<Stmt> children;
    bool changed = false;
    for (const Stmt& c : s->children) {
      children.push_back(Walk(c));
      changed |= children.back() != c;
    }
    if (s->kind == StmtKind::kFor && !outer_.empty() && outer_.back() == s->var->var_id()) {
      outer_.pop_back();
    }
    return changed ? WithChildren(s, std::move(children)) : s;
  }

 private:
  struct Moved {
    int result = -1;
    std::vector<Expr> base;  // of each dimension: where the buffer begins in the result
  };

  bool IsWorthIt(const tir::Buffer& b) const {
    const int64_t row = b.shape.empty() ? 0 : b.shape.back() * ByteSize(b.dtype);
    return row >= 2 * target_.line_bytes &&
           (row % target_.line_bytes == 0 || row >= target_.l1_bytes / kLongRow);
  }

  std::optional<Moved> Find(const Stmt& allocate) const {
    const int id = allocate->buffer;
    const tir::Buffer& b = function_.buffers[id];
    if (b.scope != tir::Scope::kStack || !IsWorthIt(b)) return std::nullopt;
    const Stmt* last = LastUse(allocate->body(), id);
    if (!last || (*last)->predicate || (*last)->buffer == id) return std::nullopt;
    const Stmt& store = *last;
    const tir::Buffer& result = function_.buffers[store->buffer];
    const bool fits = result.scope == tir::Scope::kParam && result.dtype == b.dtype &&
                      result.shape.size() == b.shape.size();
    if (!fits || CountAccesses(function_.body, store->buffer) != 1) return std::nullopt;
    if (std::find(taken_.begin(), taken_.end(), store->buffer) != taken_.end()) return std::nullopt;
    Moved moved{store->buffer, {}};
    int loads = 0;
    bool same = true;
    tir::Visit(store->value, [&](const Expr& e) {
      if (e->kind() != ExprKind::kLoad || e->buffer() != id) return same;
      same = same && (loads++ == 0 ? Begins(e->indices(), store->indices, b, result, &moved)
                                   : EqualIndices(e->indices(), store->indices, moved));
      return same;
    });
    if (!same || loads == 0 || !AloneInItsLoops(allocate->body(), *last, id)) return std::nullopt;
    return moved;
  }

  // Where the buffer begins in the result; false where that depends on more than loops around it.
  bool Begins(std::span<const Expr> from, std::span<const Expr> to, const tir::Buffer& b,
              const tir::Buffer& result, Moved* moved) const {
    for (size_t d = 0; d < to.size(); ++d) {
      tir::Affine base = tir::ToAffine(to[d], bounds_);
      base.Add(tir::ToAffine(from[d], bounds_), -1);
      for (const tir::Affine::Term& t : base.terms) {
        if (t.atom->kind() != ExprKind::kVar) return false;
        if (std::find(outer_.begin(), outer_.end(), t.atom->var_id()) == outer_.end()) return false;
      }
      const tir::Interval range = base.Of(bounds_);
      if (range.lo < 0 || range.hi > result.shape[d] - b.shape[d]) return false;
      moved->base.push_back(base.ToExpr());
    }
    return true;
  }

  bool EqualIndices(std::span<const Expr> from, std::span<const Expr> to,
                    const Moved& moved) const {
    for (size_t d = 0; d < to.size(); ++d) {
      tir::Affine difference = tir::ToAffine(to[d], bounds_);
      difference.Add(tir::ToAffine(from[d], bounds_), -1);
      difference.Add(tir::ToAffine(moved.base[d], bounds_), -1);
      if (!difference.IsConstant() || difference.constant != 0) return false;
    }
    return true;
  }

  // Whether no statement but `store` touches the buffer in the outermost loop around it.
  static bool AloneInItsLoops(const Stmt& s, const Stmt& store, int buffer) {
    if (s->kind == StmtKind::kFor) {
      return CountAccesses(s, buffer) == CountAccesses(store, buffer);
    }
    for (size_t i = s->children.size(); i-- > 0;) {
      if (CountAccesses(s->children[i], buffer) == 0) continue;
      return AloneInItsLoops(s->children[i], store, buffer);
    }
    return true;
  }

  static Expr RenamedLoads(const Expr& value, int buffer, const Moved& moved) {
    return tir::Rewrite(value, [&](const Expr& e) -> Expr {
      if (e->kind() != ExprKind::kLoad || e->buffer() != buffer) return {};
      const std::vector<Expr> at = Shifted(e->indices(), moved);
      return tir::Load(moved.result, e->type().dtype, at,
                       e->has_predicate() ? e->predicate() : Expr());
    });
  }

  static std::vector<Expr> Shifted(std::span<const Expr> indices, const Moved& moved) {
    std::vector<Expr> out;
    for (size_t d = 0; d < indices.size(); ++d) out.push_back(indices[d] + moved.base[d]);
    return out;
  }

  static Stmt Renamed(const Stmt& s, int buffer, const Moved& moved) {
    auto copy = std::make_shared<tir::StmtNode>(*s);
    if (copy->value) copy->value = RenamedLoads(copy->value, buffer, moved);
    if (copy->buffer == buffer) {
      copy->indices = Shifted(copy->indices, moved);
      copy->buffer = moved.result;
    }
    for (Stmt& c : copy->children) c = Renamed(c, buffer, moved);
    return copy;
  }

  const tir::Function& function_;
  const Target& target_;
  tir::Bounds bounds_;
  std::vector<int> outer_;  // variables of the loops around
  std::vector<int> taken_;  // results that hold a buffer already
};

}  // namespace

Stmt ReuseResults(const tir::Function& function, const Target& target) {
  return Reuser(function, target).Walk(function.body);
}

}  // namespace temper::lower
