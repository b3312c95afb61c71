// A compiled model's code besides its kernels: a function for each step, which gathers the step's
// arguments, branches and loops among them, and `run` and `run_step` (deploy/runtime/abi.h).
#pragma once

#include <string>

#include "base/status.h"
#include "compiler/codegen/module_plan.h"

namespace llvm {
class Constant;
class GlobalValue;
class IRBuilderBase;
class Module;
}  // namespace llvm

namespace temper::codegen {

struct ModuleCode {
  llvm::Constant* run = nullptr;
  llvm::Constant* run_step = nullptr;
};

// Of one specialization. `weights` may be null; the names of the functions end in `suffix`.
Result<ModuleCode> EmitModuleCode(llvm::IRBuilderBase& b, llvm::Module& module,
                                  const ModuleSpecialization& plan, llvm::GlobalValue* weights,
                                  const std::string& suffix);

}  // namespace temper::codegen
