// What passes over statements share.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "compiler/tir/stmt.h"

namespace temper::lower {

// Calls `f` with every expression of the statement itself, not of its children.
template <typename F>
void ForEachExpr(const tir::Stmt& s, F&& f) {
  for (const tir::Expr& e : s->indices) f(e);
  for (const tir::Expr& e : {s->value, s->predicate, s->min, s->extent}) {
    if (e) f(e);
  }
}

// The statement with other children.
inline tir::Stmt WithChildren(const tir::Stmt& s, std::vector<tir::Stmt> children) {
  auto copy = std::make_shared<tir::StmtNode>(*s);
  copy->children = std::move(children);
  return copy;
}

inline bool HoldsLoop(const tir::Stmt& s) {
  return s->kind == tir::StmtKind::kFor ||
         std::any_of(s->children.begin(), s->children.end(), HoldsLoop);
}

using Buffers = std::vector<int>;  // by number

inline bool Has(const Buffers& buffers, int b) {
  return std::find(buffers.begin(), buffers.end(), b) != buffers.end();
}

inline bool Meet(const Buffers& a, const Buffers& b) {
  return std::any_of(a.begin(), a.end(), [&](int buffer) { return Has(b, buffer); });
}

inline void AddLoads(const tir::Expr& value, Buffers* out) {
  tir::Visit(value, [&](const tir::Expr& e) {
    if (e->kind() == tir::ExprKind::kLoad) out->push_back(e->buffer());
    return true;
  });
}

inline void AddReads(const tir::Stmt& s, Buffers* out) {
  ForEachExpr(s, [&](const tir::Expr& e) { AddLoads(e, out); });
  for (const tir::Stmt& c : s->children) AddReads(c, out);
}

inline void AddWrites(const tir::Stmt& s, Buffers* out) {
  if (s->kind == tir::StmtKind::kStore) out->push_back(s->buffer);
  for (const tir::Stmt& c : s->children) AddWrites(c, out);
}

inline bool Touches(const tir::Stmt& s, int buffer) {
  Buffers all;
  AddReads(s, &all);
  AddWrites(s, &all);
  return Has(all, buffer);
}

inline bool WritesAny(const tir::Stmt& s, const Buffers& buffers) {
  Buffers written;
  AddWrites(s, &written);
  return Meet(written, buffers);
}

}  // namespace temper::lower
