// The interpreter's instructions: private to interpreter*.cc.
//
// Values live in cells of 8 bytes, one a lane, in a frame. Integers are kept sign- or
// zero-extended from their own width, narrow floats as the float32 that they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "compiler/tir/interpreter.h"

namespace temper::tir {

union Cell {
  int64_t i;
  uint64_t u;
  float f;
  double d;
};

// Suffixes: F float, D double, I int64, U uint64.
// clang-format off
enum class Op : uint16_t {
  kAddF, kAddD, kAddI,
  kSubF, kSubD, kSubI,
  kMulF, kMulD, kMulI,
  kDivF, kDivD, kDivI, kDivU,
  kModI, kModU,
  kFloorDivI, kFloorModI,
  kMinF, kMinD, kMinI, kMinU,
  kMaxF, kMaxD, kMaxI, kMaxU,
  kEqF, kEqD, kEqI,
  kNeF, kNeD, kNeI,
  kLtF, kLtD, kLtI, kLtU,
  kLeF, kLeD, kLeI, kLeU,
  kAnd, kOr, kXor,
  kShl, kShrI, kShrU,       // imm: bits of the type
  kNot, kNotBool,
  kSelect,                  // c: the condition
  kWrap,                    // a integer to DType imm
  kRound,                   // a float to narrow DType imm
  kDToNarrow,               // a double to narrow DType imm
  kFToD, kDToF, kIToF, kIToD, kUToF, kUToD,
  kFToI, kDToI,             // saturating, to DType imm
  kFToBool, kDToBool, kIToBool,
  kCallF, kCallD,           // imm: Intrinsic
  kAbsI,
  kPowI, kPowU,
  kMove,
  kRamp,                    // imm: stride
  kBroadcast,
  kLoad8I, kLoad8U, kLoad16I, kLoad16U, kLoad32I, kLoad32U, kLoad64, kLoadF, kLoadNarrow, kLoadBool,
  kStore8, kStore16, kStore32, kStore64, kStoreF, kStoreNarrow, kStoreBool,  // imm: access; a: value
  kPoison,                  // imm: buffer
  kLoopBegin,               // dst = a; c = a + b; skips imm instructions unless dst < c
  kLoopNext,                // ++dst; goes imm instructions back while dst < c
  kJump,                    // skips imm instructions
  kJumpIfFalse,             // the same unless a
  kEnd,
};
// clang-format on

struct Instr {
  Op op = Op::kEnd;
  uint16_t lanes = 1;
  int32_t dst = 0, a = 0, b = 0, c = 0;
  int64_t imm = 0;
};

struct AccessDim {
  int32_t cell = 0;  // the index of lane 0
  int32_t step = 0;  // cells from lane to lane: 0 or 1
  int64_t low = 0, high = 0;
  int64_t stride = 0;
};

struct Access {
  int32_t buffer = 0;
  int32_t predicate = -1;  // cell, or none
  int32_t first_dim = 0, dims = 0;
  int64_t offset = 0;
  DType dtype = DType::kFloat32;
};

struct InterpreterCode {
  std::vector<Instr> code;
  std::vector<AccessDim> dims;
  std::vector<Access> accesses;
  std::vector<Cell> cells;  // immediates are there from the start
  std::vector<std::string> buffer_names;
  std::vector<int64_t> buffer_bytes;
  std::vector<int> params;
  std::vector<std::byte*> bases;  // by buffer; those of parameters are set by Run
  std::vector<std::byte> workspace;
  std::vector<std::vector<std::byte>> thread_memory;  // by buffer
  int64_t max_steps = 0;
};

Result<std::unique_ptr<InterpreterCode>> CompileToCode(const Function& function,
                                                       const InterpretOptions& options);

}  // namespace temper::tir
