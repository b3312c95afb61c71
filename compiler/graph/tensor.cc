#include "compiler/graph/tensor.h"

#include <cmath>
#include <limits>

namespace temper::graph {
namespace {

constexpr int64_t kMaxCount = int64_t{1} << 48;

std::optional<int64_t> CheckedProduct(int64_t factor, std::span<const int64_t> shape) {
  // A zero anywhere makes the product zero, but the other dimensions must be sane all the same:
  // strides are computed from them.
  int64_t product = factor;
  bool zero = false;
  for (int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      zero = true;
      continue;
    }
    if (product > kMaxCount / dim) return std::nullopt;
    product *= dim;
  }
  return zero ? 0 : product;
}

template <typename T>
void StoreSaturated(double value, std::byte* at) {
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = static_cast<double>(std::numeric_limits<T>::max());
  T result = 0;
  if (std::isnan(value)) {
    result = 0;
  } else if (value <= low) {
    result = std::numeric_limits<T>::min();
  } else if (value >= high) {
    result = std::numeric_limits<T>::max();
  } else {
    result = static_cast<T>(std::nearbyint(value));
  }
  std::memcpy(at, &result, sizeof(T));
}

template <typename Out>
Out LoadAs(const Tensor& t, int64_t i) {
  switch (t.dtype) {
    case DType::kInt8:
      return static_cast<Out>(t.Load<int8_t>(i));
    case DType::kInt16:
      return static_cast<Out>(t.Load<int16_t>(i));
    case DType::kInt32:
      return static_cast<Out>(t.Load<int32_t>(i));
    case DType::kInt64:
      return static_cast<Out>(t.Load<int64_t>(i));
    case DType::kUInt8:
      return static_cast<Out>(t.Load<uint8_t>(i));
    case DType::kUInt16:
      return static_cast<Out>(t.Load<uint16_t>(i));
    case DType::kUInt32:
      return static_cast<Out>(t.Load<uint32_t>(i));
    case DType::kUInt64:
      return static_cast<Out>(t.Load<uint64_t>(i));
    case DType::kBool:
      return static_cast<Out>(t.Load<uint8_t>(i) != 0);
    case DType::kFloat64:
      return static_cast<Out>(t.Load<double>(i));
    default:
      return static_cast<Out>(LoadFloat(t.dtype, t.data + i * ByteSize(t.dtype)));
  }
}

}  // namespace

std::optional<int64_t> ElementCount(std::span<const int64_t> shape) {
  return CheckedProduct(1, shape);
}

std::optional<int64_t> ByteCount(DType dtype, std::span<const int64_t> shape) {
  return CheckedProduct(ByteSize(dtype), shape);
}

void StoreDouble(DType dtype, double value, std::byte* at) {
  switch (dtype) {
    case DType::kInt8:
      return StoreSaturated<int8_t>(value, at);
    case DType::kInt16:
      return StoreSaturated<int16_t>(value, at);
    case DType::kInt32:
      return StoreSaturated<int32_t>(value, at);
    case DType::kInt64:
      return StoreSaturated<int64_t>(value, at);
    case DType::kUInt8:
      return StoreSaturated<uint8_t>(value, at);
    case DType::kUInt16:
      return StoreSaturated<uint16_t>(value, at);
    case DType::kUInt32:
      return StoreSaturated<uint32_t>(value, at);
    case DType::kUInt64:
      return StoreSaturated<uint64_t>(value, at);
    case DType::kBool: {
      const uint8_t bit = value != 0;
      std::memcpy(at, &bit, 1);
      return;
    }
    default:
      StoreFloat(dtype, value, at);
  }
}

void StoreInt(DType dtype, int64_t value, std::byte* at) {
  if (IsFloat(dtype)) return StoreFloat(dtype, static_cast<double>(value), at);
  if (dtype == DType::kBool) value = value != 0;
  // Little-endian: the low bytes of the two's complement.
  std::memcpy(at, &value, static_cast<size_t>(ByteSize(dtype)));
}

int64_t Tensor::IntAt(int64_t i) const {
  TEMPER_CHECK(!IsFloat(dtype));
  return LoadAs<int64_t>(*this, i);
}

double Tensor::DoubleAt(int64_t i) const { return LoadAs<double>(*this, i); }

std::vector<int64_t> Tensor::AsInts() const {
  TEMPER_CHECK(!IsFloat(dtype));
  std::vector<int64_t> values(static_cast<size_t>(size()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = LoadAs<int64_t>(*this, i);
  return values;
}

std::vector<double> Tensor::AsDoubles() const {
  std::vector<double> values(static_cast<size_t>(size()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = LoadAs<double>(*this, i);
  return values;
}

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         (a.data == b.data || a.bytes() == 0 ||
          std::memcmp(a.data, b.data, static_cast<size_t>(a.bytes())) == 0);
}

Tensor MakeTensor(DType dtype, Shape shape, std::byte** data) {
  const std::optional<int64_t> bytes = ByteCount(dtype, shape);
  TEMPER_CHECK(bytes.has_value());
  // Rounded up so that an empty tensor has an address too.
  std::shared_ptr<std::byte[]> buffer(new std::byte[static_cast<size_t>(*bytes) + 1]());
  if (data != nullptr) *data = buffer.get();
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.data = buffer.get();
  tensor.holder = std::move(buffer);
  return tensor;
}

Tensor MakeInts(Shape shape, std::span<const int64_t> values) {
  std::byte* data = nullptr;
  Tensor tensor = MakeTensor(DType::kInt64, std::move(shape), &data);
  TEMPER_CHECK(tensor.size() == static_cast<int64_t>(values.size()));
  if (!values.empty()) std::memcpy(data, values.data(), values.size_bytes());
  return tensor;
}

Tensor MakeFloats(Shape shape, std::span<const float> values) {
  std::byte* data = nullptr;
  Tensor tensor = MakeTensor(DType::kFloat32, std::move(shape), &data);
  TEMPER_CHECK(tensor.size() == static_cast<int64_t>(values.size()));
  if (!values.empty()) std::memcpy(data, values.data(), values.size_bytes());
  return tensor;
}

Tensor MakeFromDoubles(DType dtype, Shape shape, std::span<const double> values) {
  std::byte* data = nullptr;
  Tensor tensor = MakeTensor(dtype, std::move(shape), &data);
  TEMPER_CHECK(tensor.size() == static_cast<int64_t>(values.size()));
  const int size = ByteSize(dtype);
  for (size_t i = 0; i < values.size(); ++i) StoreDouble(dtype, values[i], data + i * size);
  return tensor;
}

}  // namespace temper::graph
