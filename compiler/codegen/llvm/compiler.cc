#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/llvm/infos.h"
#include "compiler/codegen/llvm/kernel_emitter.h"
#include "compiler/codegen/llvm/machine.h"
#include "compiler/codegen/llvm/module_code.h"

namespace temper::codegen {
namespace {

// Each step of a model is a function that only calls its kernel; of more than so many the usual way
// to machine code takes minutes.
constexpr size_t kManySteps = 8192;

class LlvmCompiler final : public Compiler {
 public:
  LlvmCompiler(const Target& target, std::unique_ptr<Machine> machine)
      : target_(target), traits_(target), machine_(std::move(machine)) {}

  Result<ObjectCode> CompileCandidate(const KernelSource& kernel) override {
    Unit unit(*machine_);
    TEMPER_RETURN_IF_ERROR(EmitKernel(unit, kernel));
    TEMPER_RETURN_IF_ERROR(EmitCandidateInfo(unit.builder, *unit.module, kernel));
    return Finish(unit);
  }

  Result<ObjectCode> CompileKernels(const std::vector<KernelSource>& kernels) override {
    Unit unit(*machine_);
    for (const KernelSource& k : kernels) TEMPER_RETURN_IF_ERROR(EmitKernel(unit, k));
    return Finish(unit);
  }

  Status CompileModule(const ModulePlan& plan,
                       const std::function<Status(ObjectCode)>& take) override {
    size_t steps = 0;
    for (const ModuleSpecialization& one : plan.specializations) steps += one.steps.size();
    const bool quick = steps > kManySteps;
    for (size_t s = 0; s < plan.specializations.size(); ++s) {
      const size_t parts = PartCount(plan.specializations[s]);
      for (size_t part = 0; part < parts && parts > 1; ++part) {
        Unit unit(*machine_);
        TEMPER_RETURN_IF_ERROR(EmitPartInfo(unit.builder, *unit.module, plan, s, part));
        TEMPER_ASSIGN_OR_RETURN(ObjectCode object, Finish(unit, quick));
        TEMPER_RETURN_IF_ERROR(take(std::move(object)));
      }
    }
    Unit unit(*machine_);
    TEMPER_RETURN_IF_ERROR(EmitModuleInfo(unit.builder, *unit.module, plan, target_));
    TEMPER_ASSIGN_OR_RETURN(ObjectCode object, Finish(unit, quick));
    return take(std::move(object));
  }

  Result<std::string> Assembly(const KernelSource& kernel) override {
    Unit unit(*machine_);
    TEMPER_RETURN_IF_ERROR(EmitKernel(unit, kernel));
    TEMPER_ASSIGN_OR_RETURN(MachineCode code, machine_->Translate(*unit.module, true));
    return std::move(code.bytes);
  }

 private:
  struct Unit {
    explicit Unit(Machine& machine) : module(machine.NewModule(context)), builder(context) {}
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module;
    llvm::IRBuilder<> builder;
  };

  Status EmitKernel(Unit& unit, const KernelSource& kernel) {
    KernelEmitter emitter(unit.builder, *unit.module, traits_, *kernel.finished);
    emitter.SetConstants(lower::ConstantBuffers(*kernel.lowered));
    return emitter.Emit(kernel.symbol);
  }

  Result<ObjectCode> Finish(Unit& unit, bool quick = false) {
    TEMPER_ASSIGN_OR_RETURN(MachineCode code, machine_->Translate(*unit.module, false, quick));
    return ObjectCode{{code.bytes.begin(), code.bytes.end()}, code.inner_spills};
  }

  Target target_;
  Traits traits_;
  std::unique_ptr<Machine> machine_;
};

}  // namespace

Result<std::unique_ptr<Compiler>> MakeLlvmCompiler(const Target& target) {
  TEMPER_ASSIGN_OR_RETURN(auto machine, Machine::Make(target));
  return std::unique_ptr<Compiler>(std::make_unique<LlvmCompiler>(target, std::move(machine)));
}

}  // namespace temper::codegen
