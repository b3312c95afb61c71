#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {
namespace {

// Bounds a kernel, stride, dilation or pad, so that their products do not overflow.
constexpr int64_t kMaxWindow = int64_t{1} << 30;

// Attribute `name` of `count` integers in [min, kMaxWindow], or `count` times `absent`.
Result<std::vector<int64_t>> WindowAttribute(const InferContext& c, const std::string& name,
                                             size_t count, int64_t absent, int64_t min) {
  std::vector<int64_t> values = c.node().Ints(name);
  if (values.empty()) values.assign(count, absent);
  if (values.size() != count) {
    return c.Error(
        fmt::format("attribute '{}' has {} values; {} are needed", name, values.size(), count));
  }
  for (int64_t value : values) {
    if (value < min || value > kMaxWindow) {
      return c.Error(fmt::format("attribute '{}' is {}", name, ShapeToString(values)));
    }
  }
  return values;
}

Result<std::vector<Window>> WindowAttributes(const InferContext& c,
                                             const std::vector<int64_t>& kernel) {
  const size_t n = kernel.size();
  TEMPER_ASSIGN_OR_RETURN(const auto strides, WindowAttribute(c, "strides", n, 1, 1));
  TEMPER_ASSIGN_OR_RETURN(const auto dilations, WindowAttribute(c, "dilations", n, 1, 1));
  TEMPER_ASSIGN_OR_RETURN(const auto pads, WindowAttribute(c, "pads", 2 * n, 0, 0));
  std::vector<Window> windows(n);
  for (size_t i = 0; i < n; ++i) {
    if (kernel[i] < 1 || kernel[i] > kMaxWindow) {
      return c.Error(fmt::format("the kernel's shape is {}", ShapeToString(kernel)));
    }
    windows[i] = {kernel[i], strides[i], dilations[i], pads[i], pads[n + i]};
  }
  return windows;
}

Status CheckSpatial(const InferContext& c, const Shape& in, const std::vector<int64_t>& kernel) {
  if (in.size() == kernel.size()) return OkStatus();
  return c.Error(fmt::format("the kernel has {} dimensions but the input has {} spatial ones",
                             kernel.size(), in.size()));
}

// Weights [M, C/group, k...] (Conv), the attribute kernel_shape must agree where there is one.
Result<std::vector<int64_t>> KernelOfWeights(const InferContext& c) {
  const Shape kernel = Spatial(c.shape(1));
  const std::vector<int64_t> attribute = c.node().Ints("kernel_shape");
  if (!attribute.empty() && attribute != kernel) {
    return c.Error(fmt::format("kernel_shape is {} but the weights are {}",
                               ShapeToString(attribute), ShapeToString(c.shape(1))));
  }
  return kernel;
}

Status CheckBias(const InferContext& c, int64_t channels) {
  if (!c.Has(2)) return OkStatus();
  TEMPER_RETURN_IF_ERROR(c.SameDType(0, 2));
  if (c.shape(2) == Shape{channels}) return OkStatus();
  return c.Error(
      fmt::format("the bias is {} for {} channels", ShapeToString(c.shape(2)), channels));
}

}  // namespace

Result<std::vector<Window>> ConvWindows(const InferContext& c, const Shape& in,
                                        const std::vector<int64_t>& kernel) {
  TEMPER_RETURN_IF_ERROR(CheckSpatial(c, in, kernel));
  TEMPER_ASSIGN_OR_RETURN(std::vector<Window> windows, WindowAttributes(c, kernel));
  const std::string auto_pad = c.node().String("auto_pad", "NOTSET");
  const bool ceil = c.node().Int("ceil_mode", 0) != 0;
  for (size_t i = 0; i < windows.size(); ++i) {
    Window& w = windows[i];
    const int64_t extent = (w.kernel - 1) * w.dilation + 1;
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      w.out = (in[i] + w.stride - 1) / w.stride;
      const int64_t total = std::max<int64_t>(0, (w.out - 1) * w.stride + extent - in[i]);
      w.pad_begin = auto_pad == "SAME_UPPER" ? total / 2 : (total + 1) / 2;
      w.pad_end = total - w.pad_begin;
      continue;
    }
    if (auto_pad == "VALID") {
      w.pad_begin = w.pad_end = 0;
    } else if (auto_pad != "NOTSET" && !auto_pad.empty()) {
      return c.Error(fmt::format("auto_pad '{}' is unknown", auto_pad));
    }
    const int64_t room = in[i] + w.pad_begin + w.pad_end - extent;
    if (room < 0) {
      return c.Error(fmt::format("the window of {} does not fit in the padded input of {}", extent,
                                 in[i] + w.pad_begin + w.pad_end));
    }
    w.out = room / w.stride + 1;
    if (ceil && room % w.stride != 0) {
      // A further window only where it starts inside the input or its leading padding.
      if (w.out * w.stride < in[i] + w.pad_begin) ++w.out;
    }
  }
  return windows;
}

Result<std::vector<Window>> TransposedWindows(const InferContext& c, const Shape& in,
                                              const std::vector<int64_t>& kernel) {
  TEMPER_RETURN_IF_ERROR(CheckSpatial(c, in, kernel));
  TEMPER_ASSIGN_OR_RETURN(std::vector<Window> windows, WindowAttributes(c, kernel));
  const size_t n = kernel.size();
  TEMPER_ASSIGN_OR_RETURN(const auto extra, WindowAttribute(c, "output_padding", n, 0, 0));
  std::vector<int64_t> wanted = c.node().Ints("output_shape");
  if (wanted.size() == n + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != n) {
    return c.Error(fmt::format("output_shape is {}", ShapeToString(wanted)));
  }
  for (size_t i = 0; i < n; ++i) {
    if (in[i] > kMaxWindow || (!wanted.empty() && (wanted[i] < 1 || wanted[i] > kMaxWindow))) {
      return c.Error("its input or output is too large");
    }
  }
  const std::string auto_pad = c.node().String("auto_pad", "NOTSET");
  for (size_t i = 0; i < n; ++i) {
    Window& w = windows[i];
    if (auto_pad == "VALID") w.pad_begin = w.pad_end = 0;
    w.extra = extra[i];
    const int64_t full = (in[i] - 1) * w.stride + extra[i] + (w.kernel - 1) * w.dilation + 1;
    const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
    if (wanted.empty() && !same) {
      w.out = full - w.pad_begin - w.pad_end;
    } else {
      w.out = wanted.empty() ? in[i] * w.stride : wanted[i];
      // More than the windows reach is output padding; less is cut off.
      const int64_t total = std::max<int64_t>(0, full - w.out);
      w.extra += std::max<int64_t>(0, w.out - full);
      w.pad_begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.pad_end = total - w.pad_begin;
    }
    if (w.out < 1) return c.Error("its output would be empty");
    if (w.extra >= std::max({w.stride, w.dilation, int64_t{2}})) {
      return c.Error(fmt::format("its output padding {} is not below its stride", w.extra));
    }
  }
  return windows;
}

Status InferConv(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 3, 5));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(1, c.rank(0), c.rank(0)));
  TEMPER_RETURN_IF_ERROR(c.SameDType(0, 1));
  const int64_t group = c.node().Int("group", 1);
  const Shape& weights = c.shape(1);
  const int64_t channels = c.shape(0)[1];
  if (group < 1 || channels % group != 0 || weights[0] % group != 0 ||
      channels / group != weights[1]) {
    return c.Error(fmt::format("{} input channels do not fit weights {} with group {}", channels,
                               ShapeToString(weights), group));
  }
  TEMPER_RETURN_IF_ERROR(CheckBias(c, weights[0]));
  TEMPER_ASSIGN_OR_RETURN(const auto kernel, KernelOfWeights(c));
  TEMPER_ASSIGN_OR_RETURN(const auto windows, ConvWindows(c, Spatial(c.shape(0)), kernel));
  Shape out = {c.shape(0)[0], weights[0]};
  for (const Window& w : windows) out.push_back(w.out);
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferConvTranspose(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 3, 5));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(1, c.rank(0), c.rank(0)));
  TEMPER_RETURN_IF_ERROR(c.SameDType(0, 1));
  const int64_t group = c.node().Int("group", 1);
  const Shape& weights = c.shape(1);  // [C, M/group, k...]
  if (group < 1 || c.shape(0)[1] != weights[0] || weights[0] % group != 0) {
    return c.Error(fmt::format("{} input channels do not fit weights {} with group {}",
                               c.shape(0)[1], ShapeToString(weights), group));
  }
  const std::optional<int64_t> channels = ElementCount(Shape{weights[1], group});
  if (!channels) return c.Error("it has too many channels");
  TEMPER_RETURN_IF_ERROR(CheckBias(c, *channels));
  TEMPER_ASSIGN_OR_RETURN(const auto kernel, KernelOfWeights(c));
  TEMPER_ASSIGN_OR_RETURN(const auto windows, TransposedWindows(c, Spatial(c.shape(0)), kernel));
  Shape out = {c.shape(0)[0], *channels};
  for (const Window& w : windows) out.push_back(w.out);
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferPool(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 3, 5));
  TEMPER_ASSIGN_OR_RETURN(const auto windows,
                          ConvWindows(c, Spatial(c.shape(0)), c.node().Ints("kernel_shape")));
  Shape out = {c.shape(0)[0], c.shape(0)[1]};
  for (const Window& w : windows) {
    if (w.pad_begin >= w.kernel * w.dilation || w.pad_end >= w.kernel * w.dilation) {
      return c.Error("its padding is as large as its window");
    }
    out.push_back(w.out);
  }
  if (c.node().Is("MaxPool")) TEMPER_RETURN_IF_ERROR(c.Set(1, DType::kInt64, out));
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferGlobalPool(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 3, 65));
  Shape out = c.shape(0);
  std::fill(out.begin() + 2, out.end(), 1);
  return c.Set(0, c.dtype(0), std::move(out));
}

}  // namespace temper::graph
