#include <fmt/format.h>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {
namespace {

// [batch, heads, sequence, size] of one of Q, K and V.
Result<Shape> Heads(const InferContext& c, size_t i, int64_t heads) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(i, 3, 4));
  const Shape& shape = c.shape(i);
  if (shape.size() == 4) return shape;
  if (heads < 1 || shape[2] % heads != 0) {
    return c.Error(
        fmt::format("input {} has the shape {} for {} heads", i, ShapeToString(shape), heads));
  }
  return Shape{shape[0], heads, shape[1], shape[2] / heads};
}

}  // namespace

Status InferAttention(InferContext& c) {
  if (!IsFloat(c.dtype(0))) return c.Error("its inputs must be floating point");
  for (size_t i = 1; i < 3; ++i) TEMPER_RETURN_IF_ERROR(c.SameDType(0, i));
  if (c.rank(1) != c.rank(0) || c.rank(2) != c.rank(0)) {
    return c.Error("Q, K and V differ in their numbers of dimensions");
  }
  if (c.Has(6)) return c.Error("nonpad_kv_seqlen is not supported");
  const Node& node = c.node();
  TEMPER_ASSIGN_OR_RETURN(const Shape q, Heads(c, 0, node.Int("q_num_heads", 0)));
  TEMPER_ASSIGN_OR_RETURN(const Shape k, Heads(c, 1, node.Int("kv_num_heads", 0)));
  TEMPER_ASSIGN_OR_RETURN(const Shape v, Heads(c, 2, node.Int("kv_num_heads", 0)));
  if (q[0] != k[0] || q[0] != v[0] || k[1] != v[1] || k[1] < 1 || q[1] % k[1] != 0 ||
      k[2] != v[2] || q[3] != k[3]) {
    return c.Error(fmt::format("Q {}, K {} and V {} do not fit together", ShapeToString(q),
                               ShapeToString(k), ShapeToString(v)));
  }
  int64_t past = 0;
  if (c.Has(4) != c.Has(5)) return c.Error("past_key and past_value come together");
  if (c.Has(4)) {
    TEMPER_RETURN_IF_ERROR(c.CheckRank(4, 4, 4));
    past = c.shape(4)[2];
    for (size_t i = 4; i < 6; ++i) {
      TEMPER_RETURN_IF_ERROR(c.SameDType(0, i));
      const Shape& now = i == 4 ? k : v;
      if (c.shape(i) != Shape{now[0], now[1], past, now[3]}) {
        return c.Error(fmt::format("input {} has the shape {}", i, ShapeToString(c.shape(i))));
      }
    }
  }
  const Shape scores = {q[0], q[1], q[2], past + k[2]};
  if (c.Has(3)) {
    if (c.dtype(3) != DType::kBool) TEMPER_RETURN_IF_ERROR(c.SameDType(0, 3));
    TEMPER_RETURN_IF_ERROR(c.CheckRank(3, 1, 4));
    Shape mask = c.shape(3);
    if (mask.back() < scores[3]) mask.back() = scores[3];
    if (Broadcast(scores, mask) != scores) {
      return c.Error(fmt::format("the mask {} does not fit scores of {}", ShapeToString(c.shape(3)),
                                 ShapeToString(scores)));
    }
  }
  Shape out = {q[0], q[1], q[2], v[3]};
  if (!ElementCount(out)) {  // before heads and sizes are multiplied
    return c.Error(fmt::format("its result of shape {} is too large", ShapeToString(out)));
  }
  if (c.rank(0) == 3) out = {q[0], q[2], q[1] * v[3]};
  TEMPER_RETURN_IF_ERROR(c.Set(0, c.dtype(0), std::move(out)));
  TEMPER_RETURN_IF_ERROR(c.Set(1, c.dtype(0), {k[0], k[1], scores[3], k[3]}));
  TEMPER_RETURN_IF_ERROR(c.Set(2, c.dtype(0), {v[0], v[1], scores[3], v[3]}));
  return c.Set(3, c.dtype(0), scores);
}

Status InferRotaryEmbedding(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 3, 4));
  for (size_t i = 1; i < 3; ++i) TEMPER_RETURN_IF_ERROR(c.SameDType(0, i));
  const Shape& x = c.shape(0);
  const int64_t heads = c.node().Int("num_heads", 0);
  if (x.size() == 3 && (heads < 1 || x[2] % heads != 0)) {
    return c.Error(fmt::format("{} heads do not fit the shape {}", heads, ShapeToString(x)));
  }
  const int64_t batch = x[0], sequence = x.size() == 3 ? x[1] : x[2];
  const int64_t size = x.size() == 3 ? x[2] / heads : x[3];
  const int64_t stated = c.node().Int("rotary_embedding_dim", 0);
  const int64_t turned = stated == 0 ? size : stated;
  if (turned < 0 || turned > size || turned % 2 != 0) {
    return c.Error(fmt::format("{} of {} elements cannot be turned", turned, size));
  }
  const bool picked = c.Has(3);
  if (picked && (!IsInt(c.dtype(3)) || c.shape(3) != Shape{batch, sequence})) {
    return c.Error(fmt::format("position_ids must be integers of [{},{}]", batch, sequence));
  }
  for (size_t i = 1; i < 3; ++i) {
    const Shape& cache = c.shape(i);
    const bool fits = picked ? cache.size() == 2 && cache[1] == turned / 2
                             : cache == Shape{batch, sequence, turned / 2};
    if (!fits) {
      return c.Error(fmt::format("input {} has the shape {} for {} elements to turn", i,
                                 ShapeToString(cache), turned));
    }
  }
  return InferSame(c);
}

}  // namespace temper::graph
