// Arithmetic on scalars of any element type, shared by the interpreters of loop nests and of
// programs: integers as int64 (uint64 as its bit pattern), floats as double.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/tir/expr.h"

namespace temper::tir {

// `value` brought into an integer type by wrapping.
int64_t WrapInteger(DType dtype, int64_t value);

// Truncates; saturates where the type cannot hold the value; NaN gives 0.
int64_t ToInteger(DType dtype, double value);

// `value` rounded once to a float type.
double RoundFloat(DType dtype, double value);

// Two's complement, wrapping at 64 bits. REQUIRES: b != 0 for divisions.
inline int64_t AddWrap(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t SubWrap(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t MulWrap(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t DivWrap(int64_t a, int64_t b);
int64_t ModWrap(int64_t a, int64_t b);
int64_t FloorDivWrap(int64_t a, int64_t b);
int64_t FloorModWrap(int64_t a, int64_t b);
// By squaring. An unsigned exponent's bits count as they are; below zero the result is 1 for 1, 1
// or -1 for -1, else 0.
int64_t PowWrap(int64_t base, int64_t exponent, bool is_signed);

// NaN where either is.
template <typename T>
T MinNan(T a, T b) {
  if (a != a) return a;
  return b != b || b < a ? b : a;
}
template <typename T>
T MaxNan(T a, T b) {
  if (a != a) return a;
  return b != b || a < b ? b : a;
}

// The value of a function of one or two operands (the second is not looked at where there is
// none), kIsNan and kIsInf aside. T: float or double.
template <typename T>
T CallFunction(Intrinsic f, T x, T y);
extern template float CallFunction(Intrinsic, float, float);
extern template double CallFunction(Intrinsic, double, double);

union Scalar {
  int64_t i;
  double d;
};
// One element of memory. A bool is 0 or 1.
Scalar ReadScalar(DType dtype, const std::byte* at);
void WriteScalar(DType dtype, Scalar value, std::byte* at);

}  // namespace temper::tir
