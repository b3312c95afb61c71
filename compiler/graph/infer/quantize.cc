#include <fmt/format.h>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {
namespace {

// One number, one for each element of the axis, one for each block of it, or (the form that the
// pass `decompose` makes) one that broadcasts.
Status CheckScale(const InferContext& c, size_t i) {
  const Shape &x = c.shape(0), &by = c.shape(i);
  if (ElementCount(by) == 1) return OkStatus();
  const int64_t block = c.node().Int("block_size", 0);
  TEMPER_ASSIGN_OR_RETURN(const int64_t axis, c.Axis(c.node().Int("axis", 1), c.rank(0)));
  bool fits = false;
  if (block > 0) {
    Shape blocks = x;
    blocks[axis] = x[axis] / block + (x[axis] % block == 0 ? 0 : 1);
    fits = by == blocks;
  } else if (by.size() == 1 && c.node().Has("axis")) {
    fits = by[0] == x[axis];
  } else {
    fits = by == Shape{x[axis]} || (by.size() == x.size() && Broadcast(x, by) == x);
  }
  if (fits) return OkStatus();
  return c.Error(fmt::format("input {} has the shape {} for {} and axis {}", i, ShapeToString(by),
                             ShapeToString(x), axis));
}

Status CheckOneOrMany(const InferContext& c, size_t i, int64_t size) {
  if (!c.Has(i) || ElementCount(c.shape(i)) == 1 || c.shape(i) == Shape{size}) return OkStatus();
  return c.Error(fmt::format("input {} has the shape {}; it needs 1 or {} elements", i,
                             ShapeToString(c.shape(i)), size));
}

// A number, one for each row or column of `of`, or what broadcasts to it. One of one dimension
// belongs to the axis that `from_back` others follow.
Status CheckPerRow(const InferContext& c, size_t i, const Shape& of, size_t from_back) {
  if (!c.Has(i) || ElementCount(c.shape(i)) == 1) return OkStatus();
  Shape by = c.shape(i);
  if (by.size() == 1) by.insert(by.end(), from_back, 1);
  if (by.size() <= of.size() && Broadcast(of, by) == of) return OkStatus();
  return c.Error(fmt::format("input {} has the shape {}, which does not fit {}", i,
                             ShapeToString(c.shape(i)), ShapeToString(of)));
}

Status CheckBytes(const InferContext& c, size_t i) {
  if (IsInt(c.dtype(i)) && ByteSize(c.dtype(i)) == 1) return OkStatus();
  return c.Error(fmt::format("input {} must be int8 or uint8", i));
}

// The zero point has the type of what it belongs to.
Status CheckZero(const InferContext& c, size_t data, size_t zero) {
  return c.Has(zero) ? c.SameDType(data, zero) : OkStatus();
}

Result<Shape> ProductShape(const InferContext& c, size_t a, size_t b) {
  return MatMulShape(c, c.shape(a), c.shape(b));
}

Result<Shape> ConvShape(const InferContext& c, size_t x, size_t w) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(x, 3, 5));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(w, c.rank(x), c.rank(x)));
  const int64_t group = c.node().Int("group", 1);
  const Shape &in = c.shape(x), &weights = c.shape(w);
  if (group < 1 || in[1] % group != 0 || weights[0] % group != 0 || in[1] / group != weights[1]) {
    return c.Error(fmt::format("{} input channels do not fit weights {} with group {}", in[1],
                               ShapeToString(weights), group));
  }
  TEMPER_ASSIGN_OR_RETURN(const auto windows, ConvWindows(c, Spatial(in), Spatial(weights)));
  Shape out = {in[0], weights[0]};
  for (const Window& window : windows) out.push_back(window.out);
  return out;
}

}  // namespace

Status InferQuantizeLinear(InferContext& c) {
  if (!IsFloat(c.dtype(0)) && c.dtype(0) != DType::kInt32) {
    return c.Error("its input must be floating point or int32");
  }
  if (!IsFloat(c.dtype(1))) return c.Error("its scale must be floating point");
  TEMPER_RETURN_IF_ERROR(CheckScale(c, 1));
  DType to = DType::kUInt8;
  const std::string stated = c.node().String("output_dtype", "");
  if (!stated.empty()) {
    const auto dtype = ParseDType(stated);
    if (!dtype) return c.Error(fmt::format("output_dtype '{}' is not supported", stated));
    to = *dtype;
  }
  if (c.Has(2)) {
    TEMPER_RETURN_IF_ERROR(CheckScale(c, 2));
    if (!stated.empty() && to != c.dtype(2)) return c.Error("output_dtype is not its zero point's");
    to = c.dtype(2);
  }
  if (to == DType::kBool) return c.Error("its result cannot be bool");
  return c.Set(0, to, c.shape(0));
}

Status InferDequantizeLinear(InferContext& c) {
  // Four bytes at most, so that the difference of two is exact in int64.
  if (!IsFloat(c.dtype(0)) && (!IsInt(c.dtype(0)) || ByteSize(c.dtype(0)) > 4)) {
    return c.Error("its input must be quantized, to float8 or integers of at most 32 bits");
  }
  if (!IsFloat(c.dtype(1))) return c.Error("its scale must be floating point");
  TEMPER_RETURN_IF_ERROR(CheckScale(c, 1));
  if (c.Has(2)) {
    TEMPER_RETURN_IF_ERROR(c.SameDType(0, 2));
    TEMPER_RETURN_IF_ERROR(CheckScale(c, 2));
  }
  return c.Set(0, c.dtype(1), c.shape(0));
}

Status InferDynamicQuantizeLinear(InferContext& c) {
  if (c.dtype(0) != DType::kFloat32) return c.Error("its input must be float32");
  TEMPER_RETURN_IF_ERROR(c.Set(0, DType::kUInt8, c.shape(0)));
  TEMPER_RETURN_IF_ERROR(c.Set(1, DType::kFloat32, {}));
  return c.Set(2, DType::kUInt8, {});
}

Status InferMatMulInteger(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(CheckBytes(c, 0));
  TEMPER_RETURN_IF_ERROR(CheckBytes(c, 1));
  TEMPER_RETURN_IF_ERROR(CheckZero(c, 0, 2));
  TEMPER_RETURN_IF_ERROR(CheckZero(c, 1, 3));
  TEMPER_RETURN_IF_ERROR(CheckPerRow(c, 2, c.shape(0), 1));
  TEMPER_RETURN_IF_ERROR(CheckPerRow(c, 3, c.shape(1), 0));
  TEMPER_ASSIGN_OR_RETURN(Shape out, ProductShape(c, 0, 1));
  return c.Set(0, DType::kInt32, std::move(out));
}

Status InferQLinearMatMul(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(CheckBytes(c, 0));
  TEMPER_RETURN_IF_ERROR(CheckBytes(c, 3));
  TEMPER_RETURN_IF_ERROR(CheckBytes(c, 7));
  TEMPER_RETURN_IF_ERROR(c.SameDType(0, 2));
  TEMPER_RETURN_IF_ERROR(c.SameDType(3, 5));
  for (size_t i : {1, 2}) TEMPER_RETURN_IF_ERROR(CheckPerRow(c, i, c.shape(0), 1));
  for (size_t i : {4, 5}) TEMPER_RETURN_IF_ERROR(CheckPerRow(c, i, c.shape(3), 0));
  TEMPER_ASSIGN_OR_RETURN(Shape out, ProductShape(c, 0, 3));
  for (size_t i : {6, 7}) TEMPER_RETURN_IF_ERROR(CheckPerRow(c, i, out, 1));
  return c.Set(0, c.dtype(7), std::move(out));
}

Status InferConvInteger(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(CheckBytes(c, 0));
  TEMPER_RETURN_IF_ERROR(CheckBytes(c, 1));
  TEMPER_RETURN_IF_ERROR(CheckZero(c, 0, 2));
  TEMPER_RETURN_IF_ERROR(CheckZero(c, 1, 3));
  TEMPER_ASSIGN_OR_RETURN(Shape out, ConvShape(c, 0, 1));
  TEMPER_RETURN_IF_ERROR(CheckOneOrMany(c, 2, 1));
  TEMPER_RETURN_IF_ERROR(CheckOneOrMany(c, 3, c.shape(1)[0]));
  return c.Set(0, DType::kInt32, std::move(out));
}

Status InferQLinearConv(InferContext& c) {
  for (size_t i : {0, 3, 7}) TEMPER_RETURN_IF_ERROR(CheckBytes(c, i));
  TEMPER_RETURN_IF_ERROR(c.SameDType(0, 2));
  TEMPER_RETURN_IF_ERROR(c.SameDType(3, 5));
  TEMPER_ASSIGN_OR_RETURN(Shape out, ConvShape(c, 0, 3));
  for (size_t i : {1, 2, 6, 7}) TEMPER_RETURN_IF_ERROR(CheckOneOrMany(c, i, 1));
  for (size_t i : {4, 5}) TEMPER_RETURN_IF_ERROR(CheckOneOrMany(c, i, out[1]));
  if (c.Has(8) && (c.dtype(8) != DType::kInt32 || c.shape(8) != Shape{out[1]})) {
    return c.Error(fmt::format("the bias must be {} int32", out[1]));
  }
  return c.Set(0, c.dtype(7), std::move(out));
}

}  // namespace temper::graph
