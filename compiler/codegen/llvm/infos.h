// The data that a candidate or a compiled model exports (deploy/runtime/abi.h). A model's functions
// are in module_code.h.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "compiler/codegen/codegen.h"
#include "compiler/codegen/module_plan.h"

namespace llvm {
class IRBuilderBase;
class Module;
}  // namespace llvm

namespace temper::codegen {

// Defines `temper_candidate` for a kernel that `module` defines.
Status EmitCandidateInfo(llvm::IRBuilderBase& b, llvm::Module& module, const KernelSource& kernel);

// Defines what one of several parts of a specialization's steps has: their functions and their
// temper_step_infos, which lie behind those of the part before when the parts are linked in order.
Status EmitPartInfo(llvm::IRBuilderBase& b, llvm::Module& module, const ModulePlan& plan,
                    size_t specialization, size_t part);

// Defines `temper_module` and its functions, but for those in parts. Kernels and weights stay
// undefined hidden symbols.
Status EmitModuleInfo(llvm::IRBuilderBase& b, llvm::Module& module, const ModulePlan& plan,
                      const Target& target);

}  // namespace temper::codegen
