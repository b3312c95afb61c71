// A tensor that owns its memory, for the runtime's tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "deploy/runtime/dlpack.h"

struct TestTensor {
  std::vector<uint8_t> bytes;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  DLTensor tensor = {};

  template <typename T>
  TestTensor(DLDataTypeCode code, std::vector<int64_t> extents, const std::vector<T>& values)
      : bytes(values.size() * sizeof(T)), shape(std::move(extents)) {
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    tensor.data = bytes.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.dtype = {static_cast<uint8_t>(code), sizeof(T) * 8, 1};
    tensor.shape = shape.data();
  }
  TestTensor(const TestTensor&) = delete;  // `tensor` points into the others

  template <typename T>
  std::vector<T> Values() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};
