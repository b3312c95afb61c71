// One operation of the loop IR on LLVM values: how element types are held, converted, compared.
//
// Values: bool is i1, float16 and bfloat16 are i16 holding their bits (arithmetic on them is done
// in float32 and rounded), the 8-bit floats are i8 and can be moved but not computed with. In
// memory a bool is i8. LLVM's headers stay out of headers: types are named, not seen.
#pragma once

#include <span>

#include "base/dtype.h"
#include "compiler/target/target.h"
#include "compiler/tir/expr.h"

namespace llvm {
class IRBuilderBase;
class LLVMContext;
class Type;
class Value;
}  // namespace llvm

namespace temper::codegen {

struct Traits {
  explicit Traits(const Target& target);
  bool f16c, sse41, fma, avx2, avx512;
  int vector_bits, vector_registers;
};

llvm::Type* ValueType(llvm::LLVMContext& context, tir::Type type);
llvm::Type* MemoryType(llvm::LLVMContext& context, tir::Type type);
// A value as MemoryType holds it, and back.
llvm::Value* ToMemory(llvm::IRBuilderBase& b, llvm::Value* v, DType dtype);
llvm::Value* FromMemory(llvm::IRBuilderBase& b, llvm::Value* v, DType dtype);

// Whether arithmetic on the type is possible at all.
bool IsComputable(DType dtype);

class Ops {
 public:
  Ops(llvm::IRBuilderBase& builder, const Traits& traits) : b_(builder), traits_(traits) {}

  // kAdd to kShr, operands and result of `dtype` (comparisons give i1).
  llvm::Value* Binary(tir::ExprKind kind, DType dtype, llvm::Value* x, llvm::Value* y);
  llvm::Value* Not(DType dtype, llvm::Value* x);
  llvm::Value* Cast(llvm::Value* x, DType from, DType to);
  // x * y + z, or z - x * y, fused where the target can. float32 and float64.
  llvm::Value* MulAdd(llvm::Value* x, llvm::Value* y, llvm::Value* z, bool negate);
  // Null when there is no such function on `dtype`. kIsNan and kIsInf give i1.
  llvm::Value* Call(tir::Intrinsic intrinsic, DType dtype, std::span<llvm::Value* const> args);

  // The minimum or maximum of floats of which the first is no NaN; NaN where the second is.
  llvm::Value* MinMaxOfNumber(bool is_max, llvm::Value* number, llvm::Value* y);

 private:
  llvm::Value* FloatBinary(tir::ExprKind kind, llvm::Value* x, llvm::Value* y);
  llvm::Value* IntBinary(tir::ExprKind kind, bool is_signed, llvm::Value* x, llvm::Value* y);
  llvm::Value* Divide(tir::ExprKind kind, bool is_signed, llvm::Value* x, llvm::Value* y);
  llvm::Value* MinMax(bool is_max, llvm::Value* x, llvm::Value* y);
  llvm::Value* ToFloat32(llvm::Value* x, DType from);
  llvm::Value* FromFloat32(llvm::Value* x, DType to);
  llvm::Value* HalfToFloat(llvm::Value* bits);
  llvm::Value* FloatToHalf(llvm::Value* x);
  // float8.cc
  llvm::Value* Float8ToFloat(llvm::Value* bits, DType from);
  llvm::Value* FloatToFloat8(llvm::Value* x, DType to);
  llvm::Value* Power(llvm::Value* base, llvm::Value* exponent, bool is_signed);  // of integers
  llvm::Value* CallFloat(tir::Intrinsic intrinsic, std::span<llvm::Value* const> args);

  llvm::IRBuilderBase& b_;
  const Traits& traits_;
};

}  // namespace temper::codegen
