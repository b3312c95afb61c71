#include "worker/runner/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "worker/runner/operands.h"

namespace temper::runner {
namespace {

template <typename T>
T Read(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const uint8_t*>(data) + index * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

double FromHalf(uint16_t h) {
  double sign = (h & 0x8000) != 0 ? -1 : 1;
  int exponent = (h >> 10) & 31;
  int fraction = h & 1023;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

double Epsilon(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 0x1p-52;
    case DType::kFloat16:
      return 0x1p-10;
    case DType::kBFloat16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

// NaN where NaN is due, and an infinity where that one is.
bool Right(double value, double reference, double tolerance) {
  if (std::isnan(reference)) return std::isnan(value);
  if (std::isinf(reference)) return value == reference;
  return std::fabs(value - reference) <= tolerance;
}

// Share of the tensor's scale that is allowed everywhere: for elements that cancel to about zero.
constexpr double kFloor = 1.0 / 16;

}  // namespace

double ElementAt(DType dtype, const void* data, int64_t index) {
  switch (dtype) {
    case DType::kFloat32:
      return Read<float>(data, index);
    case DType::kFloat64:
      return Read<double>(data, index);
    case DType::kFloat16:
      return FromHalf(Read<uint16_t>(data, index));
    case DType::kBFloat16: {
      uint32_t bits = static_cast<uint32_t>(Read<uint16_t>(data, index)) << 16;
      return Read<float>(&bits, 0);
    }
    case DType::kInt8:
      return Read<int8_t>(data, index);
    case DType::kUInt8:
    case DType::kBool:
      return Read<uint8_t>(data, index);
    case DType::kInt16:
      return Read<int16_t>(data, index);
    case DType::kUInt16:
      return Read<uint16_t>(data, index);
    case DType::kInt32:
      return Read<int32_t>(data, index);
    case DType::kUInt32:
      return Read<uint32_t>(data, index);
    case DType::kInt64:
      return static_cast<double>(Read<int64_t>(data, index));
    case DType::kUInt64:
      return static_cast<double>(Read<uint64_t>(data, index));
    default:
      return Read<uint8_t>(data, index);
  }
}

double Tolerance(DType dtype, double magnitude) {
  if (!IsFloat(dtype)) return 0;
  return 32 * Epsilon(dtype) * std::fabs(magnitude);
}

ExpectedOutput ExpectedOutput::Make(const temper_arg_info& info, const void* reference,
                                    const void* magnitude) {
  ExpectedOutput expected;
  expected.dtype_ = static_cast<DType>(info.dtype);
  expected.elements_ = 1;
  for (int d = 0; d < info.rank; ++d) {
    expected.elements_ *= info.shape[d] + info.halo_before[d] + info.halo_after[d];
  }
  expected.halo_ = HaloMask(info);
  const int64_t n = expected.elements_;
  const DType dtype = expected.dtype_;
  if (!IsFloat(dtype)) {
    const auto* bytes = static_cast<const uint8_t*>(reference);
    expected.exact_.assign(bytes, bytes + n * ByteSize(dtype));
    return expected;
  }
  double square = 0;
  int64_t finite = 0;
  std::vector<double> scale(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    double r = std::fabs(ElementAt(dtype, reference, i));
    double m = std::fabs(ElementAt(dtype, magnitude, i));
    if (!std::isfinite(m)) m = r;
    m = std::max(m, r);
    if (!std::isfinite(m)) m = 0;
    scale[static_cast<size_t>(i)] = m;
    if (m > 0) {
      square += m * m;
      ++finite;
    }
  }
  double floor = finite > 0 ? kFloor * std::sqrt(square / static_cast<double>(finite)) : 0;
  bool narrow = dtype == DType::kFloat32;
  for (int64_t i = 0; i < n; ++i) {
    bool in_halo = !expected.halo_.empty() && expected.halo_[static_cast<size_t>(i)] != 0;
    double t = in_halo ? 0 : Tolerance(dtype, std::max(scale[static_cast<size_t>(i)], floor));
    double r = ElementAt(dtype, reference, i);
    if (narrow) {
      expected.reference_.push_back(static_cast<float>(r));
      expected.tolerance_.push_back(static_cast<float>(t));
    } else {
      expected.wide_reference_.push_back(r);
      expected.wide_tolerance_.push_back(t);
    }
  }
  return expected;
}

int64_t ExpectedOutput::bytes() const {
  size_t wide = wide_reference_.size() + wide_tolerance_.size();
  size_t narrow = reference_.size() + tolerance_.size();
  return static_cast<int64_t>(wide * sizeof(double) + narrow * sizeof(float) + exact_.size() +
                              halo_.size());
}

Status ExpectedOutput::Check(const void* output, double error_scale) const {
  int64_t wrong = 0, first = -1;
  if (!exact_.empty()) {
    int size = ByteSize(dtype_);
    const auto* bytes = static_cast<const uint8_t*>(output);
    if (std::memcmp(bytes, exact_.data(), exact_.size()) == 0) return OkStatus();
    for (int64_t i = 0; i < elements_; ++i) {
      if (std::memcmp(bytes + i * size, exact_.data() + i * size, static_cast<size_t>(size)) == 0) {
        continue;
      }
      if (wrong++ == 0) first = i;
    }
    return DataLoss(fmt::format("element {} is {}, not {}; {} of {} are wrong", first,
                                ElementAt(dtype_, output, first),
                                ElementAt(dtype_, exact_.data(), first), wrong, elements_));
  }
  if (dtype_ == DType::kFloat32) {
    const auto* values = static_cast<const float*>(output);
    // A quick pass that the compiler can vectorize; not-a-number counts as wrong here.
    int64_t suspects = 0;
    const auto scale = static_cast<float>(error_scale);
    for (int64_t i = 0; i < elements_; ++i) {
      auto k = static_cast<size_t>(i);
      suspects += !(std::fabs(values[i] - reference_[k]) <= scale * tolerance_[k]);
    }
    if (suspects == 0) return OkStatus();
  }
  double reference_first = 0;
  for (int64_t i = 0; i < elements_; ++i) {
    auto k = static_cast<size_t>(i);
    bool narrow = dtype_ == DType::kFloat32;
    double r = narrow ? reference_[k] : wide_reference_[k];
    double t = error_scale * (narrow ? tolerance_[k] : wide_tolerance_[k]);
    if (Right(ElementAt(dtype_, output, i), r, t)) continue;
    if (wrong++ == 0) {
      first = i;
      reference_first = r;
    }
  }
  if (wrong == 0) return OkStatus();
  bool in_halo = !halo_.empty() && halo_[static_cast<size_t>(first)] != 0;
  return DataLoss(fmt::format("{} {} is {}, not {}; {} of {} are wrong",
                              in_halo ? "halo element" : "element", first,
                              ElementAt(dtype_, output, first), reference_first, wrong, elements_));
}

}  // namespace temper::runner
