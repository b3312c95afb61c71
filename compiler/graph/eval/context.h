// What an evaluation function sees, and helpers that the families share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/infer/context.h"

namespace temper::graph {

struct EvalContext {
  const Node& node;
  const InferContext& types;         // resolved attributes and constant operands
  std::vector<const Tensor*> in;     // null where absent (and for Shape, Size and EyeLike)
  std::vector<ValueType> out_types;  // static for each output that is wanted
  std::vector<Tensor> out;           // to be filled

  Shape OutShape(size_t i = 0) const { return out_types[i].StaticShape(); }
  DType OutDType(size_t i = 0) const { return *out_types[i].dtype; }
  // Makes out[i] and returns its bytes.
  std::byte* Make(size_t i = 0) {
    std::byte* data = nullptr;
    out[i] = MakeTensor(OutDType(i), OutShape(i), &data);
    return data;
  }
};

// False: this node cannot be evaluated (a form of the operator that is not covered).
using EvalFunction = Result<bool> (*)(EvalContext&);

// Row-major strides, in elements.
std::vector<int64_t> Strides(const Shape& shape);
// Strides of `from` as seen through broadcasting to `to`: 0 where a dimension is repeated.
std::vector<int64_t> BroadcastStrides(const Shape& from, const Shape& to);

// Calls row(in_offset, out_offset, count) for each innermost row of `shape`, with offsets in
// elements that advance by the strides.
template <typename F>
void ForEachRow(const Shape& shape, const std::vector<int64_t>& in_strides,
                const std::vector<int64_t>& out_strides, F row) {
  for (int64_t dim : shape) {
    if (dim == 0) return;
  }
  if (shape.empty()) return row(int64_t{0}, int64_t{0}, int64_t{1});
  std::vector<int64_t> index(shape.size(), 0);
  int64_t in = 0;
  int64_t out = 0;
  while (true) {
    row(in, out, shape.back());
    int64_t axis = static_cast<int64_t>(shape.size()) - 2;
    for (; axis >= 0; --axis) {
      in += in_strides[axis];
      out += out_strides[axis];
      if (++index[axis] < shape[axis]) break;
      in -= in_strides[axis] * shape[axis];
      out -= out_strides[axis] * shape[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

// Copies a box of elements of `size` bytes between two strided arrays.
void CopyBox(int64_t size, const Shape& shape, const std::byte* in,
             const std::vector<int64_t>& in_strides, std::byte* out,
             const std::vector<int64_t>& out_strides);

// elementwise.cc
Result<bool> EvalUnary(EvalContext& c);
Result<bool> EvalBinary(EvalContext& c);
Result<bool> EvalVariadic(EvalContext& c);  // Sum, Max, Min, Mean
Result<bool> EvalCast(EvalContext& c);
Result<bool> EvalWhere(EvalContext& c);
Result<bool> EvalClip(EvalContext& c);

// movement.cc
Result<bool> EvalReshape(EvalContext& c);  // all that keep the bytes
Result<bool> EvalTranspose(EvalContext& c);
Result<bool> EvalConcat(EvalContext& c);
Result<bool> EvalSplit(EvalContext& c);
Result<bool> EvalSlice(EvalContext& c);
Result<bool> EvalPad(EvalContext& c);
Result<bool> EvalExpand(EvalContext& c);
Result<bool> EvalTile(EvalContext& c);
Result<bool> EvalGather(EvalContext& c);
Result<bool> EvalGatherElements(EvalContext& c);

// shape_values.cc
Result<bool> EvalShape(EvalContext& c);
Result<bool> EvalSize(EvalContext& c);
Result<bool> EvalConstant(EvalContext& c);
Result<bool> EvalConstantOfShape(EvalContext& c);
Result<bool> EvalRange(EvalContext& c);
Result<bool> EvalEyeLike(EvalContext& c);  // like Shape, of the type of its operand only

// signal.cc
Result<bool> EvalWindow(EvalContext& c);
Result<bool> EvalMelWeightMatrix(EvalContext& c);

// selection.cc
Result<bool> EvalNonZero(EvalContext& c);
Result<bool> EvalCompress(EvalContext& c);

// quantize.cc
Result<bool> EvalDequantizeLinear(EvalContext& c);

// reduce.cc
Result<bool> EvalReduce(EvalContext& c);

// For operators that are never evaluated.
inline Result<bool> EvalNone(EvalContext&) { return false; }

}  // namespace temper::graph
