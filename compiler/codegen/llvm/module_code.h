// A compiled model's code besides its kernels: a function for each step, which gathers the step's
// arguments, branches and loops among them, and `run` and `run_step` (deploy/runtime/abi.h).
//
// Steps beyond kPartSteps are emitted in parts of so many, each in a module of its own, so that
// LLVM never holds more than one: it takes some 10 KB a step.
#pragma once

#include <cstddef>
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

inline constexpr size_t kPartSteps = 1024;

// How many parts the steps are in, at least 1.
size_t PartCount(const ModuleSpecialization& plan);

struct ModuleCode {
  llvm::Constant* run = nullptr;
  llvm::Constant* run_step = nullptr;
};

// The functions of part `part`'s steps, and what runs them: of a plan of one part its run and
// run_step, else hidden functions that EmitModuleCode calls. `weights` may be null; the names of
// the functions end in `suffix`, which differs between specializations.
Result<ModuleCode> EmitModulePart(llvm::IRBuilderBase& b, llvm::Module& module,
                                  const ModulePlan& plan,
                                  const ModuleSpecialization& specialization,
                                  llvm::GlobalValue* weights, const std::string& suffix,
                                  size_t part);

// Of one specialization: the only part, or what calls the parts, which are elsewhere.
Result<ModuleCode> EmitModuleCode(llvm::IRBuilderBase& b, llvm::Module& module,
                                  const ModulePlan& plan,
                                  const ModuleSpecialization& specialization,
                                  llvm::GlobalValue* weights, const std::string& suffix);

}  // namespace temper::codegen
