// Executes any loop nest slowly and exactly: the referee in tests and of reference kernels.
//
// The tree is compiled once into flat code and then run. Integers wrap in their own width; float32
// and float64 are computed in that type, narrower floats in float32 and rounded after every
// operation; nothing is contracted into a fused multiply-add. Loops run in order whatever they are
// bound to, vectors lane by lane. Prefetches do nothing. Workspace, stack and register buffers
// hold bytes of 0xff when they come to life (NaN, -1, true), so that a read before the first write
// shows. A float outside an integer type's range is saturated by a cast, NaN gives 0.
//
// Errors, and nothing else happens: an access outside its buffer and halo (OUT_OF_RANGE, naming
// buffer, dimension and index), a division by zero or a shift out of range, more steps or memory
// than the options allow (RESOURCE_EXHAUSTED), and what Verify refuses.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "compiler/tir/stmt.h"

namespace temper::tir {

struct InterpretOptions {
  int64_t max_steps = int64_t{1} << 40;         // instructions, counted at the end of each loop
  int64_t max_memory_bytes = int64_t{1} << 30;  // workspace, thread buffers and values
};

struct InterpreterCode;

// A function made ready to run any number of times. Not thread-safe; copies nothing of the
// function's buffers.
class Interpreter {
 public:
  static Result<Interpreter> Compile(const Function& function,
                                     const InterpretOptions& options = {});
  ~Interpreter();
  Interpreter(Interpreter&&) noexcept;
  Interpreter& operator=(Interpreter&&) noexcept;

  // args: one pointer a parameter, each to a whole buffer (halo included) of any alignment. The
  // caller keeps them alive, and other threads away from them.
  Status Run(std::span<void* const> args);

 private:
  explicit Interpreter(std::unique_ptr<InterpreterCode> code);
  std::unique_ptr<InterpreterCode> code_;
};

// Compile and run once.
Status Interpret(const Function& function, std::span<void* const> args,
                 const InterpretOptions& options = {});

}  // namespace temper::tir
