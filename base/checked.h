// Integer arithmetic that reports overflow, for sizes that come from outside: check them before
// they are multiplied, added or allocated.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>

namespace temper {

template <std::integral T>
std::optional<T> CheckedAdd(T a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

template <std::integral T>
std::optional<T> CheckedMul(T a, T b) {
  T product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// The product of all factors; 1 of none, none when it does not fit or a factor is negative. A zero
// factor makes it 0 whatever the others are.
inline std::optional<int64_t> CheckedProduct(std::span<const int64_t> factors) {
  bool zero = false;
  for (int64_t factor : factors) {
    if (factor < 0) return std::nullopt;
    zero = zero || factor == 0;
  }
  if (zero) return 0;
  int64_t product = 1;
  for (int64_t factor : factors) {
    auto next = CheckedMul(product, factor);
    if (!next) return std::nullopt;
    product = *next;
  }
  return product;
}

}  // namespace temper
