#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {
namespace {

// Bounds of DepthToSpace and SpaceToDepth, so that products of them do not overflow.
constexpr int64_t kMaxBlock = 1 << 10;
constexpr int64_t kMaxDim = int64_t{1} << 40;

}  // namespace

Result<Shape> ReshapeTarget(const InferContext& c, const Shape& in,
                            const std::vector<int64_t>& request, bool allow_zero) {
  const auto failed = [&] {
    return c.Error(
        fmt::format("{} cannot be reshaped to {}", ShapeToString(in), ShapeToString(request)));
  };
  Shape out = request;
  int64_t unknown = -1;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 0 && !allow_zero) {
      if (i >= in.size()) return failed();
      out[i] = in[i];
    } else if (out[i] == -1) {
      if (unknown >= 0) return failed();
      unknown = static_cast<int64_t>(i);
      out[i] = 1;
    }
  }
  const std::optional<int64_t> have = ElementCount(in);
  const std::optional<int64_t> rest = ElementCount(out);
  if (!have || !rest) return failed();
  if (unknown >= 0) {
    if (*rest == 0 || *have % *rest != 0) return failed();
    out[static_cast<size_t>(unknown)] = *have / *rest;
  } else if (*have != *rest) {
    return failed();
  }
  return out;
}

Status InferReshape(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(const auto request, c.ConstantInts(1));
  if (!request) return OkStatus();
  TEMPER_ASSIGN_OR_RETURN(
      Shape out, ReshapeTarget(c, c.shape(0), *request, c.node().Int("allowzero", 0) != 0));
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferFlatten(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(const int64_t axis,
                          // The axis may be the rank, but -1 still means the last dimension.
                          c.node().Int("axis", 1) == c.rank(0)
                              ? Result<int64_t>(c.rank(0))
                              : c.Axis(c.node().Int("axis", 1), c.rank(0)));
  Shape out = {1, 1};
  for (int64_t i = 0; i < c.rank(0); ++i) out[i < axis ? 0 : 1] *= c.shape(0)[i];
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferSqueeze(InferContext& c) {
  std::vector<int64_t> axes;
  if (c.Has(1)) {
    TEMPER_ASSIGN_OR_RETURN(const auto values, c.ConstantInts(1));
    if (!values) return OkStatus();
    TEMPER_ASSIGN_OR_RETURN(axes, c.Axes(*values, c.rank(0)));
  } else {
    for (int64_t i = 0; i < c.rank(0); ++i) {
      if (c.shape(0)[i] == 1) axes.push_back(i);
    }
  }
  Shape out;
  for (int64_t i = 0; i < c.rank(0); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      out.push_back(c.shape(0)[i]);
    } else if (c.shape(0)[i] != 1) {
      return c.Error(fmt::format("dimension {} of {} is not 1", i, ShapeToString(c.shape(0))));
    }
  }
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferUnsqueeze(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(const auto values, c.ConstantInts(1));
  if (!values) return OkStatus();
  const int64_t rank = c.rank(0) + static_cast<int64_t>(values->size());
  TEMPER_ASSIGN_OR_RETURN(const auto axes, c.Axes(*values, rank));
  Shape out;
  for (int64_t i = 0, from = 0; i < rank; ++i) {
    out.push_back(std::binary_search(axes.begin(), axes.end(), i) ? 1 : c.shape(0)[from++]);
  }
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferTranspose(InferContext& c) {
  std::vector<int64_t> perm = c.node().Ints("perm");
  if (perm.empty()) {
    for (int64_t i = c.rank(0); i-- > 0;) perm.push_back(i);
  }
  if (static_cast<int64_t>(perm.size()) != c.rank(0)) {
    return c.Error(
        fmt::format("perm is {} for the shape {}", ShapeToString(perm), ShapeToString(c.shape(0))));
  }
  TEMPER_RETURN_IF_ERROR(c.Axes(perm, c.rank(0)).status());
  Shape out;
  for (int64_t axis : perm) out.push_back(c.shape(0)[axis < 0 ? axis + c.rank(0) : axis]);
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferDepthToSpace(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 4, 4));
  const int64_t block = c.node().Int("blocksize", 0);
  const Shape& in = c.shape(0);
  if (block < 1 || block > kMaxBlock || in[1] % (block * block) != 0 ||
      std::max(in[2], in[3]) > kMaxDim) {
    return c.Error(fmt::format("blocksize {} does not fit the shape {}", block, ShapeToString(in)));
  }
  return c.Set(0, c.dtype(0), {in[0], in[1] / (block * block), in[2] * block, in[3] * block});
}

Status InferSpaceToDepth(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 4, 4));
  const int64_t block = c.node().Int("blocksize", 0);
  const Shape& in = c.shape(0);
  if (block < 1 || block > kMaxBlock || in[2] % block != 0 || in[3] % block != 0 ||
      in[1] > kMaxDim) {
    return c.Error(fmt::format("blocksize {} does not fit the shape {}", block, ShapeToString(in)));
  }
  return c.Set(0, c.dtype(0), {in[0], in[1] * block * block, in[2] / block, in[3] / block});
}

}  // namespace temper::graph
