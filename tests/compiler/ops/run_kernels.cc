#include "tests/compiler/ops/run_kernels.h"

#include <cstring>

#include "compiler/lower/lower.h"
#include "compiler/te/canonical.h"
#include "compiler/tir/interpreter.h"

namespace temper::testing {
namespace {

constexpr std::byte kOthers{0x7b};  // what lies beside a part of a value, and in fresh buffers

// Calls f(offset in the buffer with halo, offset in the dense tensor or -1, whether it lies beside
// the last dimension) for each element.
template <typename F>
void ForEach(const te::Tensor& tensor, F&& f) {
  const size_t rank = tensor.shape.size();
  std::vector<int64_t> before = tensor.halo_before, extent = tensor.shape;
  before.resize(rank, 0);
  for (size_t d = 0; d < rank; ++d) {
    extent[d] += before[d] + (tensor.halo_after.empty() ? 0 : tensor.halo_after[d]);
  }
  std::vector<int64_t> at(rank, 0);
  for (int64_t padded = 0;; ++padded) {
    int64_t dense = 0;
    for (size_t d = 0; d < rank && dense >= 0; ++d) {
      const int64_t i = at[d] - before[d];
      dense = i < 0 || i >= tensor.shape[d] ? -1 : dense * tensor.shape[d] + i;
    }
    const bool gap = rank > 0 && (at[rank - 1] < before[rank - 1] ||
                                  at[rank - 1] >= before[rank - 1] + tensor.shape[rank - 1]);
    f(padded, dense, gap);
    size_t d = rank;
    while (d-- > 0) {
      if (++at[d] < extent[d]) break;
      at[d] = 0;
    }
    if (d == static_cast<size_t>(-1)) return;
  }
}

int64_t BufferElements(const te::Tensor& tensor) {
  int64_t count = 0;
  ForEach(tensor, [&](int64_t, int64_t, bool) { ++count; });
  return count;
}

Bytes AddHalo(const te::Tensor& tensor, const Bytes& dense) {
  const int64_t width = ByteSize(tensor.dtype);
  Bytes padded(BufferElements(tensor) * width);
  ForEach(tensor, [&](int64_t to, int64_t from, bool gap) {
    for (int64_t b = 0; gap && b < width; ++b) padded[to * width + b] = kOthers;
    if (from >= 0) std::memcpy(&padded[to * width], &dense[from * width], width);
  });
  return padded;
}

Result<Bytes> RemoveHalo(const te::Tensor& tensor, const Bytes& padded) {
  const int64_t width = ByteSize(tensor.dtype);
  Bytes dense(*graph::ElementCount(tensor.shape) * width);
  bool clean = true;
  ForEach(tensor, [&](int64_t from, int64_t to, bool gap) {
    if (to >= 0) {
      std::memcpy(&dense[to * width], &padded[from * width], width);
    } else {
      const std::byte wanted = gap ? kOthers : std::byte{0};
      for (int64_t b = 0; b < width; ++b) clean = clean && padded[from * width + b] == wanted;
    }
  });
  if (!clean) return Internal("the halo of '" + tensor.name + "' is not as it should be");
  return dense;
}

// A constant reordered as a kernel reads it (lower::Argument).
Bytes Pack(const te::Tensor& tensor, const Bytes& source,
           const std::vector<schedule::PackDim>& dims) {
  const int64_t width = ByteSize(tensor.dtype);
  int64_t count = 1;
  for (const auto& d : dims) count *= d.extent;
  Bytes packed(count * width);
  for (int64_t n = 0; n < count; ++n) {
    std::vector<int64_t> at(tensor.shape.size(), 0);
    int64_t rest = n, flat = 0;
    for (size_t d = dims.size(); d-- > 0; rest /= dims[d].extent) {
      at[dims[d].axis] += rest % dims[d].extent * dims[d].step;
    }
    bool inside = true;
    for (size_t a = 0; a < at.size(); ++a) {
      inside = inside && at[a] < tensor.shape[a];
      flat = flat * tensor.shape[a] + at[a];
    }
    if (inside) std::memcpy(&packed[n * width], &source[flat * width], width);
  }
  return packed;
}

// Copies the part out of its whole, or into it.
void MovePart(const graph::Graph& graph, int value, const partition::Part& part, Bytes& whole,
              Bytes& dense, bool out) {
  const graph::Shape outer = graph.shape(part.of), shape = graph.shape(value);
  int64_t rows = 1, row = ByteSize(*graph.type(value).dtype);
  for (size_t d = 0; d < shape.size(); ++d)
    (static_cast<int>(d) < part.axis ? rows : row) *= shape[d];
  const int64_t pitch = row / shape[part.axis] * outer[part.axis];
  const int64_t begin = row / shape[part.axis] * part.begin;
  for (int64_t r = 0; r < rows; ++r) {
    std::byte* inside = &whole[r * pitch + begin];
    std::byte* alone = &dense[r * row];
    std::memcpy(out ? alone : inside, out ? inside : alone, static_cast<size_t>(row));
  }
}

// The value, put together from its parts or cut out of its whole where no kernel made it.
Result<Bytes> Find(const graph::Graph& graph, const partition::Partition& partition,
                   std::map<int, Bytes>& values, int value) {
  if (auto known = values.find(value); known != values.end()) return known->second;
  const auto& parts = partition.in_place.parts;
  const int64_t bytes =
      *graph::ElementCount(graph.shape(value)) * ByteSize(*graph.type(value).dtype);
  Bytes dense(bytes);
  const int producer = graph.value(value).producer;
  if (producer < 0 || !partition.in_place.nodes.count(producer)) {
    return Internal("'" + graph.value(value).name + "' is read too early");
  }
  if (graph.node(producer).Is("Concat")) {
    for (int x : graph.node(producer).inputs) {
      TEMPER_ASSIGN_OR_RETURN(Bytes part, Find(graph, partition, values, x));
      MovePart(graph, x, parts.at(x), dense, part, false);
    }
  } else {
    TEMPER_ASSIGN_OR_RETURN(Bytes whole, Find(graph, partition, values, parts.at(value).of));
    MovePart(graph, value, parts.at(value), whole, dense, true);
  }
  return values[value] = dense;
}

}  // namespace

Result<std::map<int, Bytes>> RunKernels(const graph::Graph& graph,
                                        const partition::Partition& partition,
                                        const std::map<int, Bytes>& inputs,
                                        const RunOptions& options) {
  std::map<int, Bytes> values = inputs;
  for (const partition::Kernel& kernel : partition.kernels) {
    const te::Program program = te::Canonicalize(kernel.program);
    const schedule::Schedule schedule = options.schedule
                                            ? options.schedule(program)
                                            : lower::ReferenceSchedule(program, options.target);
    TEMPER_ASSIGN_OR_RETURN(const lower::Lowered lowered,
                            lower::LowerToLoops(program, schedule, options.target));
    std::vector<Bytes> buffers;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      const graph::Value& value = graph.value(kernel.input_values[i]);
      const te::Tensor& tensor = program.tensors[program.inputs[i]];
      if (value.IsConstant()) {
        const auto raw = value.constant->raw();
        buffers.emplace_back(raw.begin(), raw.end());
        const auto& pack = lowered.arguments[i].pack;
        if (!pack.empty()) buffers.back() = Pack(tensor, buffers.back(), pack);
      } else {
        TEMPER_ASSIGN_OR_RETURN(const Bytes dense, Find(graph, partition, values, value.id));
        buffers.push_back(AddHalo(tensor, dense));
      }
    }
    for (int tensor : program.outputs) {
      const te::Tensor& t = program.tensors[tensor];
      buffers.emplace_back(BufferElements(t) * ByteSize(t.dtype), kOthers);
    }
    if (lowered.arguments.size() != buffers.size()) return Internal("arguments do not match");
    std::vector<void*> args;
    for (Bytes& buffer : buffers) args.push_back(buffer.data());
    tir::Function function = lowered.function;
    if (options.finish) {
      TEMPER_ASSIGN_OR_RETURN(function, lower::Finish(function, options.target));
    }
    TEMPER_RETURN_IF_ERROR(tir::Interpret(function, args).WithContext("kernel " + program.name));
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      TEMPER_ASSIGN_OR_RETURN(
          values[kernel.output_values[i]],
          RemoveHalo(program.tensors[program.outputs[i]], buffers[program.inputs.size() + i]));
    }
  }
  return values;
}

}  // namespace temper::testing
