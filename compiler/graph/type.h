// The type of a value: a tensor of dtype and shape, a sequence of something, or an optional.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "compiler/graph/tensor.h"

namespace temper::graph {

// A dimension: an integer, or a symbol ("batch"; empty: unknown and equal to nothing else).
struct Dim {
  int64_t value = -1;  // -1: not an integer
  std::string symbol;
  int64_t bound = -1;  // of one that only the run knows: the largest it may be; -1: none

  Dim() = default;
  Dim(int64_t v) : value(v) {}  // NOLINT: implicit by design
  explicit Dim(std::string s) : symbol(std::move(s)) {}
  bool known() const { return value >= 0; }
  bool operator==(const Dim& other) const = default;
};

enum class TypeKind : uint8_t { kTensor, kSequence, kOptional };

struct ValueType {
  TypeKind kind = TypeKind::kTensor;
  std::optional<DType> dtype;  // of a tensor; empty: not inferred yet
  bool has_rank = false;       // whether `dims` counts
  std::vector<Dim> dims;
  std::shared_ptr<const ValueType> element;  // of a sequence or optional

  // A tensor whose dtype and dimensions are all known.
  bool IsStatic() const;
  // The same, but for dimensions that have a bound.
  bool IsBounded() const;
  // The dimensions as integers. REQUIRES: IsStatic() (or has_rank and all dims known).
  Shape StaticShape() const;
  // With the bounds of dimensions that only the run knows. REQUIRES: IsBounded().
  Shape LargestShape() const;
  // "float32[1,3,N,224]", "float32[?]" of unknown rank, "?" unknown, "sequence(...)".
  std::string ToString() const;
  bool operator==(const ValueType& other) const;
};

ValueType TensorType(DType dtype, const Shape& shape);

// A dimension that only the run knows.
Dim AtMost(int64_t bound);

// "[1,3,224,224]"
std::string ShapeToString(const Shape& shape);

}  // namespace temper::graph
