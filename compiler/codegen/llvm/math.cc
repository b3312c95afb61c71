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

// erf on stretches of 0.25 and of 0.53125, as ByStretch takes it: least squares of the relative
// error at Chebyshev nodes, each coefficient rounded before the next is fitted; the last stretch
// ends at 1. At most 2.06 units in the last place off, and nowhere beyond 1.
constexpr float kErfOf16[6][16] = {
    {1.179986745e-01f, 8.121122420e-02f, 8.839502931e-03f, -5.228096992e-02f, -6.896769255e-02f,
     -4.706713930e-02f, -1.498338487e-02f, 6.484121084e-03f, 1.300870255e-02f, 1.064162049e-02f,
     6.130535156e-03f, 2.773463959e-03f, 1.027197111e-03f, 3.184694797e-04f, 8.372206503e-05f,
     1.881882599e-05f},
    {-1.685557538e-03f, 1.260780096e-01f, 1.820862293e-01f, 1.503531486e-01f, 6.910795718e-02f,
     -5.538166966e-03f, -4.395871237e-02f, -4.770966247e-02f, -3.414504975e-02f, -1.890271343e-02f,
     -9.056990035e-03f, -3.172744764e-03f, -1.359781134e-03f, -1.449747360e-04f, 2.955073141e-04f,
     -2.254309220e-04f},
    {-3.759573698e-01f, -3.091988266e-01f, -1.464919597e-01f, 2.677652799e-02f, 1.383697838e-01f,
     1.675347537e-01f, 1.387528181e-01f, 9.015806764e-02f, 4.822345451e-02f, 2.172465436e-02f,
     8.350004442e-03f, 2.760250820e-03f, 7.890177076e-04f, 1.957730565e-04f, 4.228286707e-05f,
     7.966114936e-06f},
    {-6.099161965e-06f, -2.649987936e-01f, -4.393878579e-01f, -4.822003841e-01f, -4.151045382e-01f,
     -2.956567407e-01f, -1.784017533e-01f, -9.236103296e-02f, -4.133967310e-02f, -1.607467234e-02f,
     -5.438117310e-03f, -1.614461304e-03f, -4.118364886e-04f, -9.771470650e-05f, -2.601731831e-05f,
     1.501231736e-06f},
    {1.128379226e+00f, 1.060014248e+00f, 8.787826896e-01f, 6.429311037e-01f, 4.151074886e-01f,
     2.365211248e-01f, 1.189302877e-01f, 5.277499557e-02f, 2.066698484e-02f, 7.142318878e-03f,
     2.178284340e-03f, 5.862775142e-04f, 1.392532140e-04f, 2.918909740e-05f, 5.399451766e-06f,
     1.051494792e-06f},
    {0.0f, 2.763263881e-01f, 5.204998851e-01f, 7.111556530e-01f, 8.427007794e-01f, 9.229001403e-01f,
     9.661051631e-01f, 9.866716862e-01f, 9.953222871e-01f, 9.985373020e-01f, 9.995930195e-01f,
     9.998993874e-01f, 9.999778867e-01f, 9.999957085e-01f, 9.999992847e-01f, 9.999998808e-01f},
};
constexpr float kErfOf8[8][8] = {
    {2.794358879e-02f, 6.632769015e-03f, 1.246294007e-02f, -5.702723749e-03f, -1.925165649e-03f,
     6.646191468e-04f, 2.186604688e-04f, -6.966595538e-03f},
    {-4.633971304e-02f, -4.733962938e-02f, 9.740808979e-03f, 1.580949128e-02f, -1.981654670e-03f,
     -1.731637749e-03f, -1.949443249e-04f, -2.363837091e-03f},
    {1.280722916e-01f, -1.810370595e-03f, -6.628579646e-02f, -4.982005339e-03f, 1.249923650e-02f,
     3.811579896e-03f, 4.275140818e-04f, 3.986046650e-04f},
    {-2.414972987e-03f, 1.834466457e-01f, 4.801369458e-02f, -4.918653890e-02f, -2.632565051e-02f,
     -4.832581617e-03f, -4.215159861e-04f, 1.368494704e-04f},
    {-3.759398460e-01f, -1.235417053e-01f, 1.529936045e-01f, 1.210260913e-01f, 3.303730860e-02f,
     4.253464285e-03f, 2.810959995e-04f, 4.558669389e-06f},
    {-6.184568065e-06f, -4.520474374e-01f, -3.877105415e-01f, -1.418233812e-01f, -2.622566558e-02f,
     -2.583571244e-03f, -1.384103089e-04f, -6.913965990e-06f},
    {1.128379226e+00f, 8.509139419e-01f, 3.649028838e-01f, 8.898772299e-02f, 1.234082133e-02f,
     9.732381441e-04f, 4.364706547e-05f, 1.214760573e-06f},
    {0.0f, 5.475284457e-01f, 8.670582771e-01f, 9.757977128e-01f, 9.973459840e-01f, 9.998276830e-01f,
     9.999934435e-01f, 9.999998808e-01f},
};

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

  // A polynomial for each stretch of |x|, picked from a register; with narrower vectors, x + x
  // p(x^2) below 0.925, else 1 - exp(-q(|x|)), both with x's sign.
  Value* Erf(Value* x) {
    if (traits_.avx512 && lanes_ == 16) {
      return ByStretch<16, 6>(x, kErfOf16, 0.25f, 3.87499976f,
                              llvm::Intrinsic::x86_avx512_permvar_sf_512);
    }
    if (traits_.avx2 && traits_.fma && lanes_ == 8) {
      return ByStretch<8, 8>(x, kErfOf8, 0.53125f, 3.90625f, llvm::Intrinsic::x86_avx2_permps);
    }
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
  // The odd function that is the polynomial of row k, highest power first, in |x| - k * width for k
  // = round(|x| / width), and constant from `last` on, where that is below (kRows - 1/2) * width. A
  // column of coefficients is a register: `permute` picks each lane's by the low bits of k.
  template <int kRows, int kTerms>
  Value* ByStretch(Value* x, const float (&columns)[kTerms][kRows], float width, float last,
                   llvm::Intrinsic::ID permute) {
    Value* a = Abs(x);
    a = Select(Lt(F(last), a), F(last), a);  // the number first, so that NaN passes
    llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
    b_.clearFastMathFlags();
    // The last bits of 1.5 * 2^23 + k are those of k.
    Value* magic = F(12582912.0f);
    Value* sum = Fma(a, F(1.0f / width), magic);
    Value* index = b_.CreateBitCast(sum, i32_);
    Value* r = Fma(Sub(sum, magic), F(-width), a);
    Value* y = nullptr;
    for (const auto& column : columns) {
      Value* c = b_.CreateIntrinsic(permute, {}, {Column(column), index});
      y = y ? Fma(y, r, c) : c;
    }
    return CopySign(y, x);
  }
  Value* Column(llvm::ArrayRef<float> values) {
    return llvm::ConstantDataVector::get(b_.getContext(), values);
  }
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
