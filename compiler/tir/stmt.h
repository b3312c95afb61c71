// Statements, buffers and functions of the loop IR.
//
// A Stmt is an immutable shared tree. A Function is a body over a table of buffers; expressions
// and statements name a buffer by its index in that table. A buffer is a dense row-major array
// over its shape enlarged by its halo; indices are logical, so that an index may run from
// -halo_before to shape + halo_after - 1.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/tir/expr.h"

namespace temper::tir {

enum class Scope : uint8_t {
  kParam,      // a parameter of the function: Buffer::param is its position
  kWorkspace,  // scratch memory that the caller lends, at Buffer::workspace_offset bytes
  kStack,      // scratch memory of the executing thread, small
  kRegister,   // meant for registers: every index is constant once the loops are unrolled
};

struct Buffer {
  std::string name = {};
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape = {};
  std::vector<int64_t> halo_before = {}, halo_after = {};  // empty: none
  Scope scope = Scope::kParam;
  int param = -1;
  int64_t workspace_offset = 0;

  int64_t Extent(int d) const {  // with the halo
    return shape[d] + (halo_before.empty() ? 0 : halo_before[d] + halo_after[d]);
  }
  int64_t ElementCount() const;          // with the halo
  std::vector<int64_t> Strides() const;  // elements
  int64_t Offset() const;                // elements from the start to logical index 0,...,0
};

enum class StmtKind : uint8_t {
  kFor,       // var, min, extent, bind, body
  kStore,     // buffer, indices, value, predicate (or null)
  kLet,       // var = value in body
  kIf,        // condition, body, else_body (or null)
  kBlock,     // children in order
  kAllocate,  // buffer lives during body (kStack and kRegister)
  kPrefetch,  // buffer, indices; value: locality 0 (none) to 3 (keep in every cache)
};

enum class Bind : uint8_t { kSerial, kParallel, kVector, kUnroll };

struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;

struct StmtNode {
  StmtKind kind = StmtKind::kBlock;
  Bind bind = Bind::kSerial;   // kFor
  int buffer = -1;             // kStore, kAllocate, kPrefetch
  Expr var;                    // kFor, kLet
  Expr min, extent;            // kFor; the extent is positive or the loop runs never
  Expr value;                  // kStore, kLet, kPrefetch; kIf: the condition
  Expr predicate;              // kStore: as many lanes as the value, or null
  std::vector<Expr> indices;   // kStore, kPrefetch
  std::vector<Stmt> children;  // kBlock: all; kFor, kLet, kAllocate: the body; kIf: then, else

  const Stmt& body() const { return children[0]; }
};

Stmt For(Expr var, Expr min, Expr extent, Bind bind, Stmt body);
Stmt Store(int buffer, std::vector<Expr> indices, Expr value, Expr predicate = Expr());
Stmt LetStmt(Expr var, Expr value, Stmt body);
Stmt If(Expr condition, Stmt then_body, Stmt else_body = nullptr);
// Flattens nested blocks and drops nulls; one child is returned as it is.
Stmt Block(std::vector<Stmt> children);
Stmt Allocate(int buffer, Stmt body);
Stmt Prefetch(int buffer, std::vector<Expr> indices, int locality);

struct Function {
  std::string name = {};
  std::vector<Buffer> buffers;
  std::vector<int> params;  // buffer indices, in the order of the arguments
  Stmt body;
  int next_var = 0;             // ids below are taken
  int64_t workspace_bytes = 0;  // each workspace buffer is 64-byte aligned in it
};

}  // namespace temper::tir
