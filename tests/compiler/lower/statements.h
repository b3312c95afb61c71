// What tests of passes over statements share.
#pragma once

#include <initializer_list>
#include <vector>

#include "compiler/tir/stmt.h"

namespace temper::lower {

// How many statements of a kind there are.
inline int Count(const tir::Stmt& s, tir::StmtKind kind) {
  int n = s->kind == kind;
  for (const tir::Stmt& c : s->children) n += Count(c, kind);
  return n;
}

inline tir::Expr Read(int buffer, std::initializer_list<tir::Expr> at) {
  const std::vector<tir::Expr> indices(at);
  return tir::Load(buffer, DType::kFloat32, indices);
}

}  // namespace temper::lower
