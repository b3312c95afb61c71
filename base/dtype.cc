#include "base/dtype.h"

#include <array>

namespace temper {
namespace {

struct Row {
  std::string_view name;
  int bytes;
  char kind;  // f: float, i: signed, u: unsigned, b: bool
};

constexpr std::array<Row, kDTypeCount> kRows = {{{"float32", 4, 'f'},
                                                 {"float64", 8, 'f'},
                                                 {"float16", 2, 'f'},
                                                 {"bfloat16", 2, 'f'},
                                                 {"int8", 1, 'i'},
                                                 {"int16", 2, 'i'},
                                                 {"int32", 4, 'i'},
                                                 {"int64", 8, 'i'},
                                                 {"uint8", 1, 'u'},
                                                 {"uint16", 2, 'u'},
                                                 {"uint32", 4, 'u'},
                                                 {"uint64", 8, 'u'},
                                                 {"bool", 1, 'b'},
                                                 {"float8_e4m3fn", 1, 'f'},
                                                 {"float8_e4m3fnuz", 1, 'f'},
                                                 {"float8_e5m2", 1, 'f'},
                                                 {"float8_e5m2fnuz", 1, 'f'}}};

const Row& RowOf(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

int ByteSize(DType dtype) { return RowOf(dtype).bytes; }
bool IsFloat(DType dtype) { return RowOf(dtype).kind == 'f'; }
bool IsSignedInt(DType dtype) { return RowOf(dtype).kind == 'i'; }
bool IsUnsignedInt(DType dtype) { return RowOf(dtype).kind == 'u'; }
std::string_view Name(DType dtype) { return RowOf(dtype).name; }

std::optional<DType> ParseDType(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace temper
