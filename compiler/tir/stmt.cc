#include "compiler/tir/stmt.h"

namespace temper::tir {
namespace {

std::shared_ptr<StmtNode> New(StmtKind kind) {
  auto n = std::make_shared<StmtNode>();
  n->kind = kind;
  return n;
}

}  // namespace

int64_t Buffer::ElementCount() const {
  int64_t n = 1;
  for (size_t d = 0; d < shape.size(); ++d) n *= Extent(static_cast<int>(d));
  return n;
}

std::vector<int64_t> Buffer::Strides() const {
  std::vector<int64_t> strides(shape.size());
  int64_t n = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = n;
    n *= Extent(static_cast<int>(d));
  }
  return strides;
}

int64_t Buffer::Offset() const {
  if (halo_before.empty()) return 0;
  int64_t offset = 0, n = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    offset += halo_before[d] * n;
    n *= Extent(static_cast<int>(d));
  }
  return offset;
}

Stmt For(Expr var, Expr min, Expr extent, Bind bind, Stmt body) {
  auto n = New(StmtKind::kFor);
  n->bind = bind;
  n->var = std::move(var);
  n->min = std::move(min);
  n->extent = std::move(extent);
  n->children.push_back(std::move(body));
  return n;
}

Stmt Store(int buffer, std::vector<Expr> indices, Expr value, Expr predicate) {
  auto n = New(StmtKind::kStore);
  n->buffer = buffer;
  n->indices = std::move(indices);
  n->value = std::move(value);
  n->predicate = std::move(predicate);
  return n;
}

Stmt LetStmt(Expr var, Expr value, Stmt body) {
  auto n = New(StmtKind::kLet);
  n->var = std::move(var);
  n->value = std::move(value);
  n->children.push_back(std::move(body));
  return n;
}

Stmt If(Expr condition, Stmt then_body, Stmt else_body) {
  if (condition->kind() == ExprKind::kIntImm) {
    return condition->int_value() ? then_body : (else_body ? else_body : Block({}));
  }
  auto n = New(StmtKind::kIf);
  n->value = std::move(condition);
  n->children.push_back(std::move(then_body));
  if (else_body) n->children.push_back(std::move(else_body));
  return n;
}

Stmt Block(std::vector<Stmt> children) {
  std::vector<Stmt> flat;
  for (Stmt& c : children) {
    if (!c) continue;
    if (c->kind == StmtKind::kBlock) {
      flat.insert(flat.end(), c->children.begin(), c->children.end());
    } else {
      flat.push_back(std::move(c));
    }
  }
  if (flat.size() == 1) return flat[0];
  auto n = New(StmtKind::kBlock);
  n->children = std::move(flat);
  return n;
}

Stmt Allocate(int buffer, Stmt body) {
  auto n = New(StmtKind::kAllocate);
  n->buffer = buffer;
  n->children.push_back(std::move(body));
  return n;
}

Stmt Prefetch(int buffer, std::vector<Expr> indices, int locality) {
  auto n = New(StmtKind::kPrefetch);
  n->buffer = buffer;
  n->indices = std::move(indices);
  n->value = Index(locality);
  return n;
}

}  // namespace temper::tir
