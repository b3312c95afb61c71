// LLVM's code generator with the passes that a kernel needs and no more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "compiler/target/target.h"

namespace llvm {
class Module;
class LLVMContext;
}  // namespace llvm

namespace temper::codegen {

struct MachineCode {
  std::string bytes;  // an object, or assembly text
  int64_t inner_spills = 0;
};

// One target's machine. Keep it: making one is costly. Not thread-safe.
class Machine {
 public:
  static Result<std::unique_ptr<Machine>> Make(const Target& target);
  ~Machine();

  // An empty module for it. REQUIRES: `context` outlives it.
  std::unique_ptr<llvm::Module> NewModule(llvm::LLVMContext& context);

  // Verifies, optimizes and translates; the module is used up. INTERNAL when it is malformed.
  // `quick`: in a fraction of the time, for code whose speed does not matter.
  Result<MachineCode> Translate(llvm::Module& module, bool assembly, bool quick = false);

 private:
  struct State;
  explicit Machine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace temper::codegen
