#include "compiler/lower/jam.h"

#include <algorithm>
#include <utility>

#include "compiler/lower/statements.h"

namespace temper::lower {
namespace {

using tir::Bind;
using tir::Expr;
using tir::Scope;
using tir::Stmt;
using tir::StmtKind;

struct Uses {
  Buffers reads, writes;

  explicit Uses(const Stmt& s) {
    AddReads(s, &reads);
    AddWrites(s, &writes);
  }
};

bool Independent(const Uses& a, const Uses& b) {
  return !Meet(a.writes, b.reads) && !Meet(a.reads, b.writes) && !Meet(a.writes, b.writes);
}

class Jammer {
 public:
  Jammer(const std::vector<tir::Buffer>& buffers, const Target& target)
      : buffers_(buffers), target_(target) {}

  Stmt Walk(const Stmt& s) {
    std::vector<Stmt> children = s->children;
    bool changed = false;
    if (s->kind == StmtKind::kBlock) changed = JamSome(&children);
    for (Stmt& c : children) {
      Stmt inner = Walk(c);
      changed |= inner != c;
      c = std::move(inner);
    }
    if (!changed) return s;
    return s->kind == StmtKind::kBlock ? tir::Block(std::move(children))
                                       : WithChildren(s, std::move(children));
  }

 private:
  bool JamSome(std::vector<Stmt>* children) {
    bool changed = false;
    for (size_t i = 0; i + 1 < children->size(); ++i) {
      if (!IsReduction((*children)[i])) continue;
      for (size_t j = i + 1; j < children->size(); ++j) {
        if (!IsReduction((*children)[j]) || !Merges((*children)[i], (*children)[j])) continue;
        if (!MayJam(*children, i, j)) continue;
        const bool down = MayPass(*children, i, i + 1, j);
        if (!down && !MayPass(*children, j, i + 1, j)) continue;
        (*children)[down ? j : i] = Jam((*children)[i], (*children)[j]);
        children->erase(children->begin() + static_cast<std::ptrdiff_t>(down ? i : j));
        changed = true;
        --i;
        break;
      }
    }
    return changed;
  }

  // A loop, or what is allocated around one, in which registers are summed up along another loop.
  bool IsReduction(const Stmt& s) const {
    if (s->kind != StmtKind::kFor && s->kind != StmtKind::kAllocate) return false;
    if (s->kind == StmtKind::kFor && s->bind != Bind::kSerial) return false;
    Uses uses(s);
    for (int b : uses.writes) {
      // Parameters of different numbers may share memory.
      if (buffers_[b].scope != Scope::kStack && buffers_[b].scope != Scope::kRegister) return false;
    }
    return Accumulates(s, false);
  }

  bool Accumulates(const Stmt& s, bool in_loop) const {
    if (s->kind == StmtKind::kStore) {
      return in_loop && buffers_[s->buffer].scope == Scope::kRegister && ReadsOwn(s);
    }
    const bool loop = s->kind == StmtKind::kFor && s->bind == Bind::kSerial;
    return std::any_of(s->children.begin(), s->children.end(),
                       [&](const Stmt& c) { return Accumulates(c, in_loop || loop); });
  }

  static bool ReadsOwn(const Stmt& store) {
    Buffers reads;
    AddReads(store, &reads);
    return Has(reads, store->buffer);
  }

  bool MayJam(const std::vector<Stmt>& all, size_t i, size_t j) const {
    const Uses a(all[i]), b(all[j]);
    if (!Independent(a, b)) return false;
    const bool common = std::any_of(a.reads.begin(), a.reads.end(), [&](int r) {
      return buffers_[r].scope != Scope::kRegister && buffers_[r].ElementCount() > 1 &&
             Has(b.reads, r);
    });
    const int64_t bytes = RegisterBytes(a) + RegisterBytes(b);
    return common && bytes * 8 * 4 <= int64_t{target_.vector_registers} * target_.vector_bits;
  }

  int64_t RegisterBytes(const Uses& uses) const {
    Buffers all = uses.writes;
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    int64_t largest = 0;
    for (int b : all) {
      if (buffers_[b].scope != Scope::kRegister) continue;
      largest = std::max(largest, buffers_[b].ElementCount() * ByteSize(buffers_[b].dtype));
    }
    return largest;
  }

  // Whether a statement may stand on the other side of those from `first` to before `last`.
  static bool MayPass(const std::vector<Stmt>& all, size_t which, size_t first, size_t last) {
    const Uses moved(all[which]);
    for (size_t i = first; i < last; ++i) {
      if (!Independent(moved, Uses(all[i]))) return false;
    }
    return true;
  }

  static bool Merges(const Stmt& a, const Stmt& b) {
    if (a->kind != b->kind) return false;
    return a->kind == StmtKind::kAllocate ||
           (a->kind == StmtKind::kFor && a->bind == b->bind && a->bind != Bind::kVector &&
            tir::Equal(a->min, b->min) && tir::Equal(a->extent, b->extent));
  }

  // Both, in the variables of `a`. Any order of their parts is right.
  static Stmt Jam(const Stmt& a, const Stmt& b) {
    if (a->kind != b->kind) return tir::Block({a, b});
    switch (a->kind) {
      case StmtKind::kFor:
        if (!Merges(a, b)) break;
        return tir::For(a->var, a->min, a->extent, a->bind,
                        Jam(a->body(), Renamed(b->body(), b->var, a->var)));
      case StmtKind::kAllocate:
        return tir::Allocate(a->buffer, tir::Allocate(b->buffer, Jam(a->body(), b->body())));
      case StmtKind::kBlock: {
        if (a->children.size() != b->children.size()) break;
        std::vector<Stmt> all;
        for (size_t i = 0; i < a->children.size(); ++i) {
          all.push_back(Jam(a->children[i], b->children[i]));
        }
        return tir::Block(std::move(all));
      }
      default:
        break;
    }
    return tir::Block({a, b});
  }

  static Stmt Renamed(const Stmt& s, const Expr& from, const Expr& to) {
    std::vector<Expr> map(static_cast<size_t>(from->var_id()) + 1);
    map[from->var_id()] = to;
    return Renamed(s, map);
  }

  static Stmt Renamed(const Stmt& s, std::span<const Expr> map) {
    auto copy = std::make_shared<tir::StmtNode>(*s);
    for (Expr* e : {&copy->min, &copy->extent, &copy->value, &copy->predicate}) {
      if (*e) *e = tir::Substitute(*e, map);
    }
    for (Expr& i : copy->indices) i = tir::Substitute(i, map);
    for (Stmt& c : copy->children) c = Renamed(c, map);
    return copy;
  }

  const std::vector<tir::Buffer>& buffers_;
  const Target& target_;
};

}  // namespace

tir::Function JamReductions(tir::Function function, const Target& target) {
  function.body = Jammer(function.buffers, target).Walk(function.body);
  return function;
}

}  // namespace temper::lower
