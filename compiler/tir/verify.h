// The structural rules of the loop IR. Every pass is followed by them in debug builds.
#pragma once

#include "base/status.h"
#include "compiler/tir/stmt.h"

namespace temper::tir {

// Limits; anything larger is refused.
inline constexpr int kMaxRank = 16;
inline constexpr int kMaxBuffers = 1024;
inline constexpr int kMaxLanes = 128;
inline constexpr int kMaxExprDepth = 256;
inline constexpr int kMaxStmtDepth = 256;
inline constexpr int64_t kMaxNodes = int64_t{1} << 23;  // a shared node counts at each use
inline constexpr int64_t kMaxElements = int64_t{1} << 40;
inline constexpr int64_t kMaxThreadBytes = int64_t{1} << 20;  // of a stack or register buffer

// INVALID_ARGUMENT with the statement's place, such as "for i / store to c: ...", unless:
// - buffers have positive bounded extents, halos of their rank, and a place that fits their scope;
//   params and Buffer::param agree; workspace buffers are aligned and inside workspace_bytes
// - an access names a buffer of the table with one int64 index a dimension, of the buffer's dtype;
//   a stack or register buffer is touched only inside its Allocate, and not from inside a parallel
//   loop that the Allocate encloses; no buffer is allocated inside its own Allocate
// - a variable is used only inside the For or Let that defines it, with the same type; nothing
//   defines it again in there; its id is below next_var
// - operands have the types that ExprKind states, and equal lanes; immediates fit their dtype
// - a For has a scalar integer min and extent of its variable's type; parallel loops do not nest
// - a store's predicate is a bool with the lanes of its value; each index has those lanes or one
Status Verify(const Function& function);

// Also the rules for what code is generated from: no vector or unroll loop is left, and every
// index of a register buffer is constant.
Status VerifyFinished(const Function& function);

// One expression alone (types, lanes, depth, size). Loads are checked against `buffers`, unless
// it is null; variables are not looked up.
Status VerifyExpr(const Expr& e, const std::vector<Buffer>* buffers = nullptr);

}  // namespace temper::tir
