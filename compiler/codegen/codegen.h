// From finished loop nests to machine code. LLVM is behind this header; callers see none of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/codegen/module_plan.h"
#include "compiler/lower/lower.h"
#include "compiler/target/target.h"
#include "compiler/te/program.h"

namespace temper::codegen {

// One kernel: a function that lower::Finish returned, with what its arguments are.
struct KernelSource {
  std::string symbol;
  const te::Program* program = nullptr;     // without steps
  const lower::Lowered* lowered = nullptr;  // arguments
  const tir::Function* finished = nullptr;  // body
};

struct ObjectCode {
  std::vector<uint8_t> elf;  // a relocatable object
  // Accesses of spilled vectors in innermost loops that consist of them to a fifth.
  int64_t inner_spills = 0;
};

// A compiler for one target; keep it, making one is costly. Not thread-safe; several may exist.
class Compiler {
 public:
  virtual ~Compiler() = default;

  // A candidate: the kernel and `temper_candidate` (deploy/runtime/abi.h).
  virtual Result<ObjectCode> CompileCandidate(const KernelSource& kernel) = 0;

  // Kernels alone, with hidden symbols.
  virtual Result<ObjectCode> CompileKernels(const std::vector<KernelSource>& kernels) = 0;

  // A compiled model's `temper_module` and the functions that call its kernels, in one object or,
  // of many steps, in several, each of which `take` gets as soon as it is made. The kernels come
  // from CompileKernels, the weights from WriteWeightsObject; LinkShared joins them, these objects
  // in this order.
  virtual Status CompileModule(const ModulePlan& plan,
                               const std::function<Status(ObjectCode)>& take) = 0;

  // The assembly of one kernel, for people.
  virtual Result<std::string> Assembly(const KernelSource& kernel) = 0;
};

Result<std::unique_ptr<Compiler>> MakeLlvmCompiler(const Target& target);

// Links objects (paths of real files) into a shared object at `output`. In process, with lld: not
// thread-safe, and not while a Compiler works. An object that calls the C library's mathematics
// makes the result need libm.so.6.
Status LinkShared(const std::vector<std::string>& objects, const std::string& output);

}  // namespace temper::codegen
