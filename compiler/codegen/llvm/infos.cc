#include "compiler/codegen/llvm/infos.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>

#include "compiler/codegen/elf_weights.h"
#include "compiler/codegen/llvm/module_code.h"
#include "deploy/runtime/abi.h"

namespace temper::codegen {
namespace {

using llvm::Constant;
using llvm::Value;

llvm::GlobalValue* Hidden(llvm::GlobalValue* v) {
  v->setVisibility(llvm::GlobalValue::HiddenVisibility);
  v->setDSOLocal(true);
  return v;
}

// Constants in the layout that a C compiler gives the structs of abi.h.
class Data {
 public:
  Data(llvm::IRBuilderBase& b, llvm::Module& module) : b_(b), module_(module) {}

  Constant* I32(int64_t v) { return b_.getInt32(static_cast<uint32_t>(v)); }
  Constant* I64(int64_t v) { return b_.getInt64(static_cast<uint64_t>(v)); }
  Constant* F64(double v) { return llvm::ConstantFP::get(b_.getDoubleTy(), v); }
  Constant* Null() { return llvm::ConstantPointerNull::get(b_.getPtrTy()); }
  Constant* Text(const std::string& s) {
    auto [it, fresh] = texts_.try_emplace(s, nullptr);
    if (fresh) {
      it->second = Private(llvm::ConstantDataArray::getString(b_.getContext(), s), "text", 1);
    }
    return it->second;
  }
  Constant* Struct(std::initializer_list<Constant*> fields) {
    return llvm::ConstantStruct::getAnon(llvm::ArrayRef(fields.begin(), fields.size()));
  }
  template <typename T>
  Constant* Dims(const std::vector<T>& v) {
    std::vector<T> all(v);
    all.resize(TEMPER_MAX_DIMS);
    return llvm::ConstantDataArray::get(b_.getContext(), all);
  }
  // An array of them, or null for none.
  Constant* F64Array(const std::vector<double>& v) {
    if (v.empty()) return Null();
    return Private(llvm::ConstantDataArray::get(b_.getContext(), v), "numbers", 16);
  }
  Constant* Private(Constant* value, const char* name, int align) {
    auto* g = new llvm::GlobalVariable(module_, value->getType(), true,
                                       llvm::GlobalValue::PrivateLinkage, value, name);
    g->setAlignment(llvm::Align(align));
    return g;
  }
  // A part of an array that spans several objects: the linker puts what they have in a section of
  // this name together, in their order, and these objects have nothing else there. The first part
  // begins the array, and is found by its name.
  void ArrayPart(const std::vector<Constant*>& items, const std::string& name, size_t part) {
    auto* type = llvm::ArrayType::get(items.at(0)->getType(), items.size());
    auto* g = new llvm::GlobalVariable(
        module_, type, true,
        part == 0 ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::PrivateLinkage,
        llvm::ConstantArray::get(type, items), name);
    if (part == 0) Hidden(g);
    g->setAlignment(llvm::Align(8));
    g->setSection(".data.rel.ro." + name);
  }
  Constant* ArrayElsewhere(const std::string& name) {
    return Hidden(new llvm::GlobalVariable(module_, b_.getInt8Ty(), true,
                                           llvm::GlobalValue::ExternalLinkage, nullptr, name));
  }
  // An array of them, or null for none.
  Constant* Array(const std::vector<Constant*>& items, const char* name) {
    if (items.empty()) return Null();
    auto* type = llvm::ArrayType::get(items[0]->getType(), items.size());
    return Private(llvm::ConstantArray::get(type, items), name, 16);
  }
  void Export(Constant* value, const char* name) {
    auto* g = new llvm::GlobalVariable(module_, value->getType(), true,
                                       llvm::GlobalValue::ExternalLinkage, value, name);
    g->setAlignment(llvm::Align(16));
  }

 private:
  llvm::IRBuilderBase& b_;
  llvm::Module& module_;
  std::map<std::string, Constant*> texts_;
};

Status CheckRank(size_t rank, const std::string& what) {
  if (rank <= TEMPER_MAX_DIMS) return OkStatus();
  return Unimplemented(what + " has " + std::to_string(rank) + " dimensions; compiled code holds " +
                       std::to_string(TEMPER_MAX_DIMS));
}

Result<Constant*> PackInfo(Data& data, const te::Tensor& source, const lower::Argument& argument) {
  if (argument.pack.empty()) return data.Null();
  TEMPER_RETURN_IF_ERROR(CheckRank(argument.pack.size(), "the packed form of " + source.name));
  std::vector<int64_t> shape, step;
  std::vector<int32_t> axis;
  const te::ConstantTransform& transform = argument.transform;
  for (const schedule::PackDim& d : argument.pack) {
    shape.push_back(d.extent);
    axis.push_back(d.axis);
    step.push_back(d.step);
  }
  return data.Private(data.Struct({data.I32(ByteSize(source.dtype)), data.I32(source.shape.size()),
                                   data.Dims(source.shape), data.I32(argument.pack.size()),
                                   data.Dims(shape), data.Dims(axis), data.Dims(step),
                                   data.I32(transform.rows), data.F64Array(transform.matrix)}),
                      "pack", 16);
}

Constant* ValueInfo(Data& data, const ModuleValue& v) {
  std::vector<int64_t> shape = v.shape;
  for (size_t d = 0; v.shape_at >= 0 && d < shape.size(); ++d) {
    if (v.open[d]) shape[d] = -1;
  }
  return data.Struct({data.Text(v.name), data.I32(static_cast<int>(v.dtype)),
                      data.I32(v.shape.size()), data.Dims(shape), data.Dims(v.shape)});
}

uint64_t RequiredFeatures(const Target& target) {
  uint64_t bits = 0;
#define TEMPER_FEATURE_BIT(bit, name, text) \
  if (target.Has(text)) bits |= uint64_t{1} << (bit);
  TEMPER_X86_FEATURES(TEMPER_FEATURE_BIT)
#undef TEMPER_FEATURE_BIT
  return bits;
}

// void output_shape(output, arena, shape): copies the extents from where the run left them. Null
// where all are known.
Constant* OutputShape(llvm::IRBuilderBase& b, llvm::Module& module, Data& data,
                      const ModuleSpecialization& plan) {
  const auto open = [](const ModuleValue& v) { return v.shape_at >= 0; };
  if (std::none_of(plan.outputs.begin(), plan.outputs.end(), open)) return data.Null();
  llvm::LLVMContext& c = b.getContext();
  llvm::Type* ptr = b.getPtrTy();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getInt32Ty(), ptr, ptr}, false);
  auto* f =
      llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "output_shape", module);
  f->setDoesNotThrow();
  auto* entry = llvm::BasicBlock::Create(c, "entry", f);
  auto* done = llvm::BasicBlock::Create(c, "done", f);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  b.SetInsertPoint(entry);
  auto* choose = b.CreateSwitch(f->getArg(0), done);
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const ModuleValue& v = plan.outputs[i];
    if (!open(v)) continue;
    auto* block = llvm::BasicBlock::Create(c, "copy", f);
    choose->addCase(b.getInt32(static_cast<uint32_t>(i)), block);
    b.SetInsertPoint(block);
    for (size_t d = 0; d < v.shape.size(); ++d) {
      const auto at = static_cast<int64_t>(8 * d);
      Value* extent = b.CreateAlignedLoad(b.getInt64Ty(),
                                          b.CreatePtrAdd(f->getArg(1), b.getInt64(v.shape_at + at)),
                                          llvm::Align(8));
      b.CreateAlignedStore(extent, b.CreatePtrAdd(f->getArg(2), b.getInt64(at)), llvm::Align(8));
    }
    b.CreateBr(done);
  }
  return f;
}

// What all specializations of a module share while it is written.
struct ModuleEmitter {
  llvm::IRBuilderBase& b;
  Data& data;
  llvm::GlobalValue* weights;  // null where there are none

  Result<Constant*> Values(const std::vector<ModuleValue>& values, const std::string& kind);
  Result<Constant*> Defaults(const ModuleSpecialization& s);
  // Of steps [begin, end).
  std::vector<Constant*> Steps(const ModulePlan& plan, const ModuleSpecialization& s, size_t begin,
                               size_t end);
};

constexpr char kStepInfos[] = "temper_step_infos";

// The parts' infos rely on it: there must be no gap between two.
static_assert(sizeof(temper_step_info) % 8 == 0);

std::string Suffix(size_t specialization) {
  return specialization > 0 ? "_" + std::to_string(specialization) : "";
}

llvm::GlobalValue* Weights(llvm::IRBuilderBase& b, llvm::Module& module, const ModulePlan& plan) {
  if (plan.weight_bytes <= 0) return nullptr;
  return Hidden(new llvm::GlobalVariable(
      module, b.getInt8Ty(), true, llvm::GlobalValue::ExternalLinkage, nullptr, kWeightsSymbol));
}

std::vector<Constant*> ModuleEmitter::Steps(const ModulePlan& plan, const ModuleSpecialization& s,
                                            size_t begin, size_t end) {
  std::vector<Constant*> infos;
  for (size_t i = begin; i < end; ++i) {
    const ModuleStep& step = s.steps[i];
    ModuleKernel none;
    none.source = step.source;
    none.bytes = step.bytes;
    const ModuleKernel& k =
        step.kernel < 0 ? none : plan.kernels.at(static_cast<size_t>(step.kernel));
    infos.push_back(data.Struct({data.Text(step.nodes), data.Text(k.workload), data.Text(k.source),
                                 data.Text(k.schedule), data.F64(k.expected_us), data.F64(k.flops),
                                 data.I64(k.bytes)}));
  }
  return infos;
}

Result<Constant*> ModuleEmitter::Values(const std::vector<ModuleValue>& values,
                                        const std::string& kind) {
  std::vector<Constant*> infos;
  for (const ModuleValue& v : values) {
    TEMPER_RETURN_IF_ERROR(CheckRank(v.shape.size(), kind + " " + v.name));
    infos.push_back(ValueInfo(data, v));
  }
  return data.Array(infos, "values");
}

Result<Constant*> ModuleEmitter::Defaults(const ModuleSpecialization& s) {
  std::vector<Constant*> defaults;
  for (int64_t offset : s.defaults) {
    if (!weights) return Internal("a default lies among the weights of a model that has none");
    defaults.push_back(llvm::ConstantExpr::getInBoundsGetElementPtr(
        b.getInt8Ty(), weights, llvm::ArrayRef<Constant*>{b.getInt64(offset)}));
  }
  return data.Array(defaults, "defaults");
}

}  // namespace

Status EmitCandidateInfo(llvm::IRBuilderBase& b, llvm::Module& module, const KernelSource& kernel) {
  Data data(b, module);
  std::vector<Constant*> args;
  const te::Program& program = *kernel.program;
  for (const lower::Argument& a : kernel.lowered->arguments) {
    const te::Tensor& source = program.tensors.at(a.source);
    TEMPER_RETURN_IF_ERROR(CheckRank(source.shape.size(), "tensor " + source.name));
    TEMPER_ASSIGN_OR_RETURN(Constant * pack, PackInfo(data, source, a));
    std::vector<int64_t> shape = source.shape;  // of what the kernel is handed
    if (!a.pack.empty()) shape.clear();
    for (const schedule::PackDim& d : a.pack) shape.push_back(d.extent);
    int role = a.output ? TEMPER_ARG_OUTPUT : a.constant ? TEMPER_ARG_CONSTANT : TEMPER_ARG_INPUT;
    args.push_back(data.Struct({data.Text(source.name), data.I32(role),
                                data.I32(static_cast<int>(source.dtype)), data.I32(shape.size()),
                                data.Dims(shape), data.Dims(source.halo_before),
                                data.Dims(source.halo_after), pack}));
  }
  data.Export(
      data.Struct({data.I32(TEMPER_ABI_VERSION), data.I32(args.size()), data.Array(args, "args"),
                   data.I64(kernel.finished->workspace_bytes), module.getFunction(kernel.symbol)}),
      TEMPER_CANDIDATE_SYMBOL);
  return OkStatus();
}

Status EmitPartInfo(llvm::IRBuilderBase& b, llvm::Module& module, const ModulePlan& plan,
                    size_t specialization, size_t part) {
  const ModuleSpecialization& s = plan.specializations.at(specialization);
  const std::string suffix = Suffix(specialization);
  Data data(b, module);
  ModuleEmitter emitter{b, data, Weights(b, module, plan)};
  const auto code = EmitModulePart(b, module, plan, s, emitter.weights, suffix, part);
  if (!code.ok()) return code.status();
  const size_t begin = part * kPartSteps, end = std::min(s.steps.size(), begin + kPartSteps);
  data.ArrayPart(emitter.Steps(plan, s, begin, end), kStepInfos + suffix, part);
  return OkStatus();
}

Status EmitModuleInfo(llvm::IRBuilderBase& b, llvm::Module& module, const ModulePlan& plan,
                      const Target& target) {
  Data data(b, module);
  TEMPER_CHECK(!plan.specializations.empty());
  ModuleEmitter emitter{b, data, Weights(b, module, plan)};
  // The oldest version that says it all, so that older runtimes can run the model.
  int version = 1;
  for (const ModuleSpecialization& s : plan.specializations) {
    for (const ModuleStep& step : s.steps) {
      const bool control = step.branch || step.loop;
      version = std::max(version, control ? 4 : step.runtime_op < 0 ? 1 : 2);
    }
    if (plan.specializations.size() > 1 || s.optional_count > 0) version = std::max(version, 3);
  }

  std::vector<Constant*> more;  // all but the first, which comes last
  for (size_t i = plan.specializations.size(); i-- > 0;) {
    const ModuleSpecialization& s = plan.specializations[i];
    const std::string suffix = Suffix(i);
    TEMPER_ASSIGN_OR_RETURN(const ModuleCode code,
                            EmitModuleCode(b, module, plan, s, emitter.weights, suffix));
    int op_limit = 0;
    for (const ModuleStep& step : s.steps) op_limit = std::max(op_limit, step.runtime_op + 1);
    Constant* step_infos =
        PartCount(s) > 1 ? data.ArrayElsewhere(kStepInfos + suffix)
                         : data.Array(emitter.Steps(plan, s, 0, s.steps.size()), "step_infos");
    std::vector<Constant*> failures;
    for (const ModuleFailure& failure : s.failures) {
      failures.push_back(data.Struct(
          {data.Text(failure.before), data.I64(failure.number_at), data.Text(failure.after)}));
    }
    TEMPER_ASSIGN_OR_RETURN(Constant * inputs, emitter.Values(s.inputs, "input"));
    TEMPER_ASSIGN_OR_RETURN(Constant * outputs, emitter.Values(s.outputs, "output"));
    TEMPER_ASSIGN_OR_RETURN(Constant * defaults, emitter.Defaults(s));
    Constant* output_shape = OutputShape(b, module, data, s);
    Constant* info = data.Struct({data.I32(version),
                                  data.I32(plan.threads),
                                  data.Text(TargetText(target)),
                                  data.Text(plan.producer),
                                  data.I32(s.inputs.size()),
                                  data.I32(s.outputs.size()),
                                  inputs,
                                  outputs,
                                  data.I64(s.arena_bytes),
                                  data.I64(plan.weight_bytes),
                                  data.I32(s.steps.size()),
                                  step_infos,
                                  code.run_step,
                                  code.run,
                                  data.I64(static_cast<int64_t>(RequiredFeatures(target))),
                                  output_shape,
                                  data.I32(op_limit),
                                  data.I32(s.optional_count),
                                  data.I32(s.fixed_defaults),
                                  defaults,
                                  data.I32(i == 0 ? more.size() : 0),
                                  i == 0 ? data.Array(more, "more") : data.Null(),
                                  data.I32(failures.size()),
                                  data.Array(failures, "failures")});
    if (i == 0) {
      data.Export(info, TEMPER_MODULE_SYMBOL);
    } else {
      more.insert(more.begin(), data.Private(info, "specialization", 16));
    }
  }
  if (plan.workloads.empty()) return OkStatus();
  std::vector<Constant*> workloads;
  for (const ModuleWorkload& w : plan.workloads) {
    workloads.push_back(data.Struct({data.Text(w.hash), data.Text(w.name), data.Text(w.program)}));
  }
  data.Export(data.Struct({data.I32(workloads.size()), data.Array(workloads, "workload_infos")}),
              TEMPER_WORKLOADS_SYMBOL);
  return OkStatus();
}

}  // namespace temper::codegen
