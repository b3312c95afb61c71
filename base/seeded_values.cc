#include "base/seeded_values.h"

#include <cmath>
#include <cstring>

namespace temper {
namespace {

// The finalizer of splitmix64.
uint64_t Mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

uint64_t KeyOf(uint64_t seed, int argument) {
  return Mix(seed + 0x9e3779b97f4a7c15ULL * (static_cast<uint64_t>(argument) + 1));
}

uint64_t Bits(uint64_t key, int64_t index) {
  return Mix(key + 0x9e3779b97f4a7c15ULL * (static_cast<uint64_t>(index) + 1));
}

// -127..-1, 1..127 over 128.
float FloatOf(uint64_t bits) {
  auto magnitude = static_cast<float>(1 + (bits >> 8) % 127) / 128.0f;
  return (bits & 1) != 0 ? -magnitude : magnitude;
}

int64_t IntOf(DType dtype, uint64_t bits) {
  if (dtype == DType::kBool) return static_cast<int64_t>(bits & 1);
  auto value = static_cast<int64_t>((bits >> 8) % 17);
  return IsUnsignedInt(dtype) ? value : value - 8;
}

// The multiples of 2^-7 below 1 are exact in both, so truncation of the bit pattern is exact.
uint16_t BFloat16Of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>(bits >> 16);
}
uint16_t Float16Of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  auto exponent = static_cast<int>((bits >> 23) & 255) - 127 + 15;  // normal: |value| >= 2^-7
  return static_cast<uint16_t>(((bits >> 16) & 0x8000) | (static_cast<uint32_t>(exponent) << 10) |
                               ((bits >> 13) & 0x3ff));
}

template <typename T>
void FillInts(DType dtype, uint64_t key, int64_t count, bool absolute, void* out) {
  T* values = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) {
    int64_t v = IntOf(dtype, Bits(key, i));
    values[i] = static_cast<T>(absolute && v < 0 ? -v : v);
  }
}

template <typename T, typename F>
void FillFloats(uint64_t key, int64_t count, bool absolute, void* out, F&& convert) {
  T* values = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) {
    float v = FloatOf(Bits(key, i));
    values[i] = convert(absolute ? std::fabs(v) : v);
  }
}

}  // namespace

double SeededValue(DType dtype, uint64_t seed, int argument, int64_t index) {
  uint64_t bits = Bits(KeyOf(seed, argument), index);
  if (IsFloat(dtype)) return FloatOf(bits);
  return static_cast<double>(IntOf(dtype, bits));
}

bool FillSeeded(DType dtype, uint64_t seed, int argument, int64_t count, bool absolute, void* out) {
  uint64_t key = KeyOf(seed, argument);
  switch (dtype) {
    case DType::kFloat32:
      FillFloats<float>(key, count, absolute, out, [](float v) { return v; });
      return true;
    case DType::kFloat64:
      FillFloats<double>(key, count, absolute, out, [](float v) { return double{v}; });
      return true;
    case DType::kFloat16:
      FillFloats<uint16_t>(key, count, absolute, out, Float16Of);
      return true;
    case DType::kBFloat16:
      FillFloats<uint16_t>(key, count, absolute, out, BFloat16Of);
      return true;
    case DType::kInt8:
      FillInts<int8_t>(dtype, key, count, absolute, out);
      return true;
    case DType::kUInt8:
    case DType::kBool:
      FillInts<uint8_t>(dtype, key, count, absolute, out);
      return true;
    case DType::kInt16:
      FillInts<int16_t>(dtype, key, count, absolute, out);
      return true;
    case DType::kUInt16:
      FillInts<uint16_t>(dtype, key, count, absolute, out);
      return true;
    case DType::kInt32:
      FillInts<int32_t>(dtype, key, count, absolute, out);
      return true;
    case DType::kUInt32:
      FillInts<uint32_t>(dtype, key, count, absolute, out);
      return true;
    case DType::kInt64:
      FillInts<int64_t>(dtype, key, count, absolute, out);
      return true;
    case DType::kUInt64:
      FillInts<uint64_t>(dtype, key, count, absolute, out);
      return true;
    default:
      return false;
  }
}

}  // namespace temper
