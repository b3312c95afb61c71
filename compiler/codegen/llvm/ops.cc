#include "compiler/codegen/llvm/ops.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/llvm/math.h"

namespace temper::codegen {
namespace {

using llvm::Constant;
using llvm::ConstantFP;
using llvm::ConstantInt;
using llvm::Type;
using llvm::Value;
using tir::ExprKind;

// Types that are held as integers and computed in float32.
bool IsNarrow(DType d) { return IsFloat(d) && ByteSize(d) < 4; }

Type* Scalar(llvm::LLVMContext& c, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return Type::getFloatTy(c);
    case DType::kFloat64:
      return Type::getDoubleTy(c);
    case DType::kBool:
      return Type::getInt1Ty(c);
    default:
      return Type::getIntNTy(c, 8 * ByteSize(dtype));
  }
}

Type* WithLanes(Type* scalar, int lanes) {
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
}

// `scalar`, or the vector of as many lanes as `like` has.
Type* Like(Type* scalar, Type* like) {
  auto* v = llvm::dyn_cast<llvm::FixedVectorType>(like);
  return v ? llvm::FixedVectorType::get(scalar, v->getNumElements()) : scalar;
}

// A constant, or a splat of one, that is a number.
bool IsNumber(Value* v) {
  auto* c = llvm::dyn_cast<Constant>(v);
  if (!c) return false;
  if (c->getType()->isVectorTy()) c = c->getSplatValue();
  auto* f = llvm::dyn_cast_or_null<ConstantFP>(c);
  return f && !f->isNaN();
}

const ConstantInt* IntConstant(Value* v) {
  auto* c = llvm::dyn_cast<Constant>(v);
  if (!c) return nullptr;
  if (c->getType()->isVectorTy()) c = c->getSplatValue();
  return llvm::dyn_cast_or_null<ConstantInt>(c);
}

}  // namespace

Traits::Traits(const Target& t)
    : f16c(t.Has("f16c")),
      sse41(t.Has("sse4.1")),
      fma(t.Has("fma")),
      avx2(t.Has("avx2")),
      avx512(t.Has("avx512f") && t.Has("avx512dq") && t.Has("avx512vl") && t.Has("avx512bw")),
      vector_bits(t.vector_bits),
      vector_registers(t.vector_registers) {}

Type* ValueType(llvm::LLVMContext& c, tir::Type type) {
  return WithLanes(Scalar(c, type.dtype), type.lanes);
}

Type* MemoryType(llvm::LLVMContext& c, tir::Type type) {
  if (type.dtype == DType::kBool) return WithLanes(Type::getInt8Ty(c), type.lanes);
  return ValueType(c, type);
}

Value* ToMemory(llvm::IRBuilderBase& b, Value* v, DType dtype) {
  return dtype == DType::kBool ? b.CreateZExt(v, Like(b.getInt8Ty(), v->getType())) : v;
}

Value* FromMemory(llvm::IRBuilderBase& b, Value* v, DType dtype) {
  return dtype == DType::kBool ? b.CreateIsNotNull(v) : v;
}

bool IsComputable(DType d) {
  return d == DType::kFloat32 || d == DType::kFloat64 || IsNarrow(d) || IsInt(d) ||
         d == DType::kBool;
}

Value* Ops::Binary(ExprKind kind, DType dtype, Value* x, Value* y) {
  if (IsNarrow(dtype)) {
    Value* r = FloatBinary(kind, ToFloat32(x, dtype), ToFloat32(y, dtype));
    bool comparison = r->getType()->getScalarType()->isIntegerTy(1);
    return comparison ? r : FromFloat32(r, dtype);
  }
  if (IsFloat(dtype)) return FloatBinary(kind, x, y);
  return IntBinary(kind, IsSignedInt(dtype), x, y);
}

Value* Ops::FloatBinary(ExprKind kind, Value* x, Value* y) {
  switch (kind) {
    case ExprKind::kAdd:
      return b_.CreateFAdd(x, y);
    case ExprKind::kSub:
      return b_.CreateFSub(x, y);
    case ExprKind::kMul:
      return b_.CreateFMul(x, y);
    case ExprKind::kDiv:
      return b_.CreateFDiv(x, y);
    case ExprKind::kFloorDiv:
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b_.CreateFDiv(x, y));
    case ExprKind::kMod: {
      Value* args[] = {x, y};
      return MathLibrary(b_, "fmod", args);
    }
    case ExprKind::kFloorMod: {
      Value* q = b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b_.CreateFDiv(x, y));
      return b_.CreateFSub(x, b_.CreateFMul(q, y));
    }
    case ExprKind::kMin:
      return MinMax(false, x, y);
    case ExprKind::kMax:
      return MinMax(true, x, y);
    case ExprKind::kEq:
      return b_.CreateFCmpOEQ(x, y);
    case ExprKind::kNe:
      return b_.CreateFCmpUNE(x, y);
    case ExprKind::kLt:
      return b_.CreateFCmpOLT(x, y);
    case ExprKind::kLe:
      return b_.CreateFCmpOLE(x, y);
    default:
      return nullptr;
  }
}

// x86's minimum and maximum return their second operand when one is NaN: with a number first they
// pass the second's NaN on, and otherwise the first's is put back. The second is what is
// accumulated, which so waits for no comparison.
Value* Ops::MinMax(bool is_max, Value* x, Value* y) {
  if (IsNumber(x)) std::swap(x, y);
  Value* r = MinMaxOfNumber(is_max, y, x);
  if (IsNumber(y)) return r;
  return b_.CreateSelect(b_.CreateFCmpUNO(y, y), y, r);
}

Value* Ops::MinMaxOfNumber(bool is_max, Value* number, Value* y) {
  Value* first = is_max ? b_.CreateFCmpOGT(number, y) : b_.CreateFCmpOLT(number, y);
  return b_.CreateSelect(first, number, y);
}

Value* Ops::IntBinary(ExprKind kind, bool is_signed, Value* x, Value* y) {
  bool boolean = x->getType()->getScalarType()->isIntegerTy(1);
  switch (kind) {
    case ExprKind::kAdd:
      return boolean ? b_.CreateOr(x, y) : b_.CreateAdd(x, y);
    case ExprKind::kSub:
      return b_.CreateSub(x, y);
    case ExprKind::kMul:
      return b_.CreateMul(x, y);
    case ExprKind::kDiv:
    case ExprKind::kMod:
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
      return Divide(kind, is_signed, x, y);
    case ExprKind::kMin:
      return b_.CreateSelect(is_signed ? b_.CreateICmpSLT(x, y) : b_.CreateICmpULT(x, y), x, y);
    case ExprKind::kMax:
      return b_.CreateSelect(is_signed ? b_.CreateICmpSGT(x, y) : b_.CreateICmpUGT(x, y), x, y);
    case ExprKind::kEq:
      return b_.CreateICmpEQ(x, y);
    case ExprKind::kNe:
      return b_.CreateICmpNE(x, y);
    case ExprKind::kLt:
      return is_signed ? b_.CreateICmpSLT(x, y) : b_.CreateICmpULT(x, y);
    case ExprKind::kLe:
      return is_signed ? b_.CreateICmpSLE(x, y) : b_.CreateICmpULE(x, y);
    case ExprKind::kAnd:
      return b_.CreateAnd(x, y);
    case ExprKind::kOr:
      return b_.CreateOr(x, y);
    case ExprKind::kXor:
      return b_.CreateXor(x, y);
    case ExprKind::kShl:
    case ExprKind::kShr: {
      // Shifts by the width or more have no value in LLVM: they give 0, or the sign.
      unsigned bits = x->getType()->getScalarSizeInBits();
      Value* width = ConstantInt::get(y->getType(), bits);
      Value* fits = b_.CreateICmpULT(y, width);
      if (kind == ExprKind::kShr && is_signed) {
        return b_.CreateAShr(x, b_.CreateSelect(fits, y, ConstantInt::get(y->getType(), bits - 1)));
      }
      Value* zero = Constant::getNullValue(y->getType());
      Value* by = b_.CreateSelect(fits, y, zero);
      Value* r = kind == ExprKind::kShl ? b_.CreateShl(x, by) : b_.CreateLShr(x, by);
      return b_.CreateSelect(fits, r, zero);
    }
    default:
      return nullptr;
  }
}

// Division by zero and of the lowest number by -1 would trap: the former divides by 1, the latter
// negates.
Value* Ops::Divide(ExprKind kind, bool is_signed, Value* x, Value* y) {
  Type* type = x->getType();
  Value* zero = Constant::getNullValue(type);
  const ConstantInt* divisor = IntConstant(y);
  bool floor = kind == ExprKind::kFloorDiv || kind == ExprKind::kFloorMod;
  bool remainder = kind == ExprKind::kMod || kind == ExprKind::kFloorMod;
  if (divisor && divisor->getValue().isPowerOf2() && (floor || !is_signed)) {
    unsigned shift = divisor->getValue().logBase2();
    if (remainder) return b_.CreateAnd(x, ConstantInt::get(type, divisor->getValue() - 1));
    return is_signed ? b_.CreateAShr(x, shift) : b_.CreateLShr(x, shift);
  }
  bool safe = divisor && !divisor->isZero() && !divisor->isMinusOne();
  Value* minus_one = nullptr;
  if (!safe) {
    Value* one = ConstantInt::get(type, 1);
    y = b_.CreateSelect(b_.CreateICmpEQ(y, zero), one, y);
    if (is_signed) {
      minus_one = b_.CreateICmpEQ(y, Constant::getAllOnesValue(type));
      y = b_.CreateSelect(minus_one, one, y);
    }
  }
  Value* r;
  if (!is_signed) {
    r = remainder ? b_.CreateURem(x, y) : b_.CreateUDiv(x, y);
  } else if (!floor) {
    r = remainder ? b_.CreateSRem(x, y) : b_.CreateSDiv(x, y);
  } else {
    Value* q = b_.CreateSDiv(x, y);
    Value* rest = b_.CreateSub(x, b_.CreateMul(q, y));
    Value* down =
        b_.CreateAnd(b_.CreateICmpNE(rest, zero), b_.CreateICmpSLT(b_.CreateXor(rest, y), zero));
    r = remainder ? b_.CreateSelect(down, b_.CreateAdd(rest, y), rest)
                  : b_.CreateSub(q, b_.CreateZExt(down, type));
  }
  if (minus_one && !remainder) r = b_.CreateSelect(minus_one, b_.CreateNeg(x), r);
  return r;
}

Value* Ops::Not(DType, Value* x) { return b_.CreateNot(x); }

Value* Ops::MulAdd(Value* x, Value* y, Value* z, bool negate) {
  if (negate) x = b_.CreateFNeg(x);
  return b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {x->getType()}, {x, y, z});
}

Value* Ops::ToFloat32(Value* x, DType from) {
  if (from == DType::kFloat16) return HalfToFloat(x);
  if (ByteSize(from) == 1) return Float8ToFloat(x, from);
  Value* wide = b_.CreateZExt(x, Like(b_.getInt32Ty(), x->getType()));
  return b_.CreateBitCast(b_.CreateShl(wide, 16), Like(b_.getFloatTy(), x->getType()));
}

Value* Ops::FromFloat32(Value* x, DType to) {
  if (to == DType::kFloat16) return FloatToHalf(x);
  if (ByteSize(to) == 1) return FloatToFloat8(x, to);
  // Round to nearest even; a NaN stays one.
  Type* i32 = Like(b_.getInt32Ty(), x->getType());
  Value* bits = b_.CreateBitCast(x, i32);
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, 16), ConstantInt::get(i32, 1));
  Value* rounded = b_.CreateAdd(bits, b_.CreateAdd(odd, ConstantInt::get(i32, 0x7fff)));
  Value* quiet = b_.CreateOr(bits, ConstantInt::get(i32, 0x400000));
  Value* r = b_.CreateSelect(b_.CreateFCmpUNO(x, x), quiet, rounded);
  return b_.CreateTrunc(b_.CreateLShr(r, 16), Like(b_.getInt16Ty(), x->getType()));
}

Value* Ops::HalfToFloat(Value* bits) {
  Type* f32 = Like(b_.getFloatTy(), bits->getType());
  if (traits_.f16c) {
    return b_.CreateFPExt(b_.CreateBitCast(bits, Like(b_.getHalfTy(), bits->getType())), f32);
  }
  // Moves exponent and mantissa in place and scales by 2^112, which also normalizes subnormals.
  Type* i32 = Like(b_.getInt32Ty(), bits->getType());
  Value* wide = b_.CreateZExt(bits, i32);
  Value* magnitude = b_.CreateShl(b_.CreateAnd(wide, ConstantInt::get(i32, 0x7fff)), 13);
  Value* scaled = b_.CreateFMul(b_.CreateBitCast(magnitude, f32), ConstantFP::get(f32, 0x1p112));
  Value* special = b_.CreateFCmpOGE(scaled, ConstantFP::get(f32, 65536.0));
  Value* r = b_.CreateBitCast(scaled, i32);
  r = b_.CreateSelect(special, b_.CreateOr(r, ConstantInt::get(i32, 0x7f800000)), r);
  Value* sign = b_.CreateShl(b_.CreateAnd(wide, ConstantInt::get(i32, 0x8000)), 16);
  return b_.CreateBitCast(b_.CreateOr(r, sign), f32);
}

Value* Ops::FloatToHalf(Value* x) {
  Type* i16 = Like(b_.getInt16Ty(), x->getType());
  if (traits_.f16c) {
    // Not to be contracted with a truncation from float64, for which there is no instruction.
    llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
    b_.clearFastMathFlags();
    return b_.CreateBitCast(b_.CreateFPTrunc(x, Like(b_.getHalfTy(), x->getType())), i16);
  }
  Type* f32 = x->getType();
  Type* i32 = Like(b_.getInt32Ty(), f32);
  auto imm = [&](uint32_t v) { return ConstantInt::get(i32, v); };
  Value* bits = b_.CreateBitCast(x, i32);
  Value* sign = b_.CreateAnd(bits, imm(0x80000000u));
  Value* magnitude = b_.CreateXor(bits, sign);
  // Too large, infinite or NaN.
  Value* nan = b_.CreateICmpUGT(magnitude, imm(0x7f800000u));
  Value* large = b_.CreateSelect(nan, imm(0x7e00), imm(0x7c00));
  // Subnormal: adding 0.5 lets the adder round to the right bit.
  Value* sum = b_.CreateFAdd(b_.CreateBitCast(magnitude, f32), ConstantFP::get(f32, 0.5));
  Value* small = b_.CreateSub(b_.CreateBitCast(sum, i32), imm(0x3f000000u));
  // Normal: rebias the exponent, round to nearest even.
  Value* odd = b_.CreateAnd(b_.CreateLShr(magnitude, 13), imm(1));
  Value* normal = b_.CreateAdd(b_.CreateAdd(magnitude, imm(0xc8000fffu)), odd);
  normal = b_.CreateLShr(normal, 13);
  Value* r = b_.CreateSelect(b_.CreateICmpULT(magnitude, imm(113u << 23)), small, normal);
  r = b_.CreateSelect(b_.CreateICmpUGE(magnitude, imm(0x47800000u)), large, r);
  return b_.CreateTrunc(b_.CreateOr(r, b_.CreateLShr(sign, 16)), i16);
}

Value* Ops::Cast(Value* x, DType from, DType to) {
  if (from == to) return x;
  if (IsNarrow(from)) return Cast(ToFloat32(x, from), DType::kFloat32, to);
  if (IsNarrow(to)) return FromFloat32(Cast(x, from, DType::kFloat32), to);
  Type* type = Like(Scalar(b_.getContext(), to), x->getType());
  bool from_float = IsFloat(from), to_float = IsFloat(to);
  if (to == DType::kBool) {
    return from_float ? b_.CreateFCmpUNE(x, Constant::getNullValue(x->getType()))
                      : b_.CreateIsNotNull(x);
  }
  if (from_float && to_float) return b_.CreateFPCast(x, type);
  if (from_float) {
    // Saturates, NaN gives 0: no value is undefined.
    auto id = IsSignedInt(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b_.CreateIntrinsic(id, {type, x->getType()}, {x});
  }
  bool is_signed = IsSignedInt(from);
  if (to_float) return is_signed ? b_.CreateSIToFP(x, type) : b_.CreateUIToFP(x, type);
  return b_.CreateIntCast(x, type, is_signed);
}

Value* Ops::Call(tir::Intrinsic intrinsic, DType dtype, std::span<Value* const> args) {
  if (IsNarrow(dtype)) {
    std::vector<Value*> wide;
    for (Value* a : args) wide.push_back(ToFloat32(a, dtype));
    Value* r = CallFloat(intrinsic, wide);
    bool boolean = r && r->getType()->getScalarType()->isIntegerTy(1);
    return !r || boolean ? r : FromFloat32(r, dtype);
  }
  if (IsFloat(dtype)) return CallFloat(intrinsic, args);
  if (intrinsic == tir::Intrinsic::kAbs) {
    if (!IsSignedInt(dtype)) return args[0];
    Value* negative = b_.CreateICmpSLT(args[0], Constant::getNullValue(args[0]->getType()));
    return b_.CreateSelect(negative, b_.CreateNeg(args[0]), args[0]);
  }
  if (intrinsic == tir::Intrinsic::kPow) return Power(args[0], args[1], IsSignedInt(dtype));
  if (intrinsic == tir::Intrinsic::kFmod)
    return Divide(ExprKind::kMod, IsSignedInt(dtype), args[0], args[1]);
  return nullptr;
}

// tir::PowWrap, one bit of the exponent after the other.
Value* Ops::Power(Value* base, Value* exponent, bool is_signed) {
  llvm::Type* type = base->getType();
  Value* zero = Constant::getNullValue(type);
  Value* one = llvm::ConstantInt::get(type, 1);
  const unsigned bits = type->getScalarSizeInBits() - (is_signed ? 1 : 0);
  Value* result = one;
  Value* square = base;
  for (unsigned k = 0; k < bits; ++k) {
    Value* bit = b_.CreateAnd(b_.CreateLShr(exponent, k), one);
    result = b_.CreateSelect(b_.CreateICmpNE(bit, zero), b_.CreateMul(result, square), result);
    if (k + 1 < bits) square = b_.CreateMul(square, square);
  }
  if (!is_signed) return result;
  Value* minus_one = Constant::getAllOnesValue(type);
  Value* odd = b_.CreateICmpNE(b_.CreateAnd(exponent, one), zero);
  Value* of_minus_one = b_.CreateSelect(odd, minus_one, one);
  Value* below = b_.CreateSelect(b_.CreateICmpEQ(base, minus_one), of_minus_one, zero);
  below = b_.CreateSelect(b_.CreateICmpEQ(base, one), one, below);
  return b_.CreateSelect(b_.CreateICmpSLT(exponent, zero), below, result);
}

Value* Ops::CallFloat(tir::Intrinsic intrinsic, std::span<Value* const> args) {
  return EmitMath(b_, traits_, intrinsic, args);
}

}  // namespace temper::codegen
