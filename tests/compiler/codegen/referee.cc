#include "tests/compiler/codegen/referee.h"

#include <cmath>
#include <cstring>

#include "base/narrow_float.h"
#include "base/rng.h"
#include "compiler/tir/interpreter.h"
#include "compiler/tir/verify.h"

namespace temper::codegen {
namespace {

template <typename T>
T Get(const void* data, int64_t i) {
  T v;
  std::memcpy(&v, static_cast<const char*>(data) + i * sizeof(T), sizeof(T));
  return v;
}

template <typename T>
void Put(void* data, int64_t i, T v) {
  std::memcpy(static_cast<char*>(data) + i * sizeof(T), &v, sizeof(T));
}

}  // namespace

double Element(const void* data, DType dtype, int64_t i) {
  switch (dtype) {
    case DType::kFloat32:
      return Get<float>(data, i);
    case DType::kFloat64:
      return Get<double>(data, i);
    case DType::kInt8:
      return Get<int8_t>(data, i);
    case DType::kInt16:
      return Get<int16_t>(data, i);
    case DType::kInt32:
      return Get<int32_t>(data, i);
    case DType::kInt64:
      return static_cast<double>(Get<int64_t>(data, i));
    case DType::kUInt16:
      return Get<uint16_t>(data, i);
    case DType::kUInt32:
      return Get<uint32_t>(data, i);
    case DType::kUInt64:
      return static_cast<double>(Get<uint64_t>(data, i));
    case DType::kFloat16:
    case DType::kBFloat16:
      return DecodeNarrow(dtype, Get<uint16_t>(data, i));
    default:
      return Get<uint8_t>(data, i);
  }
}

void SetElement(void* data, DType dtype, int64_t i, double v) {
  switch (dtype) {
    case DType::kFloat32:
      return Put(data, i, static_cast<float>(v));
    case DType::kFloat64:
      return Put(data, i, v);
    case DType::kFloat16:
    case DType::kBFloat16:
      return Put(data, i, static_cast<uint16_t>(EncodeNarrow(dtype, v)));
    case DType::kBool:
      return Put<uint8_t>(data, i, v > 0);
    default: {
      auto n = static_cast<int64_t>(std::llround(v));
      switch (ByteSize(dtype)) {
        case 1:
          return Put(data, i, static_cast<uint8_t>(n));
        case 2:
          return Put(data, i, static_cast<uint16_t>(n));
        case 4:
          return Put(data, i, static_cast<uint32_t>(n));
        default:
          return Put(data, i, n);
      }
    }
  }
}

void ExpectAgree(const tir::Function& function, const std::vector<bool>& outputs,
                 const RefereeOptions& options) {
  Status verified = tir::Verify(function);
  ASSERT_TRUE(verified.ok()) << verified.ToString();
  auto kernel = Kernel::Build(function, outputs, options.target);
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  Rng rng(options.seed);
  std::vector<std::vector<uint8_t>> ours, theirs;
  std::vector<void*> our_args, their_args;
  for (size_t p = 0; p < function.params.size(); ++p) {
    const tir::Buffer& b = function.buffers[function.params[p]];
    int64_t count = b.ElementCount();
    std::vector<uint8_t> data(count * ByteSize(b.dtype), 0x11);
    for (int64_t i = 0; i < count && !outputs[p]; ++i) {
      double v = options.low + (options.high - options.low) * rng.Uniform01();
      SetElement(data.data(), b.dtype, i, v);
    }
    ours.push_back(data);
    theirs.push_back(data);
  }
  for (size_t p = 0; p < ours.size(); ++p) {
    our_args.push_back(ours[p].data());
    their_args.push_back(theirs[p].data());
  }
  Status interpreted = tir::Interpret(function, their_args);
  ASSERT_TRUE(interpreted.ok()) << interpreted.ToString();
  EXPECT_EQ((*kernel)->Run(our_args), 0);
  for (size_t p = 0; p < function.params.size(); ++p) {
    const tir::Buffer& b = function.buffers[function.params[p]];
    int failures = 0;
    for (int64_t i = 0; i < b.ElementCount() && failures < 5; ++i) {
      double x = Element(ours[p].data(), b.dtype, i), y = Element(theirs[p].data(), b.dtype, i);
      bool same = x == y || (std::isnan(x) && std::isnan(y));
      if (!same && IsFloat(b.dtype)) {
        double bound = options.float_tolerance;
        if (b.dtype == DType::kFloat16) bound = 2e-3;
        if (b.dtype == DType::kBFloat16) bound = 1.6e-2;
        same = std::abs(x - y) <= bound * std::max(1.0, std::abs(y));
      }
      if (!same) ++failures;
      EXPECT_TRUE(same) << b.name << "[" << i << "] is " << x << ", should be " << y;
    }
  }
}

}  // namespace temper::codegen
