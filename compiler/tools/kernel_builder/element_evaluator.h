// Single elements of a program's outputs on seeded inputs, in double precision: what the reference
// kernel of a workload is itself checked with. It reads the tensor expression directly, so it has
// nothing in common with lowering and code generation but the meaning of expressions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "compiler/te/program.h"

namespace temper::tools {

struct EvaluatorOptions {
  uint64_t seed = 0;                     // of the inputs (base/seeded_values.h)
  bool absolute = false;                 // on the inputs' absolute values
  int64_t max_nodes = int64_t{1} << 26;  // expression nodes evaluated, over the object's life
};

// Keeps what it computed of intermediate tensors. Not thread-safe.
class ElementEvaluator {
 public:
  // `program` is borrowed; REQUIRES: it verifies.
  ElementEvaluator(const te::Program& program, const EvaluatorOptions& options);
  ~ElementEvaluator();

  // Element `index` (row-major in the logical shape) of output `output`. RESOURCE_EXHAUSTED when
  // max_nodes is reached; UNIMPLEMENTED for what tensor expressions do not have.
  Result<double> Evaluate(int output, int64_t index);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Up to `count` positions in a tensor of that shape: its corners first, then middles of its edges,
// then others by chance. Distinct, ascending; all of them when there are no more.
std::vector<int64_t> ProbePositions(const std::vector<int64_t>& shape, int count, uint64_t seed);

}  // namespace temper::tools
