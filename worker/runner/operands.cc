#include "worker/runner/operands.h"

#include <cstring>

#include "base/dtype.h"
#include "base/seeded_values.h"
#include "deploy/runtime/pack.h"

namespace temper::runner {
namespace {

constexpr size_t kMaxPacked = 8;  // layouts kept of all constants of a workload

// Fast, and only to notice accidents.
uint64_t Sum(const uint8_t* data, int64_t bytes) {
  uint64_t sum = 0, word = 0;
  int64_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    std::memcpy(&word, data + i, 8);
    sum = (sum << 7 | sum >> 57) + word;
  }
  for (; i < bytes; ++i) sum = sum * 257 + data[i];
  return sum;
}

// Calls f(logical offset, buffer offset, run length) for each run along the last dimension.
template <typename F>
void ForEachRow(const temper_arg_info& info, F&& f) {
  if (info.rank == 0) return f(0, 0, 1);
  int64_t stride[TEMPER_MAX_DIMS];
  int64_t total = 1;
  for (int d = info.rank - 1; d >= 0; --d) {
    stride[d] = total;
    total *= info.shape[d] + info.halo_before[d] + info.halo_after[d];
  }
  for (int d = 0; d < info.rank; ++d) {
    if (info.shape[d] == 0) return;
  }
  int64_t at[TEMPER_MAX_DIMS] = {};
  int64_t run = info.shape[info.rank - 1];
  int64_t logical = 0;
  while (true) {
    int64_t offset = 0;
    for (int d = 0; d < info.rank; ++d) offset += (at[d] + info.halo_before[d]) * stride[d];
    f(logical, offset, run);
    logical += run;
    int d = info.rank - 2;
    for (; d >= 0; --d) {
      if (++at[d] < info.shape[d]) break;
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

bool SameArgument(const temper_arg_info& a, const temper_arg_info& b) {
  if (a.role != b.role || a.dtype != b.dtype || a.rank != b.rank) return false;
  for (int d = 0; d < a.rank; ++d) {
    if (a.shape[d] != b.shape[d] || a.halo_before[d] != b.halo_before[d] ||
        a.halo_after[d] != b.halo_after[d]) {
      return false;
    }
  }
  return true;
}

std::string LayoutBytes(const temper_arg_info& info) {
  if (info.pack == nullptr) return "";
  const temper_pack& p = *info.pack;
  std::string bytes;
  auto add = [&](const void* data, size_t size) {
    bytes.append(static_cast<const char*>(data), size);
  };
  add(&p.src_rank, sizeof(p.src_rank));
  add(p.src_shape, sizeof(int64_t) * static_cast<size_t>(p.src_rank));
  add(&p.dst_rank, sizeof(p.dst_rank));
  add(p.dst_shape, sizeof(int64_t) * static_cast<size_t>(p.dst_rank));
  add(p.axis, sizeof(int32_t) * static_cast<size_t>(p.dst_rank));
  add(p.step, sizeof(int64_t) * static_cast<size_t>(p.dst_rank));
  add(&p.transform_rows, sizeof(p.transform_rows));
  if (p.transform_rows > 0) {
    add(p.transform, sizeof(double) * 3 * static_cast<size_t>(p.transform_rows));
  }
  return bytes;
}

}  // namespace

void CopyToInterior(const temper_arg_info& info, int element_bytes, const uint8_t* source,
                    uint8_t* buffer) {
  ForEachRow(info, [&](int64_t logical, int64_t offset, int64_t run) {
    std::memcpy(buffer + offset * element_bytes, source + logical * element_bytes,
                static_cast<size_t>(run * element_bytes));
  });
}

int64_t BufferIndex(const temper_arg_info& info, int64_t logical) {
  int64_t offset = 0, stride = 1;
  for (int d = info.rank - 1; d >= 0; --d) {
    int64_t position = logical % info.shape[d];
    logical /= info.shape[d];
    offset += (position + info.halo_before[d]) * stride;
    stride *= info.shape[d] + info.halo_before[d] + info.halo_after[d];
  }
  return offset;
}

std::vector<uint8_t> HaloMask(const temper_arg_info& info) {
  bool any = false;
  int64_t total = 1;
  for (int d = 0; d < info.rank; ++d) {
    any = any || info.halo_before[d] != 0 || info.halo_after[d] != 0;
    total *= info.shape[d] + info.halo_before[d] + info.halo_after[d];
  }
  if (!any) return {};
  std::vector<uint8_t> mask(static_cast<size_t>(total), 1);
  ForEachRow(info, [&](int64_t, int64_t offset, int64_t run) {
    std::memset(mask.data() + offset, 0, static_cast<size_t>(run));
  });
  return mask;
}

Result<Operands> Operands::Create(const Candidate& shape_of, uint64_t seed, bool absolute) {
  Operands operands;
  const temper_candidate_info& kernel = shape_of.info();
  for (int i = 0; i < kernel.arg_count; ++i) {
    const temper_arg_info& info = kernel.args[i];
    const ArgLayout& layout = shape_of.layouts()[static_cast<size_t>(i)];
    Input input;
    input.info = info;
    input.dtype = info.dtype;
    input.elements = layout.source_elements;
    auto dtype = static_cast<DType>(info.dtype);
    if (info.role != TEMPER_ARG_OUTPUT) {
      int size = ByteSize(dtype);
      input.source.resize(static_cast<size_t>(layout.source_elements * size));
      if (!FillSeeded(dtype, seed, i, layout.source_elements, absolute, input.source.data())) {
        return Unimplemented("inputs of type " + std::string(Name(dtype)) +
                             " cannot be made for measuring");
      }
      if (info.role == TEMPER_ARG_INPUT) {
        TEMPER_ASSIGN_OR_RETURN(input.buffer, GuardedBuffer::Allocate(layout.bytes));
        CopyToInterior(info, size, input.source.data(), input.buffer.data());
        input.sum = Sum(input.buffer.data(), input.buffer.bytes());
        input.source = {};
      }
    }
    operands.inputs_.push_back(std::move(input));
  }
  return operands;
}

Result<void*> Operands::Pack(int argument, const temper_arg_info& info) {
  std::string layout = LayoutBytes(info);
  for (auto it = packed_.begin(); it != packed_.end(); ++it) {
    if (it->argument != argument || it->layout != layout) continue;
    packed_.splice(packed_.begin(), packed_, it);
    return packed_.front().buffer.data();
  }
  const Input& input = inputs_[static_cast<size_t>(argument)];
  TEMPER_ASSIGN_OR_RETURN(ArgLayout sizes, LayoutOf(info));
  Packed packed;
  packed.argument = argument;
  packed.layout = std::move(layout);
  TEMPER_ASSIGN_OR_RETURN(packed.buffer, GuardedBuffer::Allocate(sizes.bytes, Pages::kSmall));
  if (info.pack == nullptr) {
    CopyToInterior(info, ByteSize(static_cast<DType>(info.dtype)), input.source.data(),
                   packed.buffer.data());
  } else if (temper_pack_run(info.pack, input.source.data(), packed.buffer.data()) != 0) {
    return InvalidArgument("a packed constant of the kernel has no proper description");
  }
  packed_.push_front(std::move(packed));
  void* data = packed_.front().buffer.data();
  return data;
}

Result<std::vector<void*>> Operands::For(const Candidate& kernel) {
  const temper_candidate_info& info = kernel.info();
  if (static_cast<size_t>(info.arg_count) != inputs_.size()) {
    return InvalidArgument("the kernel has another number of arguments than its reference");
  }
  // Constants of earlier kernels go before this one's are made, never while it uses them.
  while (packed_.size() > kMaxPacked) packed_.pop_back();
  std::vector<void*> pointers;
  for (int i = 0; i < info.arg_count; ++i) {
    const temper_arg_info& arg = info.args[i];
    const Input& input = inputs_[static_cast<size_t>(i)];
    bool same = arg.role == TEMPER_ARG_CONSTANT
                    ? input.info.role == arg.role && input.dtype == arg.dtype &&
                          input.elements == kernel.layouts()[static_cast<size_t>(i)].source_elements
                    : SameArgument(arg, input.info);
    if (!same) {
      return InvalidArgument("argument " + std::to_string(i) +
                             " of the kernel differs from its reference's");
    }
    void* pointer = nullptr;
    if (arg.role == TEMPER_ARG_INPUT) pointer = input.buffer.data();
    if (arg.role == TEMPER_ARG_CONSTANT) {
      TEMPER_ASSIGN_OR_RETURN(pointer, Pack(i, arg));
    }
    pointers.push_back(pointer);
  }
  return pointers;
}

int64_t Operands::bytes() const {
  int64_t sum = 0;
  for (const Input& input : inputs_) {
    sum += static_cast<int64_t>(input.source.size()) + input.buffer.bytes();
  }
  for (const Packed& packed : packed_) sum += packed.buffer.bytes();
  return sum;
}

Status Operands::CheckUntouched() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    if (input.info.role != TEMPER_ARG_INPUT) continue;
    if (!input.buffer.Intact() || Sum(input.buffer.data(), input.buffer.bytes()) != input.sum) {
      return DataLoss("the kernel wrote to its input " + std::to_string(i));
    }
  }
  for (const Packed& packed : packed_) {
    if (!packed.buffer.Intact()) {
      return DataLoss("the kernel wrote beside its constant " + std::to_string(packed.argument));
    }
  }
  return OkStatus();
}

}  // namespace temper::runner
