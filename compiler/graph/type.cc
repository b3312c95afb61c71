#include "compiler/graph/type.h"

namespace temper::graph {

bool ValueType::IsStatic() const {
  if (kind != TypeKind::kTensor || !dtype.has_value() || !has_rank) return false;
  for (const Dim& dim : dims) {
    if (!dim.known()) return false;
  }
  return true;
}

Shape ValueType::StaticShape() const {
  TEMPER_CHECK(has_rank);
  Shape shape;
  shape.reserve(dims.size());
  for (const Dim& dim : dims) {
    TEMPER_CHECK(dim.known());
    shape.push_back(dim.value);
  }
  return shape;
}

bool ValueType::IsBounded() const {
  if (kind != TypeKind::kTensor || !dtype.has_value() || !has_rank) return false;
  for (const Dim& dim : dims) {
    if (!dim.known() && dim.bound < 0) return false;
  }
  return true;
}

Shape ValueType::LargestShape() const {
  TEMPER_CHECK(IsBounded());
  Shape shape;
  for (const Dim& dim : dims) shape.push_back(dim.known() ? dim.value : dim.bound);
  return shape;
}

std::string ValueType::ToString() const {
  if (kind != TypeKind::kTensor) {
    const std::string inner = element ? element->ToString() : "?";
    return (kind == TypeKind::kSequence ? "sequence(" : "optional(") + inner + ")";
  }
  std::string text = dtype ? std::string(Name(*dtype)) : "?";
  if (!has_rank) return dtype ? text + "[?]" : text;
  text += '[';
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ',';
    if (dims[i].known()) {
      text += std::to_string(dims[i].value);
    } else if (dims[i].bound >= 0) {
      text += "<=" + std::to_string(dims[i].bound);
    } else {
      text += dims[i].symbol.empty() ? "?" : dims[i].symbol;
    }
  }
  return text + ']';
}

bool ValueType::operator==(const ValueType& other) const {
  if (kind != other.kind || dtype != other.dtype || has_rank != other.has_rank ||
      dims != other.dims) {
    return false;
  }
  if ((element == nullptr) != (other.element == nullptr)) return false;
  return element == nullptr || *element == *other.element;
}

ValueType TensorType(DType dtype, const Shape& shape) {
  ValueType type;
  type.dtype = dtype;
  type.has_rank = true;
  type.dims.assign(shape.begin(), shape.end());
  return type;
}

Dim AtMost(int64_t bound) {
  Dim dim;
  dim.bound = bound;
  return dim;
}

std::string ShapeToString(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(shape[i]);
  }
  return text + ']';
}

}  // namespace temper::graph
