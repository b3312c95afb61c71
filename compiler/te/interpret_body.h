// Bodies as flat code over a frame of cells: private to interpret*.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/te/program.h"
#include "compiler/tir/scalar.h"

namespace temper::te {

enum class Action : uint8_t { kCompute, kMove, kLoad, kJump, kJumpIfFalse };

struct Instr {
  Action action = Action::kCompute;
  tir::ExprKind kind = tir::ExprKind::kAdd;
  DType dtype = DType::kInt64;    // of the result
  DType operand = DType::kInt64;  // of the first operand
  int dst = 0, a = 0, b = 0;
  int64_t imm = 0;  // kLoad: first index cell; jumps: instructions to skip; a call: the function
  int tensor = 0;   // kLoad
};

struct StageCode {
  std::vector<Instr> code;
  std::vector<tir::Scalar> cells;  // axes first, then immediates and results
  std::vector<int> index_cells;
  int result = 0;
  std::vector<int64_t> reduce;
  size_t spatial = 0;
  Combiner combiner = Combiner::kNone;
  DType dtype = DType::kFloat32;
  tir::Scalar identity{.i = 0};
  std::string name;
};

// Fills code, cells, index_cells and result.
void CompileBody(const Stage& stage, StageCode* out);

// Executes a kCompute instruction. Floats are rounded to their type if `native`.
Status Compute(const StageCode& s, const Instr& i, bool native, tir::Scalar* cells);

}  // namespace temper::te
