// Arrays in numpy's .npy files, versions 1 to 3: https://numpy.org/doc/stable/reference/generated/
// numpy.lib.format.html. Little-endian; Fortran order is put into C order when read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"

namespace temper::tools {

struct Array {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;  // dense, row-major

  int64_t size() const;  // elements
};

// The array of a file. Types without a numpy name of their own (bfloat16, float8) come as raw
// bytes ("|V2", "|V1" or uint16 and uint8) and take `expected` when the width fits it.
Result<Array> ReadNpy(const std::string& path, DType expected);
Result<Array> ParseNpy(std::string_view bytes, const std::string& shown, DType expected);

Status WriteNpy(const std::string& path, const Array& array);

// Element `i` as a number.
double ElementAsDouble(const Array& array, int64_t i);

}  // namespace temper::tools
