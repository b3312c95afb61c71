// The operands that the kernels of one workload are run on: made from a seed, packed for each
// kernel as it asks, with zeros in the halos.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "base/status.h"
#include "worker/runner/candidate.h"
#include "worker/runner/guarded_buffer.h"

namespace temper::runner {

// Copies the dense `source` (row-major over info.shape) into the interior of `buffer`, laid out
// with halos. Elements of `element_bytes`.
void CopyToInterior(const temper_arg_info& info, int element_bytes, const uint8_t* source,
                    uint8_t* buffer);

// The position in the buffer of the element at the row-major position `logical` of info.shape.
int64_t BufferIndex(const temper_arg_info& info, int64_t logical);

// For each element of the buffer whether it is of the halo; empty when there is none.
std::vector<uint8_t> HaloMask(const temper_arg_info& info);

// The inputs and constants. The first kernel decides the shapes; every later one must agree.
class Operands {
 public:
  // `shape_of`: the reference kernel. With `absolute`, every value is replaced by its absolute.
  static Result<Operands> Create(const Candidate& shape_of, uint64_t seed, bool absolute);

  // One pointer an argument of `kernel`, null for outputs; valid until the next call.
  // INVALID_ARGUMENT when the kernel's arguments are not those of the workload.
  Result<std::vector<void*>> For(const Candidate& kernel);

  // Bytes held, packed layouts included.
  int64_t bytes() const;

  // Names an operand that was written outside or inside, which a kernel must not.
  Status CheckUntouched() const;

 private:
  struct Input {
    int32_t dtype = 0;
    int64_t elements = 0;         // of the source
    std::vector<uint8_t> source;  // dense; of constants only, others are made once
    GuardedBuffer buffer;         // of inputs that are not packed
    temper_arg_info info{};       // as the first kernel described it
    uint64_t sum = 0;             // of the buffer
  };
  struct Packed {
    int argument = 0;
    std::string layout;  // the bytes of the description
    GuardedBuffer buffer;
  };

  Result<void*> Pack(int argument, const temper_arg_info& info);

  std::vector<Input> inputs_;
  std::list<Packed> packed_;  // most recently used first
};

}  // namespace temper::runner
