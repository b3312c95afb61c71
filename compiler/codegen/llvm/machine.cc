#include "compiler/codegen/llvm/machine.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/CodeGen/CodeGenTargetMachineImpl.h>
#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineLoopInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/PseudoSourceValue.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

#include <map>
#include <mutex>

#include "compiler/codegen/llvm/single_lane.h"
#include "compiler/target/known_targets.h"

namespace temper::codegen {
namespace {

// Of a loop's instructions, one in so many may access a spill slot: what moves many vectors once,
// such as a Winograd transform, loses little by it, a tile that does not fit the registers loses
// most.
constexpr int64_t kInstructionsPerSpill = 5;

// Of a spill slot: an address or counter has eight bytes, a mask a bit a lane; a lone float has
// four.
bool IsScalar(uint64_t bytes) { return bytes == 8 || bytes < 4; }

// Counts what innermost loops load from and store to spill slots of vector registers, after
// everything is final. Loops with few of them for their length do not count.
class SpillCounter : public llvm::MachineFunctionPass {
 public:
  static char id;
  explicit SpillCounter(int64_t* count) : MachineFunctionPass(id), count_(count) {}

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.addRequired<llvm::MachineLoopInfoWrapperPass>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction& f) override {
    auto& loops = getAnalysis<llvm::MachineLoopInfoWrapperPass>().getLI();
    const llvm::MachineFrameInfo& frame = f.getFrameInfo();
    struct Share {
      int64_t spills = 0, instructions = 0;
    };
    std::map<const llvm::MachineLoop*, Share> shares;
    for (const llvm::MachineBasicBlock& block : f) {
      const llvm::MachineLoop* loop = loops.getLoopFor(&block);
      if (!loop || !loop->isInnermost()) continue;
      Share& share = shares[loop];
      for (const llvm::MachineInstr& instruction : block) {
        ++share.instructions;
        for (const llvm::MachineMemOperand* m : instruction.memoperands()) {
          // Addresses, counters and masks that are spilled cost a load; tiles that are cost the
          // kernel.
          if (!m->getSize().hasValue() || IsScalar(m->getSize().getValue())) continue;
          auto* slot =
              llvm::dyn_cast_or_null<llvm::FixedStackPseudoSourceValue>(m->getPseudoValue());
          if (slot && frame.isSpillSlotObjectIndex(slot->getFrameIndex())) ++share.spills;
        }
      }
    }
    for (const auto& [loop, share] : shares) {
      if (share.spills * kInstructionsPerSpill >= share.instructions) *count_ += share.spills;
    }
    return false;
  }

 private:
  int64_t* count_;
};
char SpillCounter::id = 0;

// Loop strength reduction takes most of the time on unrolled kernels and makes them slower; the
// emitter has placed addresses already. lld resets LLVM's options, so this is said every time.
void SetOptions() {
  auto& options = llvm::cl::getRegisteredOptions();
  auto it = options.find("disable-lsr");
  if (it != options.end()) static_cast<llvm::cl::opt<bool>*>(it->second)->setValue(true);
  // The scheduler's memory dependences grow with the square of a block; past so many it gives up
  // precision. Unrolled transforms (Winograd) then compile more than twice as fast, to code of the
  // same size.
  it = options.find("dag-maps-huge-region");
  if (it != options.end()) static_cast<llvm::cl::opt<unsigned>*>(it->second)->setValue(100);
}

std::string FeatureString(const Target& target) {
  std::string s;
  // What the processor's name implies but the target lacks is switched off.
  for (const std::string& f : X86Features()) {
    if (!s.empty()) s += ',';
    s += (target.Has(f) ? "+" : "-") + f;
  }
  return s;
}

}  // namespace

struct Machine::State {
  std::unique_ptr<llvm::TargetMachine> machine;
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  llvm::FunctionPassManager passes;
};

Machine::Machine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Machine::~Machine() = default;

Result<std::unique_ptr<Machine>> Machine::Make(const Target& target) {
  // LLVM's registry is filled without a lock, and machines are made on several threads.
  static std::once_flag registered;
  std::call_once(registered, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target* t = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!t) return Internal("LLVM: " + error);
  auto state = std::make_unique<State>();
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  state->machine.reset(t->createTargetMachine(triple, target.cpu, FeatureString(target), options,
                                              llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                              llvm::CodeGenOptLevel::Default));
  if (!state->machine) return Internal("LLVM has no machine for " + target.cpu);
  if (!state->machine->getMCSubtargetInfo()->isCPUStringValid(target.cpu)) {
    return InvalidArgument("LLVM knows no processor '" + target.cpu + "'");
  }
  llvm::PassBuilder builder(state->machine.get());
  builder.registerModuleAnalyses(state->mam);
  builder.registerCGSCCAnalyses(state->cgam);
  builder.registerFunctionAnalyses(state->fam);
  builder.registerLoopAnalyses(state->lam);
  builder.crossRegisterProxies(state->lam, state->fam, state->cgam, state->mam);
  state->passes.addPass(llvm::PromotePass());
  state->passes.addPass(llvm::EarlyCSEPass());
  // Tails with code of their own (lower/tail.h) leave sums that nothing reads.
  state->passes.addPass(llvm::ADCEPass());
  return std::unique_ptr<Machine>(new Machine(std::move(state)));
}

std::unique_ptr<llvm::Module> Machine::NewModule(llvm::LLVMContext& context) {
  auto module = std::make_unique<llvm::Module>("temper", context);
  module->setTargetTriple(state_->machine->getTargetTriple());
  module->setDataLayout(state_->machine->createDataLayout());
  module->setPICLevel(llvm::PICLevel::SmallPIC);
  return module;
}

Result<MachineCode> Machine::Translate(llvm::Module& module, bool assembly, bool quick) {
  std::string message;
  llvm::raw_string_ostream errors(message);
  if (llvm::verifyModule(module, &errors)) return Internal("malformed code: " + errors.str());
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    state_->passes.run(f, state_->fam);
    StoreSingleLanes(f);
  }
  state_->fam.clear();

  SetOptions();
  MachineCode code;
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream out(buffer);
  llvm::legacy::PassManager passes;
  auto& machine = static_cast<llvm::CodeGenTargetMachineImpl&>(*state_->machine);
  machine.setOptLevel(quick ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default);
  auto* info = new llvm::MachineModuleInfoWrapperPass(&machine);  // owned by `passes`
  llvm::TargetPassConfig* config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  passes.add(config);
  passes.add(info);
  if (config->addISelPasses()) return Internal("LLVM cannot select instructions");
  config->addMachinePasses();
  config->setInitialized();
  passes.add(new SpillCounter(&code.inner_spills));
  auto type = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if (machine.addAsmPrinter(passes, out, nullptr, type, info->getMMI().getContext())) {
    return Internal("LLVM cannot write this kind of file");
  }
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  code.bytes.assign(buffer.begin(), buffer.end());
  return code;
}

}  // namespace temper::codegen
