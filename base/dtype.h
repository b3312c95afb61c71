// Element types of tensors, with ONNX's names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace temper {

enum class DType : uint8_t {
  kFloat32 = 0,
  kFloat64 = 1,
  kFloat16 = 2,
  kBFloat16 = 3,
  kInt8 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kUInt8 = 8,
  kUInt16 = 9,
  kUInt32 = 10,
  kUInt64 = 11,
  kBool = 12,  // one byte, 0 or 1
  kFloat8E4M3FN = 13,
  kFloat8E4M3FNUZ = 14,
  kFloat8E5M2 = 15,
  kFloat8E5M2FNUZ = 16,
};
inline constexpr int kDTypeCount = 17;

// Bytes of one element.
int ByteSize(DType dtype);
bool IsFloat(DType dtype);
bool IsSignedInt(DType dtype);
bool IsUnsignedInt(DType dtype);
inline bool IsInt(DType dtype) { return IsSignedInt(dtype) || IsUnsignedInt(dtype); }

// "float32", "int64", "bool", ...; as numpy spells them where numpy has them.
std::string_view Name(DType dtype);
std::optional<DType> ParseDType(std::string_view name);

}  // namespace temper
