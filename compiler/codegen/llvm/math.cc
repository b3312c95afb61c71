#include "compiler/codegen/llvm/math.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>

namespace temper::codegen {
namespace {

using llvm::ConstantFP;
using llvm::ConstantInt;
using llvm::Type;
using llvm::Value;

// float32 functions. The polynomials were fitted at Chebyshev nodes for the intervals named.
class Float32Math {
 public:
  Float32Math(llvm::IRBuilderBase& b, const Traits& traits, Type* type)
      : b_(b), traits_(traits), type_(type) {
    i32_ = b.getInt32Ty();
    if (auto* v = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
      lanes_ = v->getNumElements();
      i32_ = llvm::FixedVectorType::get(i32_, lanes_);
    }
  }

  // 2^n * p(r), n = round(x / ln 2), |r| <= ln 2 / 2.
  //
  // Every instruction counts here: the degree leaves 1.6 * 2^-24, and one constant for ln 2 the
  // 2^-24 / 31 of what n is, so that results near 2^n are off by n / 31 * 2^-24 more.
  Value* Exp(Value* x) {
    // A number first, so that NaN passes. Beyond the bounds the result is 0 or infinite.
    x = Select(Lt(F(89.0f), x), F(89.0f), x);
    x = Select(Gt(F(-104.0f), x), F(-104.0f), x);
    Value* n = Round(Mul(x, F(1.44269504088896341f)));
    Value* r;
    if (traits_.fma) {
      r = Fma(n, F(-0.693147182464599609f), x);
    } else {  // the product with a number of few bits is exact as well
      r = Fma(n, F(2.12194440e-4f), Fma(n, F(-0.693359375f), x));
    }
    Value* p = Poly(r, {8.290306237e-03f, 4.189797566e-02f, 1.666763658e-01f, 4.999914919e-01f,
                        9.999997070e-01f, 1.0f});
    return Scale(p, n);
  }

  // log(m) + e ln 2, m in [sqrt(1/2), sqrt(2)).
  Value* Log(Value* x) {
    Value* tiny = Lt(x, F(std::numeric_limits<float>::min()));
    Value* scaled = Select(tiny, Mul(x, F(0x1p23f)), x);
    Value* bits = b_.CreateSub(b_.CreateBitCast(scaled, i32_), I(0x3f3504f3));
    Value* e = b_.CreateSIToFP(b_.CreateAShr(bits, 23), type_);
    e = Select(tiny, Sub(e, F(23.0f)), e);
    Value* mantissa = b_.CreateAdd(b_.CreateAnd(bits, I(0x7fffff)), I(0x3f3504f3));
    Value* f = Sub(b_.CreateBitCast(mantissa, type_), F(1.0f));
    Value* p = Poly(f, {6.971611471e-02f, -1.147973385e-01f, 1.168541992e-01f, -1.242568733e-01f,
                        1.424905765e-01f, -1.666780232e-01f, 2.000071575e-01f, -2.499999696e-01f,
                        3.333333118e-01f});
    Value* z = Mul(f, f);
    Value* low = Mul(Mul(f, z), p);
    low = Fma(e, F(-2.12194440e-4f), low);
    low = Fma(z, F(-0.5f), low);
    Value* r = Fma(e, F(0.693359375f), b_.CreateFAdd(f, low));
    // What is not a positive finite number.
    constexpr float kInf = std::numeric_limits<float>::infinity();
    r = Select(b_.CreateFCmpOEQ(x, F(kInf)), x, r);
    r = Select(b_.CreateFCmpOEQ(x, F(0.0f)), F(-kInf), r);
    return Select(b_.CreateFCmpULT(x, F(0.0f)), F(std::numeric_limits<float>::quiet_NaN()), r);
  }

  // x + x^3 q(x^2) below 0.625, else 1 - 2 / (exp(2 |x|) + 1) with x's sign.
  Value* Tanh(Value* x) {
    Value* a = Abs(x);
    Value* z = Mul(x, x);
    Value* q = Poly(z, {-5.937062773e-03f, 2.088334743e-02f, -5.382600691e-02f, 1.333259966e-01f,
                        -3.333332719e-01f});
    Value* small = Fma(Mul(x, z), q, x);
    Value* e = Exp(b_.CreateFAdd(a, a));
    Value* big = Sub(F(1.0f), b_.CreateFDiv(F(2.0f), b_.CreateFAdd(e, F(1.0f))));
    return Select(Lt(a, F(0.625f)), small, CopySign(big, x));
  }

  // x + x p(x^2) below 0.925, else 1 - exp(-q(|x|)) with x's sign.
  Value* Erf(Value* x) {
    Value* a = Abs(x);
    Value* p = Poly(Mul(x, x), {-5.954904004e-04f, 4.986477310e-03f, -2.676235042e-02f,
                                1.128170933e-01f, -3.761248485e-01f, 1.283791485e-01f});
    Value* small = Fma(x, p, x);
    Value* t = Select(Lt(F(4.1f), a), F(4.1f), a);
    Value* q = Poly(t, {-1.605333988e-06f, 4.545639866e-05f, -5.919634832e-04f, 4.737960627e-03f,
                        -2.636249021e-02f, 1.099813781e-01f, 6.319268015e-01f, 1.130176370e+00f,
                        -3.063900320e-04f});
    Value* big = Sub(F(1.0f), Exp(b_.CreateFNeg(q)));
    return Select(Lt(a, F(0.925f)), small, CopySign(big, x));
  }

 private:
  Value* F(float v) { return ConstantFP::get(type_, v); }
  Value* I(uint32_t v) { return ConstantInt::get(i32_, v); }
  Value* Mul(Value* x, Value* y) { return b_.CreateFMul(x, y); }
  Value* Sub(Value* x, Value* y) { return b_.CreateFSub(x, y); }
  Value* Lt(Value* x, Value* y) { return b_.CreateFCmpOLT(x, y); }
  Value* Gt(Value* x, Value* y) { return b_.CreateFCmpOGT(x, y); }
  Value* Select(Value* c, Value* x, Value* y) { return b_.CreateSelect(c, x, y); }
  Value* Abs(Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
  Value* CopySign(Value* x, Value* sign) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, sign);
  }
  Value* Fma(Value* x, Value* y, Value* z) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {type_}, {x, y, z});
  }
  // Highest power first.
  Value* Poly(Value* x, std::initializer_list<float> coefficients) {
    Value* r = nullptr;
    for (float c : coefficients) r = r ? Fma(r, x, F(c)) : F(c);
    return r;
  }
  Value* Round(Value* x) {
    if (traits_.sse41) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x);
    // Adding 1.5 * 2^23 leaves no room for a fraction; |x| is below 2^22 here.
    Value* magic = F(12582912.0f);
    llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
    b_.clearFastMathFlags();
    return Sub(b_.CreateFAdd(x, magic), magic);
  }
  // p * 2^n for integral n in [-150, 128].
  Value* Scale(Value* p, Value* n) {
    if (traits_.avx512 && lanes_ == 16) {
      return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                                {p, n, p, b_.getInt16(0xffff), b_.getInt32(4)});
    }
    // In two steps: 2^n alone need not be a number.
    Value* i = b_.CreateFPToSI(n, i32_);
    Value* half = b_.CreateAShr(i, 1);
    Value* rest = b_.CreateSub(i, half);
    auto power = [&](Value* k) {
      return b_.CreateBitCast(b_.CreateShl(b_.CreateAdd(k, I(127)), 23), type_);
    };
    return Mul(Mul(p, power(half)), power(rest));
  }

  llvm::IRBuilderBase& b_;
  const Traits& traits_;
  Type* type_;
  Type* i32_;
  unsigned lanes_ = 1;
};

const char* LibraryName(tir::Intrinsic intrinsic) {
  switch (intrinsic) {
    case tir::Intrinsic::kExp:
      return "exp";
    case tir::Intrinsic::kLog:
      return "log";
    case tir::Intrinsic::kTanh:
      return "tanh";
    case tir::Intrinsic::kErf:
      return "erf";
    case tir::Intrinsic::kSin:
      return "sin";
    case tir::Intrinsic::kCos:
      return "cos";
    case tir::Intrinsic::kTan:
      return "tan";
    case tir::Intrinsic::kAsin:
      return "asin";
    case tir::Intrinsic::kAcos:
      return "acos";
    case tir::Intrinsic::kAtan:
      return "atan";
    case tir::Intrinsic::kSinh:
      return "sinh";
    case tir::Intrinsic::kCosh:
      return "cosh";
    case tir::Intrinsic::kAsinh:
      return "asinh";
    case tir::Intrinsic::kAcosh:
      return "acosh";
    case tir::Intrinsic::kAtanh:
      return "atanh";
    case tir::Intrinsic::kPow:
      return "pow";
    case tir::Intrinsic::kFmod:
      return "fmod";
    default:
      return nullptr;
  }
}

}  // namespace

Value* MathLibrary(llvm::IRBuilderBase& b, std::string_view name, std::span<Value* const> args) {
  Type* type = args[0]->getType();
  Type* scalar = type->getScalarType();
  std::string symbol(name);
  if (scalar->isFloatTy()) symbol += 'f';
  std::vector<Type*> params(args.size(), scalar);
  llvm::Module* module = b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee =
      module->getOrInsertFunction(symbol, llvm::FunctionType::get(scalar, params, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector) return b.CreateCall(callee, llvm::ArrayRef(args.data(), args.size()));
  Value* result = llvm::PoisonValue::get(type);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    std::vector<Value*> one;
    for (Value* a : args) one.push_back(b.CreateExtractElement(a, lane));
    result = b.CreateInsertElement(result, b.CreateCall(callee, one), lane);
  }
  return result;
}

Value* EmitMath(llvm::IRBuilderBase& b, const Traits& traits, tir::Intrinsic intrinsic,
                std::span<Value* const> args) {
  Value* x = args[0];
  Type* type = x->getType();
  switch (intrinsic) {
    case tir::Intrinsic::kAbs:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    case tir::Intrinsic::kSqrt:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    case tir::Intrinsic::kRsqrt:
      return b.CreateFDiv(ConstantFP::get(type, 1.0),
                          b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x));
    case tir::Intrinsic::kFloor:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
    case tir::Intrinsic::kCeil:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, x);
    case tir::Intrinsic::kRoundEven:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x);
    case tir::Intrinsic::kIsNan:
      return b.CreateFCmpUNO(x, x);
    case tir::Intrinsic::kIsInf:
      return b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x),
                             ConstantFP::getInfinity(type));
    default:
      break;
  }
  if (type->getScalarType()->isFloatTy()) {
    Float32Math math(b, traits, type);
    if (intrinsic == tir::Intrinsic::kExp) return math.Exp(x);
    if (intrinsic == tir::Intrinsic::kLog) return math.Log(x);
    if (intrinsic == tir::Intrinsic::kTanh) return math.Tanh(x);
    if (intrinsic == tir::Intrinsic::kErf) return math.Erf(x);
  }
  const char* name = LibraryName(intrinsic);
  return name ? MathLibrary(b, name, args) : nullptr;
}

}  // namespace temper::codegen
