// Evaluates a program by its definition, without a schedule: the truth that kernels are checked
// against. Slow, and exact where it says so.
//
// Floats are computed in float64 and not rounded in between (kDouble), or rounded to the type of
// each expression after every operation, reductions included (kNative: what a loop in the order of
// the axes gives, without fused multiply-adds). Integers wrap in their own width. Of a select only
// the chosen side is evaluated, so that the other may index out of bounds. A float that an integer
// cannot hold is saturated by a cast, NaN gives 0.
//
// A tensor's buffer is dense, row-major over its shape and halo. Reading a computed tensor in its
// halo gives 0; an input's halo is read from its buffer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "compiler/te/program.h"

namespace temper::te {

enum class Precision : uint8_t { kDouble, kNative };

struct EvaluateOptions {
  Precision precision = Precision::kDouble;
  int64_t max_steps = int64_t{1} << 34;  // evaluations of a body
};

// Evaluates elements on demand; what it computed on the way is kept for the next element. Not
// thread-safe. Keeps the pointers to the inputs, not the program.
class Evaluator {
 public:
  // inputs: one buffer a program input, in order. INVALID_ARGUMENT for a program that Verify
  // refuses.
  static Result<Evaluator> Make(const Program& program, std::span<const void* const> inputs,
                                const EvaluateOptions& options = {});
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) noexcept;

  // The element of computed tensor `tensor` at logical `index`. Integers come as the double nearest
  // to them. OUT_OF_RANGE for an index outside its tensor, here or in a body.
  Result<double> Element(int tensor, std::span<const int64_t> index);

  // The whole of computed tensor `tensor`, rounded to its type, with zeros in its halo.
  Status Fill(int tensor, void* out);

 private:
  struct State;
  explicit Evaluator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One element. For several of one program make an Evaluator.
Result<double> EvaluateElement(const Program& program, std::span<const void* const> inputs,
                               int tensor, std::span<const int64_t> index,
                               const EvaluateOptions& options = {});

// All outputs: one buffer each, in order, halo included.
Status EvaluateProgram(const Program& program, std::span<const void* const> inputs,
                       std::span<void* const> outputs, const EvaluateOptions& options = {});

}  // namespace temper::te
