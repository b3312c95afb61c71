// What passes over statements share.
#pragma once

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

}  // namespace temper::lower
