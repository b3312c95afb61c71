// Attention and rotary embeddings in terms of matrix products and Softmax.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "compiler/graph/compose/functions.h"

namespace temper::graph {
namespace {

// [batch, sequence, heads * size] as [batch, heads, sequence, size]; four dimensions stay.
int SplitHeads(Composer& c, int x, int64_t heads) {
  const Shape shape = c.shape(x);
  if (!c.ok() || shape.size() == 4) return x;
  const int split = c.Reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
  return c.Transpose(split, {0, 2, 1, 3});
}

// What a score is added: 0 or minus infinity for a bool mask. Shorter masks exclude the rest.
int MaskBias(Composer& c, int mask, DType type, int64_t keys) {
  const double none = -std::numeric_limits<double>::infinity();
  if (c.ok() && c.dtype(mask) == DType::kBool) {
    mask = c.Where(mask, c.Number(type, 0), c.Number(type, none));
  }
  if (!c.ok()) return kNone;
  Shape rest = c.shape(mask);
  const int64_t missing = keys - rest.back();
  if (missing <= 0) return mask;
  rest.back() = missing;
  return c.Concat({mask, c.Expand(c.Number(type, none), rest)},
                  static_cast<int64_t>(rest.size()) - 1);
}

// Query i sees the keys up to i + `past`. A comparison rather than a constant, which would be as
// large as the scores.
int CausalBias(Composer& c, DType type, int64_t queries, int64_t keys, int64_t past) {
  if (std::max(queries, keys) > (int64_t{1} << 24)) {
    c.Refuse("its causal mask is too large");
    return kNone;
  }
  std::vector<int64_t> last(static_cast<size_t>(queries)), key(static_cast<size_t>(keys));
  std::iota(last.begin(), last.end(), past);
  std::iota(key.begin(), key.end(), 0);
  const int seen = c.Op("LessOrEqual", {c.Ints(key), c.IntsOfShape({queries, 1}, last)});
  return c.Where(seen, c.Number(type, 0), c.Number(type, -std::numeric_limits<double>::infinity()));
}

}  // namespace

void ComposeAttention(Composer& c) {
  const Node& node = c.node();
  const bool merged = c.rank(c.In(0)) == 3;
  const int64_t query_heads = merged ? node.Int("q_num_heads", 1) : c.shape(c.In(0))[1];
  const int64_t heads = merged ? node.Int("kv_num_heads", 1) : c.shape(c.In(1))[1];
  const int q = SplitHeads(c, c.In(0), query_heads);
  int k = SplitHeads(c, c.In(1), heads), v = SplitHeads(c, c.In(2), heads);
  if (!c.ok()) return;
  int64_t past = 0;
  if (c.Has(4)) {
    past = c.shape(c.In(4))[2];
    k = c.Concat({c.In(4), k}, 2);
    v = c.Concat({c.In(5), v}, 2);
    if (!c.ok()) return;
  }
  if (c.Wants(1)) c.Replace(1, c.Has(4) ? k : c.Op("Identity", {k}));
  if (c.Wants(2)) c.Replace(2, c.Has(4) ? v : c.Op("Identity", {v}));
  const DType type = c.dtype(q);
  const Shape shape = c.shape(q);
  const int64_t batch = shape[0], queries = shape[2], size = shape[3], keys = c.shape(k)[2];
  const int64_t repeat = query_heads / heads;
  const float stated = node.Float("scale", 0);
  const double scale = stated != 0 ? stated : 1 / std::sqrt(static_cast<double>(size));
  // Query heads that share a key head are rows of one product.
  const int rows =
      c.Reshape(c.Mul(q, c.Number(type, scale)), {batch, heads, repeat * queries, size});
  int scores = c.MatMul(rows, c.Transpose(k, {0, 1, 3, 2}));
  scores = c.Reshape(scores, {batch, query_heads, queries, keys});
  const int64_t mode = node.Int("qk_matmul_output_mode", 0);
  const float cap = node.Float("softcap", 0);
  if (c.Wants(3) && (mode == 1 || (mode == 2 && cap != 0))) {
    return c.Refuse(fmt::format("its output {} of the scores is not supported", mode));
  }
  const int raw = scores;
  if (cap != 0) {
    scores = c.Op("Tanh", {c.Div(scores, c.Number(type, cap))});
    scores = c.Mul(scores, c.Number(type, cap));
  }
  if (node.Int("is_causal", 0) != 0) {
    scores = c.Add(scores, CausalBias(c, type, queries, keys, past));
  }
  if (c.Has(3)) scores = c.Add(scores, MaskBias(c, c.In(3), type, keys));
  const int biased = scores;
  int weights = c.Op("Softmax", {scores}, {{"axis", int64_t{3}}});
  if (c.Has(3)) {
    // A query that may look at no key gets zeros.
    const int top = c.Reduce("ReduceMax", biased, {3});
    const int nothing =
        c.Op("Equal", {top, c.Number(type, -std::numeric_limits<double>::infinity())});
    weights = c.Where(nothing, c.Number(type, 0), weights);
  }
  if (c.Wants(3)) {
    c.Replace(3, mode == 3 ? weights : mode == 2 ? biased : raw);
  }
  int y = c.MatMul(c.Reshape(weights, {batch, heads, repeat * queries, keys}), v);
  if (!c.ok()) return;
  const int64_t width = c.shape(v)[3];
  y = c.Reshape(y, {batch, query_heads, queries, width});
  if (merged) y = c.Reshape(c.Transpose(y, {0, 2, 1, 3}), {batch, queries, query_heads * width});
  c.Replace(0, y);
}

// The first `rotary_embedding_dim` elements of each head are turned, pairwise.
void ComposeRotaryEmbedding(Composer& c) {
  const Node& node = c.node();
  const Shape shape = c.shape(c.In(0));
  const bool merged = shape.size() == 3;
  const int64_t heads = merged ? node.Int("num_heads", 1) : shape[1];
  int x = c.In(0);
  if (merged) x = c.Reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
  if (!c.ok()) return;
  const int64_t size = c.shape(x)[3];
  const int64_t stated = node.Int("rotary_embedding_dim", 0);
  const int64_t turned = stated == 0 ? size : stated;
  const bool interleaved = node.Int("interleaved", 0) != 0;
  int cosine = c.In(1), sine = c.In(2);
  if (c.Has(3)) {
    cosine = c.Gather(cosine, c.In(3), 0);
    sine = c.Gather(sine, c.In(3), 0);
  }
  const std::vector<int64_t> head_axis = {merged ? 2 : 1};
  cosine = c.Unsqueeze(cosine, head_axis);
  sine = c.Unsqueeze(sine, head_axis);
  const int64_t half = turned / 2;
  const int a = interleaved ? c.Slice(x, 3, 0, turned, 2) : c.Slice(x, 3, 0, half);
  const int b = interleaved ? c.Slice(x, 3, 1, turned, 2) : c.Slice(x, 3, half, turned);
  int real = c.Sub(c.Mul(cosine, a), c.Mul(sine, b));
  int imaginary = c.Add(c.Mul(sine, a), c.Mul(cosine, b));
  int y = kNone;
  if (interleaved) {
    real = c.Unsqueeze(real, {4});
    imaginary = c.Unsqueeze(imaginary, {4});
    const int pairs = c.Concat({real, imaginary}, 4);
    if (!c.ok()) return;
    Shape flat = c.shape(x);
    flat[3] = turned;
    y = c.Reshape(pairs, flat);
  } else {
    y = c.Concat({real, imaginary}, 3);
  }
  if (turned < size) y = c.Concat({y, c.Slice(x, 3, turned, size)}, 3);
  c.Replace(0, c.Reshape(y, shape));
}

}  // namespace temper::graph
