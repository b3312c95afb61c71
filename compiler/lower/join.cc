#include "compiler/lower/join.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/lower/statements.h"
#include "compiler/tir/affine.h"

namespace temper::lower {
namespace {

using tir::Bind;
using tir::Expr;
using tir::ExprKind;
using tir::Stmt;
using tir::StmtKind;

// Loops around conditions around one store; prefetches may stand beside a deeper loop.
struct Nest {
  std::vector<Stmt> loops;
  std::vector<std::vector<Stmt>> prefetches;  // of each loop, in front of what is in it
  Stmt leaf;                                  // what is in the innermost loop
  Stmt store;                                 // in the leaf
  Buffers reads;
};

std::optional<Nest> AsNest(Stmt s, const std::vector<tir::Buffer>& buffers) {
  Nest nest;
  AddReads(s, &nest.reads);
  while (s->kind == StmtKind::kFor) {
    if (!s->min->IsInt(0) || s->extent->kind() != ExprKind::kIntImm) return std::nullopt;
    nest.loops.push_back(s);
    nest.prefetches.emplace_back();
    s = s->body();
    if (s->kind != StmtKind::kBlock) continue;
    for (size_t i = 0; i + 1 < s->children.size(); ++i) {
      if (s->children[i]->kind != StmtKind::kPrefetch) return std::nullopt;
      nest.prefetches.back().push_back(s->children[i]);
    }
    s = s->children.back();
  }
  nest.leaf = s;
  while (s->kind == StmtKind::kIf && s->children.size() == 1) s = s->children[0];
  if (nest.loops.empty() || s->kind != StmtKind::kStore || s->predicate) return std::nullopt;
  if (nest.loops[0]->bind == Bind::kVector) return std::nullopt;  // as near as they can be
  if (buffers[s->buffer].scope != tir::Scope::kStack || Has(nest.reads, s->buffer)) {
    return std::nullopt;
  }
  nest.store = s;
  return nest;
}

class Joiner {
 public:
  Joiner(const Nest& nest, std::vector<tir::Buffer>* buffers) : nest_(nest), buffers_(*buffers) {}

  // The nest inside `reader`; null where their loops differ.
  Stmt Into(const Stmt& reader) {
    Buffers written;
    AddWrites(reader, &written);
    for (int b : written) {
      // Parameters of different numbers may share memory, and what others lend is not looked into.
      const tir::Scope scope = buffers_[b].scope;
      const bool own = scope == tir::Scope::kStack || scope == tir::Scope::kRegister;
      if (!own || b == nest_.store->buffer || Has(nest_.reads, b)) return nullptr;
    }
    Stmt joined = Join(reader, 0);
    return joined && vector_ >= 0 ? tir::Allocate(vector_, joined) : joined;
  }

 private:
  Stmt Join(const Stmt& reader, size_t depth) {
    switch (reader->kind) {
      case StmtKind::kFor:
        return depth < nest_.loops.size() ? JoinLoop(reader, depth) : nullptr;
      case StmtKind::kAllocate: {
        Stmt body = Join(reader->body(), depth);
        return body ? tir::Allocate(reader->buffer, body) : nullptr;
      }
      case StmtKind::kBlock: {
        std::vector<Stmt> children = reader->children;
        Stmt* found = nullptr;
        for (Stmt& c : children) {
          if (!Touches(c, nest_.store->buffer)) continue;
          // Of several only the first may be anything but vectors, which load what it loads.
          if (found) {
            const bool beside = vector_ >= 0 && depth + 1 == nest_.loops.size();
            if (!beside || !ReadsAlike(c)) return nullptr;
            c = WithLoads(c, tir::Load(vector_, buffers_[vector_].dtype, {&c->var, 1}));
            continue;
          }
          found = &c;
          if (!(*found = Join(*found, depth))) return nullptr;
        }
        return found ? tir::Block(std::move(children)) : nullptr;
      }
      default:
        return nullptr;
    }
  }

  Stmt JoinLoop(const Stmt& reader, size_t depth) {
    const Stmt& loop = nest_.loops[depth];
    if (loop->bind != reader->bind || !reader->min->IsInt(0) ||
        !reader->extent->IsInt(loop->extent->int_value())) {
      return nullptr;
    }
    Stand(loop->var, reader->var);
    if (depth + 1 < nest_.loops.size()) {
      Stmt body = Join(reader->body(), depth + 1);
      if (!body) return nullptr;
      std::vector<Stmt> all = Prefetches(depth);
      all.push_back(std::move(body));
      return tir::For(reader->var, reader->min, reader->extent, reader->bind,
                      tir::Block(std::move(all)));
    }
    if (!nest_.prefetches[depth].empty()) return nullptr;
    if (!ReadsAsWritten(reader->body())) return nullptr;
    if (loop->bind == Bind::kVector) return JoinVectors(loop, reader);
    return tir::For(reader->var, reader->min, reader->extent, reader->bind,
                    tir::Block({Renamed(nest_.leaf, Renamed(nest_.store->value)), reader->body()}));
  }

  // A vector loop has one store. Lanes that are off hold anything in between.
  Stmt JoinVectors(const Stmt& loop, const Stmt& reader) {
    const DType dtype = buffers_[nest_.store->buffer].dtype;
    vector_ = static_cast<int>(buffers_.size());
    buffers_.push_back({.name = "joined",
                        .dtype = dtype,
                        .shape = {loop->extent->int_value()},
                        .scope = tir::Scope::kRegister});
    Stand(loop->var, Expr());
    const std::vector<Expr> own = {loop->var}, other = {reader->var};
    const Stmt compute = tir::Store(vector_, own, Renamed(nest_.store->value));
    const Stmt store = Renamed(nest_.leaf, tir::Load(vector_, dtype, own));
    auto over = [&](const Stmt& body) {
      return tir::For(loop->var, loop->min, loop->extent, loop->bind, body);
    };
    return tir::Block(
        {over(compute), over(store), WithLoads(reader, tir::Load(vector_, dtype, other))});
  }

  // Whether `s` is a loop over the vectors that the nest has just written.
  bool ReadsAlike(const Stmt& s) {
    const Stmt& loop = nest_.loops.back();
    if (s->kind != StmtKind::kFor || s->bind != Bind::kVector || !s->min->IsInt(0) ||
        !s->extent->IsInt(loop->extent->int_value())) {
      return false;
    }
    Stand(loop->var, s->var);
    const bool same = ReadsAsWritten(s->body());
    Stand(loop->var, Expr());
    return same;
  }

  // The statement with `value` for what it loads of the nest's buffer.
  Stmt WithLoads(const Stmt& s, const Expr& value) const {
    auto copy = std::make_shared<tir::StmtNode>(*s);
    if (copy->value) {
      copy->value = tir::Rewrite(copy->value, [&](const Expr& e) -> Expr {
        return e->kind() == ExprKind::kLoad && e->buffer() == nest_.store->buffer ? value : Expr();
      });
    }
    for (Stmt& c : copy->children) c = WithLoads(c, value);
    return copy;
  }

  std::vector<Stmt> Prefetches(size_t depth) const {
    std::vector<Stmt> all;
    for (const Stmt& p : nest_.prefetches[depth]) {
      std::vector<Expr> indices;
      for (const Expr& i : p->indices) indices.push_back(Renamed(i));
      all.push_back(
          tir::Prefetch(p->buffer, std::move(indices), static_cast<int>(p->value->int_value())));
    }
    return all;
  }

  void Stand(const Expr& var, const Expr& other) {
    const auto id = static_cast<size_t>(var->var_id());
    if (map_.size() <= id) map_.resize(id + 1);
    map_[id] = other;
  }

  Expr Renamed(const Expr& e) const { return tir::Substitute(e, map_); }

  // The leaf in the reader's variables, storing `value`.
  Stmt Renamed(const Stmt& leaf, const Expr& value) const {
    if (leaf->kind == StmtKind::kIf) {
      return tir::If(Renamed(leaf->value), Renamed(leaf->children[0], value));
    }
    std::vector<Expr> indices;
    for (const Expr& i : leaf->indices) indices.push_back(Renamed(i));
    return tir::Store(leaf->buffer, std::move(indices), value);
  }

  // Whether all loads of the buffer are of the very element that the store writes.
  bool ReadsAsWritten(const Stmt& s) const {
    for (const Stmt& c : s->children) {
      if (!ReadsAsWritten(c)) return false;
    }
    bool same = true;
    ForEachExpr(s, [&](const Expr& value) {
      tir::Visit(value, [&](const Expr& e) {
        if (e->kind() == ExprKind::kLoad && e->buffer() == nest_.store->buffer) {
          for (size_t d = 0; d < e->indices().size(); ++d) {
            tir::Affine difference = tir::ToAffine(e->indices()[d], bounds_);
            difference.Add(tir::ToAffine(Renamed(nest_.store->indices[d]), bounds_), -1);
            same = same && difference.IsConstant() && difference.constant == 0;
          }
        }
        return same;
      });
    });
    return same;
  }

  const Nest& nest_;
  std::vector<tir::Buffer>& buffers_;
  int vector_ = -1;        // what the vectors go through
  std::vector<Expr> map_;  // the nest's loop variables -> the reader's
  tir::Bounds bounds_;
};

Stmt JoinIn(const Stmt& body, std::vector<tir::Buffer>* buffers) {
  std::vector<Stmt> children = body->children;
  bool changed = false;
  if (body->kind == StmtKind::kBlock) {
    for (size_t i = 0; i + 1 < children.size(); ++i) {
      const std::optional<Nest> nest = AsNest(children[i], *buffers);
      if (!nest) continue;
      for (size_t j = i + 1; j < children.size(); ++j) {
        if (Touches(children[j], nest->store->buffer)) {
          if (Stmt joined = Joiner(*nest, buffers).Into(children[j])) {
            children[j] = joined;
            children.erase(children.begin() + static_cast<ptrdiff_t>(i--));
            changed = true;
          }
          break;
        }
        if (WritesAny(children[j], nest->reads)) break;
      }
    }
    if (changed && children.size() == 1) return JoinIn(children[0], buffers);
  }
  for (Stmt& c : children) {
    Stmt inner = JoinIn(c, buffers);
    changed |= inner != c;
    c = std::move(inner);
  }
  return changed ? WithChildren(body, std::move(children)) : body;
}

}  // namespace

tir::Function JoinLoops(tir::Function function) {
  function.body = JoinIn(function.body, &function.buffers);
  return function;
}

}  // namespace temper::lower
