#include <algorithm>
#include <cstring>
#include <numeric>

#include "compiler/graph/eval/context.h"

namespace temper::graph {
namespace {

int64_t Axis(const EvalContext& c, int64_t absent) {
  const int64_t axis = c.node.Int("axis", absent);
  return axis < 0 ? axis + static_cast<int64_t>(c.in[0]->shape.size()) : axis;
}

int64_t Product(const Shape& shape, size_t begin, size_t end) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(begin),
                         shape.begin() + static_cast<std::ptrdiff_t>(end), int64_t{1},
                         std::multiplies<>());
}

}  // namespace

Result<bool> EvalReshape(EvalContext& c) {
  c.out[0] = *c.in[0];  // shares the bytes
  c.out[0].shape = c.OutShape();
  return true;
}

Result<bool> EvalTranspose(EvalContext& c) {
  const Tensor& x = *c.in[0];
  const int64_t rank = static_cast<int64_t>(x.shape.size());
  std::vector<int64_t> perm = c.node.Ints("perm");
  if (perm.empty()) {
    for (int64_t i = rank; i-- > 0;) perm.push_back(i);
  }
  const std::vector<int64_t> strides = Strides(x.shape);
  std::vector<int64_t> in_strides;
  for (int64_t axis : perm) in_strides.push_back(strides[axis < 0 ? axis + rank : axis]);
  std::byte* out = c.Make();
  CopyBox(ByteSize(x.dtype), c.OutShape(), x.data, in_strides, out, Strides(c.OutShape()));
  return true;
}

Result<bool> EvalConcat(EvalContext& c) {
  const int64_t axis = Axis(c, 0);
  const int64_t size = ByteSize(c.OutDType());
  const std::vector<int64_t> strides = Strides(c.OutShape());
  std::byte* out = c.Make();
  int64_t offset = 0;
  for (const Tensor* x : c.in) {
    CopyBox(size, x->shape, x->data, Strides(x->shape), out + offset * strides[axis] * size,
            strides);
    offset += x->shape[axis];
  }
  return true;
}

Result<bool> EvalSplit(EvalContext& c) {
  const Tensor& x = *c.in[0];
  const int64_t axis = Axis(c, 0);
  TEMPER_ASSIGN_OR_RETURN(const auto sizes, SplitSizes(c.types, axis));
  const std::vector<int64_t> strides = Strides(x.shape);
  const int64_t size = ByteSize(x.dtype);
  int64_t offset = 0;
  for (size_t i = 0; i < sizes->size(); ++i) {
    if (c.node.Output(i) != kNone) {
      std::byte* out = c.Make(i);
      CopyBox(size, c.OutShape(i), x.data + offset * strides[axis] * size, strides, out,
              Strides(c.OutShape(i)));
    }
    offset += (*sizes)[i];
  }
  return true;
}

Result<bool> EvalSlice(EvalContext& c) {
  const Tensor& x = *c.in[0];
  TEMPER_ASSIGN_OR_RETURN(const auto ranges, SliceRanges(c.types));
  const Shape shape = c.OutShape();
  std::byte* out = c.Make();
  if (ElementCount(shape) == 0) return true;
  std::vector<int64_t> strides = Strides(x.shape);
  int64_t offset = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    offset += (*ranges)[i].start * strides[i];
    // One element: its step is not used, and might overflow.
    strides[i] = (*ranges)[i].count == 1 ? 0 : strides[i] * (*ranges)[i].step;
  }
  CopyBox(ByteSize(x.dtype), shape, x.data + offset * ByteSize(x.dtype), strides, out,
          Strides(shape));
  return true;
}

Result<bool> EvalPad(EvalContext& c) {
  const Tensor& x = *c.in[0];
  if (c.node.String("mode", "constant") != "constant") return false;
  const size_t rank = x.shape.size();
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (c.in.size() > 3 && c.in[3] != nullptr) axes = c.in[3]->AsInts();
  const std::vector<int64_t> pads = c.in[1]->AsInts();
  std::vector<int64_t> begin(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    begin[axes[i] < 0 ? axes[i] + static_cast<int64_t>(rank) : axes[i]] = pads[i];
  }
  const Shape shape = c.OutShape();
  const int64_t size = ByteSize(x.dtype);
  std::byte* out = c.Make();
  if (c.in.size() > 2 && c.in[2] != nullptr) {
    if (c.in[2]->dtype != x.dtype || c.in[2]->size() != 1) return false;
    const int64_t count = c.out[0].size();
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(out + i * size, c.in[2]->data, static_cast<size_t>(size));
    }
  }
  // What is left of the input, and where it goes; negative padding cuts.
  const std::vector<int64_t> in_strides = Strides(x.shape);
  const std::vector<int64_t> out_strides = Strides(shape);
  Shape box(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t first = std::max<int64_t>(0, -begin[i]);
    const int64_t last = std::min(x.shape[i], shape[i] - begin[i]);
    box[i] = std::max<int64_t>(0, last - first);
    if (box[i] == 0) return true;
    out += (first + begin[i]) * out_strides[i] * size;
  }
  const std::byte* in = x.data;
  for (size_t i = 0; i < rank; ++i) in += std::max<int64_t>(0, -begin[i]) * in_strides[i] * size;
  CopyBox(size, box, in, in_strides, out, out_strides);
  return true;
}

Result<bool> EvalExpand(EvalContext& c) {
  const Tensor& x = *c.in[0];
  const Shape shape = c.OutShape();
  std::byte* out = c.Make();
  CopyBox(ByteSize(x.dtype), shape, x.data, BroadcastStrides(x.shape, shape), out, Strides(shape));
  return true;
}

Result<bool> EvalTile(EvalContext& c) {
  const Tensor& x = *c.in[0];
  const std::vector<int64_t> repeats = c.in[1]->AsInts();
  // As a box of twice the rank: [r0, d0, r1, d1, ...], the repeats with stride 0.
  const std::vector<int64_t> in = Strides(x.shape);
  const std::vector<int64_t> out = Strides(c.OutShape());
  Shape box;
  std::vector<int64_t> in_strides;
  std::vector<int64_t> out_strides;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    box.insert(box.end(), {repeats[i], x.shape[i]});
    in_strides.insert(in_strides.end(), {0, in[i]});
    out_strides.insert(out_strides.end(), {out[i] * x.shape[i], out[i]});
  }
  CopyBox(ByteSize(x.dtype), box, x.data, in_strides, c.Make(), out_strides);
  return true;
}

Result<bool> EvalGather(EvalContext& c) {
  const Tensor& x = *c.in[0];
  const Tensor& indices = *c.in[1];
  const size_t axis = static_cast<size_t>(Axis(c, 0));
  const int64_t dim = x.shape[axis];
  const int64_t outer = Product(x.shape, 0, axis);
  const int64_t inner = Product(x.shape, axis + 1, x.shape.size()) * ByteSize(x.dtype);
  std::byte* out = c.Make();
  if (c.out[0].size() == 0) return true;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < indices.size(); ++i, out += inner) {
      int64_t index = indices.IntAt(i);
      if (index < 0) index += dim;
      if (index < 0 || index >= dim) return c.types.Error("an index is out of range");
      std::memcpy(out, x.data + (o * dim + index) * inner, static_cast<size_t>(inner));
    }
  }
  return true;
}

Result<bool> EvalGatherElements(EvalContext& c) {
  const Tensor& x = *c.in[0];
  const Tensor& indices = *c.in[1];
  const size_t axis = static_cast<size_t>(Axis(c, 0));
  const int64_t dim = x.shape[axis];
  const std::vector<int64_t> strides = Strides(x.shape);
  std::vector<int64_t> others = strides;
  others[axis] = 0;  // the index says where along the axis
  const size_t size = static_cast<size_t>(ByteSize(x.dtype));
  std::byte* out = c.Make();
  bool in_range = true;
  ForEachRow(indices.shape, others, Strides(indices.shape),
             [&](int64_t base, int64_t position, int64_t count) {
               for (int64_t i = 0; i < count; ++i) {
                 int64_t index = indices.IntAt(position + i);
                 if (index < 0) index += dim;
                 if (index < 0 || index >= dim) {
                   in_range = false;
                   return;
                 }
                 const int64_t from =
                     base + (others.empty() ? 0 : i * others.back()) + index * strides[axis];
                 std::memcpy(out + (position + i) * static_cast<int64_t>(size),
                             x.data + from * static_cast<int64_t>(size), size);
               }
             });
  if (!in_range) return c.types.Error("an index is out of range");
  return true;
}

}  // namespace temper::graph
