// Shape inference: one to four nodes of the operators there are, with the operands, ranks, sizes
// and attributes that the bytes choose, then all that follows (front_end.h).
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/infer/infer.h"
#include "compiler/graph/op_list.h"
#include "tests/fuzz/front_end.h"
#include "tests/fuzz/input_bytes.h"

namespace temper::fuzz {
namespace {

constexpr int64_t kHuge = int64_t{1} << 40;
constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 1, 2, 7, 8, 0, 16, 65, 300, 65536, kHuge, INT64_MAX};
constexpr int64_t kInts[] = {0,     1,      2,         3,        4,       5,         7,
                             8,     -1,     -2,        -3,       -4,      16,        64,
                             -9,    127,    300,       1 << 20,  1 << 30, INT32_MAX, INT32_MIN,
                             kHuge, -kHuge, INT64_MAX, INT64_MIN};
constexpr double kReals[] = {0, 1, -1, 0.5, 2, 1e-6, 3, -0.25, 1e30, -1e30, 1e-40, 0.1};

// What operators read; each is tried with each kind of value.
constexpr const char* kNames[] = {"axis",
                                  "axes",
                                  "perm",
                                  "mode",
                                  "alpha",
                                  "beta",
                                  "kernel_shape",
                                  "strides",
                                  "pads",
                                  "dilations",
                                  "group",
                                  "auto_pad",
                                  "keepdims",
                                  "epsilon",
                                  "direction",
                                  "reduction",
                                  "layout",
                                  "blocksize",
                                  "coordinate_transformation_mode",
                                  "transA",
                                  "transB",
                                  "p",
                                  "kv_num_heads",
                                  "q_num_heads",
                                  "fmod",
                                  "ceil_mode",
                                  "block_size",
                                  "equation",
                                  "ngram_indexes",
                                  "ngram_counts",
                                  "time_axis",
                                  "batch_axis",
                                  "start",
                                  "end",
                                  "size",
                                  "sampling_ratio",
                                  "rotary_embedding_dim",
                                  "onesided",
                                  "num_heads",
                                  "num_groups",
                                  "noop_with_empty_axes",
                                  "min_gram_length",
                                  "max_gram_length",
                                  "max_skip_count",
                                  "inverse",
                                  "count_include_pad",
                                  "batch_dims",
                                  "align_corners",
                                  "weights",
                                  "activations",
                                  "activation_alpha",
                                  "activation_beta",
                                  "clip",
                                  "bias",
                                  "to",
                                  "padding_mode",
                                  "output_dtype",
                                  "output_datatype",
                                  "nearest_mode",
                                  "keep_aspect_ratio_policy",
                                  "dtype",
                                  "approximate",
                                  "scalar",
                                  "output_shape",
                                  "output_padding",
                                  "upper",
                                  "storage_order",
                                  "sorted",
                                  "select_last_index",
                                  "saturate",
                                  "reverse",
                                  "exclusive",
                                  "qk_matmul_output_mode",
                                  "periodic",
                                  "output_width",
                                  "output_height",
                                  "linear_before_reset",
                                  "largest",
                                  "k",
                                  "is_causal",
                                  "interleaved",
                                  "input_forget",
                                  "ignore_index",
                                  "hidden_size",
                                  "exclude_outside",
                                  "detect_positive",
                                  "detect_negative",
                                  "center_point_box",
                                  "antialias",
                                  "allowzero",
                                  "spatial_scale",
                                  "softcap",
                                  "scale",
                                  "lambd",
                                  "gamma",
                                  "extrapolation_value",
                                  "cubic_coeff_a",
                                  "value",
                                  "num_outputs",
                                  "pool_int64s"};

constexpr const char* kTexts[] = {"",
                                  "SAME_UPPER",
                                  "SAME_LOWER",
                                  "VALID",
                                  "NOTSET",
                                  "constant",
                                  "reflect",
                                  "edge",
                                  "wrap",
                                  "linear",
                                  "nearest",
                                  "cubic",
                                  "bilinear",
                                  "bicubic",
                                  "half_pixel",
                                  "asymmetric",
                                  "align_corners",
                                  "tf_crop_and_resize",
                                  "pytorch_half_pixel",
                                  "half_pixel_symmetric",
                                  "floor",
                                  "ceil",
                                  "round_prefer_ceil",
                                  "not_larger",
                                  "not_smaller",
                                  "forward",
                                  "reverse",
                                  "bidirectional",
                                  "LEFT",
                                  "RIGHT",
                                  "none",
                                  "add",
                                  "mul",
                                  "max",
                                  "min",
                                  "mean",
                                  "sum",
                                  "avg",
                                  "DCR",
                                  "CRD",
                                  "tanh",
                                  "border",
                                  "zeros",
                                  "reflection",
                                  "TF",
                                  "IDF",
                                  "TFIDF",
                                  "ij,jk->ik",
                                  "...i,...j->...",
                                  "ii->i",
                                  "i,i",
                                  "ab,cd,ef->ace",
                                  "bij,bjk",
                                  "a...->...a",
                                  "ij->",
                                  "float32",
                                  "int64",
                                  "float16",
                                  "bool",
                                  "uint8",
                                  "float8e4m3fn",
                                  "Tanh",
                                  "Affine",
                                  "output_half_pixel"};

graph::Shape TakeShape(InputBytes& in, size_t sizes) {
  graph::Shape shape(in.Below(8) == 7 ? in.Below(14) : in.Below(6));
  for (int64_t& dim : shape) dim = kSizes[in.Below(sizes)];
  return shape;
}

DType TakeDType(InputBytes& in) {
  constexpr DType kUsual[] = {DType::kFloat32, DType::kInt64, DType::kInt32, DType::kBool};
  const size_t which = in.Below(8);
  return which < 4 ? kUsual[which] : static_cast<DType>(in.Below(kDTypeCount));
}

graph::Tensor TakeTensor(InputBytes& in) {
  const DType dtype = TakeDType(in);
  graph::Shape shape = TakeShape(in, 10);
  if (in.Below(2) == 0) shape.resize(std::min<size_t>(shape.size(), 1));
  if (*graph::ElementCount(shape) > 4096) shape = {3};
  std::byte* data = nullptr;
  graph::Tensor tensor = graph::MakeTensor(dtype, shape, &data);
  const int64_t count = tensor.size();
  for (int64_t i = 0; i < count; ++i, data += ByteSize(dtype)) {
    if (IsFloat(dtype)) {
      graph::StoreDouble(dtype, in.Pick(kReals), data);
    } else {
      graph::StoreInt(dtype, dtype == DType::kBool ? in.Below(2) : in.Pick(kInts), data);
    }
  }
  return tensor;
}

graph::Attribute TakeAttribute(InputBytes& in) {
  switch (in.Below(8)) {
    case 0:
      return static_cast<float>(in.Pick(kReals));
    case 1:
    case 2:
      return std::string(in.Pick(kTexts));
    case 3:
      return TakeTensor(in);
    case 4:
    case 5: {
      std::vector<int64_t> ints(in.Below(9));
      for (int64_t& i : ints) i = in.Pick(kInts);
      return ints;
    }
    case 6: {
      std::vector<float> floats(in.Below(5));
      for (float& f : floats) f = static_cast<float>(in.Pick(kReals));
      return floats;
    }
    default:
      return in.Pick(kInts);
  }
}

// The same kind as TakeAttribute's, but strings.
std::vector<std::string> TakeTexts(InputBytes& in) {
  std::vector<std::string> texts(in.Below(4));
  for (std::string& text : texts) text = in.Pick(kTexts);
  return texts;
}

// An operand: one that is there, a new input, or a new constant.
int TakeOperand(InputBytes& in, graph::Graph& graph, const std::vector<int>& known) {
  const size_t which = in.Below(16);
  if (which == 0) return graph::kNone;
  if (which < 6 && !known.empty()) return known[in.Below(known.size())];
  const std::string name = "v" + std::to_string(graph.value_count());
  if (which < 11) {
    graph::Tensor tensor = TakeTensor(in);
    return graph.AddConstant(name, std::move(tensor));
  }
  const DType dtype = TakeDType(in);
  const graph::Shape shape = TakeShape(in, in.Below(8) == 0 ? std::size(kSizes) : 12);
  // The importer refuses such an input.
  if (!graph::ByteCount(dtype, shape)) return graph::kNone;
  return graph.AddInput(name, graph::TensorType(dtype, shape));
}

// False where the importer would have refused the node.
bool AddNode(InputBytes& in, graph::Graph& graph, std::vector<int>& known) {
  const graph::OpInfo& op = graph::OpList()[in.Below(graph::OpList().size())];
  const int most = op.max_inputs < 0 ? op.min_inputs + 4 : op.max_inputs;
  const size_t inputs = op.min_inputs + in.Below(most - op.min_inputs + 1);
  std::vector<int> operands;
  for (size_t i = 0; i < inputs; ++i) operands.push_back(TakeOperand(in, graph, known));
  const int outputs =
      op.max_outputs < 0
          ? 1 + static_cast<int>(in.Below(4))
          : op.min_outputs + static_cast<int>(in.Below(op.max_outputs - op.min_outputs + 1));
  std::vector<std::string> results;
  for (int i = 0; i < outputs; ++i) {
    results.push_back("r" + std::to_string(graph.value_count() + i));
  }
  graph::Attributes attributes;
  for (size_t count = in.Below(7); count > 0; --count) {
    const std::string name = in.Pick(kNames);
    if (name == "activations" || name == "pool_strings") {
      attributes[name] = TakeTexts(in);
    } else {
      attributes[name] = TakeAttribute(in);
    }
  }
  const int id = graph.AddNode(std::string(op.name), operands, results, std::move(attributes),
                               {"n" + std::to_string(graph.node_limit())});
  for (int output : graph.node(id).outputs) {
    if (output != graph::kNone) known.push_back(output);
  }
  return graph::CheckArity(graph.node(id)).ok();
}

}  // namespace
}  // namespace temper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace temper;  // NOLINT: the whole file
  fuzz::InputBytes in(data, size);
  graph::Graph graph;
  std::vector<int> known;
  for (size_t nodes = 1 + in.Below(4); nodes > 0; --nodes) {
    if (!fuzz::AddNode(in, graph, known)) return 0;
    const Status status = graph::InferNode(graph, graph.order().back());
    TEMPER_CHECK(status.code() != Code::kInternal);
    if (!status.ok()) return 0;
  }
  for (int value : known) {
    if (graph.value(value).uses.empty()) graph.AddOutput(value, graph.value(value).name);
  }
  fuzz::RunFrontEnd(graph);
  return 0;
}
