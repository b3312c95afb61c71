// Conversions between float32 and the float8 types, whose bits are held as 8-bit integers; rounding
// and special values as base/narrow_float.h has them.
#include <llvm/IR/IRBuilder.h>

#include <cmath>

#include "compiler/codegen/llvm/ops.h"

namespace temper::codegen {
namespace {

using llvm::ConstantFP;
using llvm::ConstantInt;
using llvm::Type;
using llvm::Value;

struct Float8 {
  int mantissa_bits;
  int bias;
  float max;
  uint32_t nan;
  bool has_infinity;      // 0x7c, and NaN above it
  bool nan_is_zero_sign;  // FNUZ: no negative zero

  int shift() const { return 23 - mantissa_bits; }  // from float32's mantissa
};

Float8 FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN:
      return {3, 7, 448.0f, 0x7f, false, false};
    case DType::kFloat8E4M3FNUZ:
      return {3, 8, 240.0f, 0x80, false, true};
    case DType::kFloat8E5M2:
      return {2, 15, 57344.0f, 0x7e, true, false};
    default:
      return {2, 16, 57344.0f, 0x80, false, true};
  }
}

Type* Like(Type* scalar, Type* like) {
  auto* v = llvm::dyn_cast<llvm::FixedVectorType>(like);
  return v ? llvm::FixedVectorType::get(scalar, v->getNumElements()) : scalar;
}

}  // namespace

Value* Ops::Float8ToFloat(Value* bits, DType from) {
  const Float8 f = FormatOf(from);
  Type* i32 = Like(b_.getInt32Ty(), bits->getType());
  Type* f32 = Like(b_.getFloatTy(), bits->getType());
  auto imm = [&](uint32_t v) { return ConstantInt::get(i32, v); };
  Value* wide = b_.CreateZExt(bits, i32);
  Value* magnitude = b_.CreateAnd(wide, imm(0x7f));
  // Moves exponent and mantissa in place; scaling also normalizes subnormals.
  Value* moved = b_.CreateBitCast(b_.CreateShl(magnitude, f.shift()), f32);
  Value* r = b_.CreateFMul(moved, ConstantFP::get(f32, std::ldexp(1.0, 127 - f.bias)));
  r = b_.CreateBitCast(r, i32);
  Value* nan = f.nan_is_zero_sign ? b_.CreateICmpEQ(wide, imm(0x80))
               : f.has_infinity   ? b_.CreateICmpUGT(magnitude, imm(0x7c))
                                  : b_.CreateICmpEQ(magnitude, imm(0x7f));
  if (f.has_infinity) {
    r = b_.CreateSelect(b_.CreateICmpEQ(magnitude, imm(0x7c)), imm(0x7f800000u), r);
  }
  r = b_.CreateSelect(nan, imm(0x7fc00000u), r);
  Value* sign = b_.CreateShl(b_.CreateAnd(wide, imm(0x80)), 24);
  if (f.nan_is_zero_sign) sign = b_.CreateSelect(nan, imm(0), sign);
  return b_.CreateBitCast(b_.CreateOr(r, sign), f32);
}

Value* Ops::FloatToFloat8(Value* x, DType to) {
  const Float8 f = FormatOf(to);
  Type* f32 = x->getType();
  Type* i32 = Like(b_.getInt32Ty(), f32);
  auto imm = [&](uint32_t v) { return ConstantInt::get(i32, v); };
  auto number = [&](double v) { return ConstantFP::get(f32, v); };
  Value* bits = b_.CreateBitCast(x, i32);
  Value* sign = b_.CreateAnd(b_.CreateLShr(bits, 24), imm(0x80));
  Value* whole = b_.CreateAnd(bits, imm(0x7fffffffu));
  Value* magnitude = b_.CreateBitCast(whole, f32);
  magnitude = b_.CreateSelect(b_.CreateFCmpOGT(magnitude, number(f.max)), number(f.max), magnitude);
  Value* clamped = b_.CreateBitCast(magnitude, i32);
  // Normal: round to nearest even at the last bit that stays, rebias the exponent.
  Value* odd = b_.CreateAnd(b_.CreateLShr(clamped, f.shift()), imm(1));
  Value* normal = b_.CreateAdd(clamped, b_.CreateAdd(odd, imm((1u << (f.shift() - 1)) - 1)));
  normal = b_.CreateSub(b_.CreateLShr(normal, f.shift()),
                        imm(static_cast<uint32_t>(127 - f.bias) << f.mantissa_bits));
  // Subnormal: a sum whose last bit is worth one unit lets the adder round.
  const double unit = std::ldexp(1.0, 1 - f.bias - f.mantissa_bits);
  Value* shifter = number(std::ldexp(unit, 23));
  Value* sum = b_.CreateBitCast(b_.CreateFAdd(magnitude, shifter), i32);
  Value* small = b_.CreateSub(sum, b_.CreateBitCast(shifter, i32));
  Value* r = b_.CreateSelect(b_.CreateFCmpOLT(magnitude, number(std::ldexp(1.0, 1 - f.bias))),
                             small, normal);
  if (f.has_infinity) {
    r = b_.CreateSelect(b_.CreateICmpEQ(whole, imm(0x7f800000u)), imm(0x7c), r);
  }
  if (f.nan_is_zero_sign) sign = b_.CreateSelect(b_.CreateICmpEQ(r, imm(0)), imm(0), sign);
  r = b_.CreateSelect(b_.CreateICmpUGT(whole, imm(0x7f800000u)), imm(f.nan), b_.CreateOr(r, sign));
  return b_.CreateTrunc(r, Like(b_.getInt8Ty(), f32));
}

}  // namespace temper::codegen
