// What an inference function sees of its node, and helpers that the families share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

class InferContext {
 public:
  // REQUIRES: all present inputs of the node have static types.
  InferContext(Graph& graph, int node_id);

  const Node& node() const { return graph_.node(node_id_); }
  const Graph& graph() const { return graph_; }
  bool Has(size_t input) const { return node().HasInput(input); }
  // REQUIRES of the three below: Has(input).
  DType dtype(size_t input) const { return *graph_.type(node().inputs[input]).dtype; }
  const Shape& shape(size_t input) const { return shapes_[input]; }
  int64_t rank(size_t input) const { return static_cast<int64_t>(shapes_[input].size()); }

  const Tensor* Constant(size_t input) const { return graph_.ConstantInput(node(), input); }
  // The integers of a constant input; nothing if it is absent or not constant. An error if it is
  // not of an integer type or has more than one dimension.
  Result<std::optional<std::vector<int64_t>>> ConstantInts(size_t input) const;

  // An output's type; an output that nobody asked for is ignored. Fails where the tensor would be
  // larger than any memory.
  Status Set(size_t output, DType dtype, Shape shape);
  // The same, with dimensions that only the run knows (AtMost).
  Status SetBounded(size_t output, DType dtype, std::vector<Dim> dims);

  // An InvalidArgument that names the node.
  Status Error(const std::string& what) const;

  // `axis` made non-negative; an error if it is outside [-rank, rank) (or [-rank, rank] with
  // `allow_end`).
  Result<int64_t> Axis(int64_t axis, int64_t rank, bool allow_end = false) const;
  // The same for a list without repeats, sorted.
  Result<std::vector<int64_t>> Axes(const std::vector<int64_t>& axes, int64_t rank) const;
  // An error unless the input's rank is within [min, max].
  Status CheckRank(size_t input, int64_t min, int64_t max) const;
  Status SameDType(size_t a, size_t b) const;

 private:
  Graph& graph_;
  int node_id_;
  std::vector<Shape> shapes_;
};

// The shape that `a` and `b` broadcast to, as numpy does; nothing if they do not fit.
std::optional<Shape> Broadcast(const Shape& a, const Shape& b);

// One window dimension of a convolution or pool, with all its numbers.
struct Window {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
  int64_t out = 0;
  int64_t extra = 0;  // of a ConvTranspose: its output_padding
};

// The windows of a Conv or pool node over spatial dimensions `in`, with auto_pad and ceil_mode
// resolved; `kernel` from the attribute or the weights. Used by inference and by canonicalize.
Result<std::vector<Window>> ConvWindows(const InferContext& context, const Shape& in,
                                        const std::vector<int64_t>& kernel);
// The same of a ConvTranspose; `out` is the larger, produced dimension.
Result<std::vector<Window>> TransposedWindows(const InferContext& context, const Shape& in,
                                              const std::vector<int64_t>& kernel);

// A Slice along one axis, clamped as ONNX says.
struct SliceRange {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};
SliceRange ClampSlice(int64_t start, int64_t end, int64_t step, int64_t dim);
// One range for each dimension of the node's data input; nothing if the bounds are not constant.
Result<std::optional<std::vector<SliceRange>>> SliceRanges(const InferContext& context);

// An error if a constant second operand has an index outside the dimension of the first that it
// picks from: for `count` > 1, dimensions `axis`, `axis` + 1, ... in turns. Indices that are
// computed are clamped where the model runs; a constant one is the model's fault.
Status CheckConstantIndices(const InferContext& c, int64_t axis, int64_t count);

// The target of a Reshape of `in` to `request` (0 copies unless `allow_zero`, one -1).
Result<Shape> ReshapeTarget(const InferContext& context, const Shape& in,
                            const std::vector<int64_t>& request, bool allow_zero);

// The shape of a product of matrices, as numpy.matmul has it.
Result<Shape> MatMulShape(const InferContext& context, Shape a, Shape b);

// The axes that a Reduce* node reduces; nothing if they are not constant.
Result<std::optional<std::vector<int64_t>>> ReduceAxes(const InferContext& context);

// Sizes of a Split node's outputs along its axis; nothing if they are not constant.
Result<std::optional<std::vector<int64_t>>> SplitSizes(const InferContext& context, int64_t axis);

// The spatial dimensions of an NC... shape.
inline Shape Spatial(const Shape& shape) { return Shape(shape.begin() + 2, shape.end()); }

}  // namespace temper::graph
