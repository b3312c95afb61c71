// Loads and stores of floating types.
#include "base/narrow_float.h"

#include <cstring>

#include "compiler/graph/tensor.h"

namespace temper::graph {

float LoadFloat(DType dtype, const std::byte* at) {
  switch (ByteSize(dtype)) {
    case 1:
      return static_cast<float>(DecodeNarrow(dtype, static_cast<uint8_t>(*at)));
    case 2: {
      uint16_t bits = 0;
      std::memcpy(&bits, at, 2);
      return static_cast<float>(DecodeNarrow(dtype, bits));
    }
    case 4: {
      float value = 0;
      std::memcpy(&value, at, 4);
      return value;
    }
    default: {
      double value = 0;
      std::memcpy(&value, at, 8);
      return static_cast<float>(value);
    }
  }
}

void StoreFloat(DType dtype, double value, std::byte* at) {
  switch (ByteSize(dtype)) {
    case 1:
      *at = static_cast<std::byte>(EncodeNarrow(dtype, value));
      return;
    case 2: {
      const uint16_t bits = static_cast<uint16_t>(EncodeNarrow(dtype, value));
      std::memcpy(at, &bits, 2);
      return;
    }
    case 4: {
      const float narrow = static_cast<float>(value);
      std::memcpy(at, &narrow, 4);
      return;
    }
    default:
      std::memcpy(at, &value, 8);
  }
}

}  // namespace temper::graph
