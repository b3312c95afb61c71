#include "base/narrow_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/status.h"

namespace temper {
namespace {

struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_infinity;
  uint32_t nan;           // a NaN's bits
  bool nan_is_zero_sign;  // FNUZ: the one NaN is 0x80, and there is no negative zero
  double max;             // largest finite
};

Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {5, 10, 15, true, 0x7e00, false, 65504.0};
    case DType::kBFloat16:
      return {8, 7, 127, true, 0x7fc0, false, 3.3895313892515355e38};
    case DType::kFloat8E4M3FN:
      return {4, 3, 7, false, 0x7f, false, 448.0};
    case DType::kFloat8E4M3FNUZ:
      return {4, 3, 8, false, 0x80, true, 240.0};
    case DType::kFloat8E5M2:
      return {5, 2, 15, true, 0x7e, false, 57344.0};
    default:
      TEMPER_CHECK(dtype == DType::kFloat8E5M2FNUZ);
      return {5, 2, 16, false, 0x80, true, 57344.0};
  }
}

}  // namespace

double DecodeNarrow(DType dtype, uint32_t bits) {
  const Format f = FormatOf(dtype);
  const int width = 1 + f.exponent_bits + f.mantissa_bits;
  const uint32_t sign = bits >> (width - 1);
  const uint32_t magnitude = bits & ((1u << (width - 1)) - 1);
  const uint32_t exponent = magnitude >> f.mantissa_bits;
  const uint32_t mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
  const uint32_t top = (1u << f.exponent_bits) - 1;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (f.nan_is_zero_sign) {
    if (bits == f.nan) return nan;
  } else if (f.has_infinity && exponent == top) {
    if (mantissa != 0) return nan;
    return sign ? -std::numeric_limits<double>::infinity()
                : std::numeric_limits<double>::infinity();
  } else if (!f.has_infinity && magnitude == f.nan) {
    return nan;
  }
  const double value = exponent == 0
                           ? std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits)
                           : std::ldexp(mantissa + (1u << f.mantissa_bits),
                                        static_cast<int>(exponent) - f.bias - f.mantissa_bits);
  return sign ? -value : value;
}

uint32_t EncodeNarrow(DType dtype, double value) {
  const Format f = FormatOf(dtype);
  const int width = 1 + f.exponent_bits + f.mantissa_bits;
  if (std::isnan(value)) return f.nan;
  const uint32_t sign = std::signbit(value) ? 1u << (width - 1) : 0;
  const double magnitude = std::fabs(value);
  // Round the significand to the spacing at its exponent, ties to even.
  int exponent = 0;
  uint32_t bits = 0;
  if (magnitude > 0 && std::isfinite(magnitude)) {
    std::frexp(magnitude, &exponent);  // magnitude in [2^(e-1), 2^e)
    exponent = std::max(exponent - 1, 1 - f.bias);
    const double units = std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent));
    const double rounded = std::ldexp(units, exponent - f.mantissa_bits);
    if (rounded <= f.max) {
      uint32_t significand = static_cast<uint32_t>(units);
      // Adding carries into the exponent field by itself; subnormals have field 0.
      const uint32_t one = 1u << f.mantissa_bits;
      const uint32_t field = static_cast<uint32_t>(exponent + f.bias);
      bits = significand < one ? significand : (field << f.mantissa_bits) + (significand - one);
      if (bits == 0 && f.nan_is_zero_sign) return 0;
      return sign | bits;
    }
  } else if (magnitude == 0) {
    return f.nan_is_zero_sign ? 0 : sign;
  }
  // Beyond the range: infinity for the 16-bit types, saturation for float8 but for infinity itself.
  if (f.has_infinity && (width == 16 || std::isinf(magnitude))) {
    return sign | (((1u << f.exponent_bits) - 1) << f.mantissa_bits);
  }
  int top = 0;
  std::frexp(f.max, &top);
  const uint32_t significand =
      static_cast<uint32_t>(std::ldexp(f.max, f.mantissa_bits - (top - 1)));
  return sign | ((static_cast<uint32_t>(top - 1 + f.bias) << f.mantissa_bits) +
                 (significand - (1u << f.mantissa_bits)));
}

}  // namespace temper
