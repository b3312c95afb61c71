// A constant tensor: dtype, shape and bytes that may lie in a mapped model file.
//
// Bytes are row-major and little-endian, without padding; bool is one byte. They are immutable and
// shared: copying a Tensor copies a pointer. `holder` keeps the memory alive (a mapped file, a
// parsed message, a buffer); `data` need not be aligned to the element, so read elements with
// Load or copy them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"

namespace temper::graph {

using Shape = std::vector<int64_t>;

// The product of `shape`; 1 for a scalar. Nothing if a dimension is negative or the product does
// not fit (products above 2^48 count as not fitting: no tensor is that large).
std::optional<int64_t> ElementCount(std::span<const int64_t> shape);

// ElementCount times the size of an element, checked the same way.
std::optional<int64_t> ByteCount(DType dtype, std::span<const int64_t> shape);

struct Tensor {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::shared_ptr<const void> holder;
  const std::byte* data = nullptr;

  int64_t size() const { return *ElementCount(shape); }       // elements
  int64_t bytes() const { return size() * ByteSize(dtype); }  // bytes
  std::span<const std::byte> raw() const { return {data, static_cast<size_t>(bytes())}; }

  // Element `i` in row-major order. REQUIRES: T is the C++ type of dtype, 0 <= i < size().
  template <typename T>
  T Load(int64_t i) const {
    T value;
    std::memcpy(&value, data + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
  }

  // Element `i`, converted from any integer type or bool (IntAt; uint64 wraps), or from any type.
  int64_t IntAt(int64_t i) const;
  double DoubleAt(int64_t i) const;
  // All elements, converted the same ways.
  std::vector<int64_t> AsInts() const;
  std::vector<double> AsDoubles() const;
};

// Same dtype, shape and bytes.
bool SameBits(const Tensor& a, const Tensor& b);

// A tensor with memory of its own, zeroed. REQUIRES: ByteCount(dtype, shape) has a value.
// `data`, if not null, receives the writable pointer; write before the tensor is shared.
Tensor MakeTensor(DType dtype, Shape shape, std::byte** data = nullptr);

Tensor MakeInts(Shape shape, std::span<const int64_t> values);  // int64
Tensor MakeFloats(Shape shape, std::span<const float> values);  // float32
inline Tensor MakeScalar(float value) { return MakeFloats({}, {&value, 1}); }

// Writes an element of any type: to integers rounded to nearest and saturated (StoreDouble) or
// wrapped (StoreInt); to bool as whether it differs from zero.
void StoreDouble(DType dtype, double value, std::byte* at);
void StoreInt(DType dtype, int64_t value, std::byte* at);

// `values` rounded or saturated to `dtype`, as a tensor of that type.
Tensor MakeFromDoubles(DType dtype, Shape shape, std::span<const double> values);

// Conversions of the narrow floating types (round to nearest even; float8 as ONNX's Cast with
// saturation).
float LoadFloat(DType dtype, const std::byte* at);          // any floating dtype
void StoreFloat(DType dtype, double value, std::byte* at);  // any floating dtype

}  // namespace temper::graph
