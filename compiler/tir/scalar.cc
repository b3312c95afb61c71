#include "compiler/tir/scalar.h"

#include <cmath>
#include <cstring>

#include "base/narrow_float.h"

namespace temper::tir {
namespace {

template <typename T>
T Get(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <typename T>
void Put(T value, std::byte* at) {
  std::memcpy(at, &value, sizeof(T));
}

}  // namespace

int64_t WrapInteger(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::kInt8:
      return static_cast<int8_t>(value);
    case DType::kInt16:
      return static_cast<int16_t>(value);
    case DType::kInt32:
      return static_cast<int32_t>(value);
    case DType::kUInt8:
      return static_cast<uint8_t>(value);
    case DType::kUInt16:
      return static_cast<uint16_t>(value);
    case DType::kUInt32:
      return static_cast<uint32_t>(value);
    default:
      return value;
  }
}

int64_t ToInteger(DType dtype, double value) {
  if (std::isnan(value)) return 0;
  const int bits = ByteSize(dtype) * 8;
  const bool is_signed = IsSignedInt(dtype);
  const double low = is_signed ? -std::ldexp(1.0, bits - 1) : 0.0;
  const double beyond = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (value >= beyond) return static_cast<int64_t>(is_signed ? all >> 1 : all);
  if (value <= low) return is_signed ? -static_cast<int64_t>(all >> 1) - 1 : 0;
  return is_signed ? static_cast<int64_t>(value)
                   : static_cast<int64_t>(static_cast<uint64_t>(value));
}

double RoundFloat(DType dtype, double value) {
  if (dtype == DType::kFloat64) return value;
  if (dtype == DType::kFloat32) return static_cast<float>(value);
  return DecodeNarrow(dtype, EncodeNarrow(dtype, value));
}

// The most negative number divided by -1 wraps.
int64_t DivWrap(int64_t a, int64_t b) { return b == -1 ? SubWrap(0, a) : a / b; }
int64_t ModWrap(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
int64_t FloorDivWrap(int64_t a, int64_t b) {
  const int64_t q = DivWrap(a, b), r = ModWrap(a, b);
  return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
}
int64_t FloorModWrap(int64_t a, int64_t b) {
  const int64_t r = ModWrap(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
int64_t PowWrap(int64_t base, int64_t exponent, bool is_signed) {
  if (is_signed && exponent < 0) {
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return base == 1 ? 1 : 0;
  }
  int64_t result = 1;
  for (auto e = static_cast<uint64_t>(exponent); e != 0; e >>= 1) {
    if (e & 1) result = MulWrap(result, base);
    base = MulWrap(base, base);
  }
  return result;
}

template <typename T>
T CallFunction(Intrinsic f, T x, T y) {
  switch (f) {
    case Intrinsic::kAbs:
      return std::fabs(x);
    case Intrinsic::kExp:
      return std::exp(x);
    case Intrinsic::kLog:
      return std::log(x);
    case Intrinsic::kSqrt:
      return std::sqrt(x);
    case Intrinsic::kRsqrt:
      return T{1} / std::sqrt(x);
    case Intrinsic::kTanh:
      return std::tanh(x);
    case Intrinsic::kErf:
      return std::erf(x);
    case Intrinsic::kFloor:
      return std::floor(x);
    case Intrinsic::kCeil:
      return std::ceil(x);
    case Intrinsic::kRoundEven:
      return std::nearbyint(x);
    case Intrinsic::kSin:
      return std::sin(x);
    case Intrinsic::kCos:
      return std::cos(x);
    case Intrinsic::kTan:
      return std::tan(x);
    case Intrinsic::kAsin:
      return std::asin(x);
    case Intrinsic::kAcos:
      return std::acos(x);
    case Intrinsic::kAtan:
      return std::atan(x);
    case Intrinsic::kSinh:
      return std::sinh(x);
    case Intrinsic::kCosh:
      return std::cosh(x);
    case Intrinsic::kAsinh:
      return std::asinh(x);
    case Intrinsic::kAcosh:
      return std::acosh(x);
    case Intrinsic::kAtanh:
      return std::atanh(x);
    case Intrinsic::kPow:
      return std::pow(x, y);
    case Intrinsic::kFmod:
      return std::fmod(x, y);
    case Intrinsic::kIsNan:
    case Intrinsic::kIsInf:
      break;
  }
  return x;
}
template float CallFunction(Intrinsic, float, float);
template double CallFunction(Intrinsic, double, double);

Scalar ReadScalar(DType dtype, const std::byte* at) {
  Scalar out{.i = 0};
  switch (dtype) {
    case DType::kFloat32:
      out.d = Get<float>(at);
      break;
    case DType::kFloat64:
      out.d = Get<double>(at);
      break;
    case DType::kInt8:
      out.i = Get<int8_t>(at);
      break;
    case DType::kInt16:
      out.i = Get<int16_t>(at);
      break;
    case DType::kInt32:
      out.i = Get<int32_t>(at);
      break;
    case DType::kInt64:
    case DType::kUInt64:
      out.i = Get<int64_t>(at);
      break;
    case DType::kUInt8:
      out.i = Get<uint8_t>(at);
      break;
    case DType::kUInt16:
      out.i = Get<uint16_t>(at);
      break;
    case DType::kUInt32:
      out.i = Get<uint32_t>(at);
      break;
    case DType::kBool:
      out.i = Get<uint8_t>(at) != 0;
      break;
    default:
      out.d = DecodeNarrow(dtype, ByteSize(dtype) == 2 ? Get<uint16_t>(at) : Get<uint8_t>(at));
  }
  return out;
}

void WriteScalar(DType dtype, Scalar value, std::byte* at) {
  if (dtype == DType::kFloat32) return Put(static_cast<float>(value.d), at);
  if (dtype == DType::kFloat64) return Put(value.d, at);
  if (dtype == DType::kBool) return Put(uint8_t{value.i != 0}, at);
  const uint64_t bits =
      IsFloat(dtype) ? EncodeNarrow(dtype, value.d) : static_cast<uint64_t>(value.i);
  switch (ByteSize(dtype)) {
    case 1:
      return Put(static_cast<uint8_t>(bits), at);
    case 2:
      return Put(static_cast<uint16_t>(bits), at);
    case 4:
      return Put(static_cast<uint32_t>(bits), at);
    default:
      return Put(bits, at);
  }
}

}  // namespace temper::tir
