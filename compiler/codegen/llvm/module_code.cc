#include "compiler/codegen/llvm/module_code.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

#include "deploy/runtime/abi.h"

namespace temper::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Value;

llvm::GlobalValue* Hidden(llvm::GlobalValue* v) {
  v->setVisibility(llvm::GlobalValue::HiddenVisibility);
  v->setDSOLocal(true);
  return v;
}

// Functions of the type int(context, inputs, outputs, arena).
class CodeEmitter {
 public:
  CodeEmitter(llvm::IRBuilderBase& b, llvm::Module& module, const ModulePlan& model,
              const ModuleSpecialization& plan, llvm::GlobalValue* weights,
              const std::string& suffix)
      : b_(b),
        module_(module),
        model_(model),
        plan_(plan),
        suffix_(suffix),
        ptr_(b.getPtrTy()),
        weights_(weights),
        parts_(PartCount(plan)) {
    step_type_ = llvm::FunctionType::get(b.getInt32Ty(), {ptr_, ptr_, ptr_, ptr_}, false);
    kernel_type_ = llvm::FunctionType::get(b.getInt32Ty(), {ptr_, ptr_, ptr_}, false);
    choose_type_ =
        llvm::FunctionType::get(b.getInt32Ty(), {ptr_, b.getInt32Ty(), ptr_, ptr_, ptr_}, false);
  }

  Result<ModuleCode> EmitPart(size_t part) {
    const size_t count = plan_.steps.size();
    const size_t begin = part * kPartSteps, end = std::min(count, begin + kPartSteps);
    std::vector<bool> inside(end);  // whether another step runs it
    for (size_t i = 0; i < end; ++i) {
      const auto nested = static_cast<size_t>(plan_.steps[i].nested);
      if (nested >= count - i) return Internal("a step runs others that do not exist");
      for (size_t k = i + 1; k < std::min(end, i + 1 + nested); ++k) inside[k] = true;
    }
    llvm::Function* idle = nullptr;
    std::vector<llvm::Function*> entries;
    for (size_t i = begin; i < end; ++i) {
      const ModuleStep& step = plan_.steps[i];
      Begin(Step(i));
      if (step.branch) {
        TEMPER_RETURN_IF_ERROR(EmitIf(i, *step.branch));
      } else if (step.loop) {
        TEMPER_RETURN_IF_ERROR(EmitLoop(i, *step.loop));
      } else {
        TEMPER_RETURN_IF_ERROR(EmitCall(step));
      }
      if (inside[i] && idle == nullptr) {
        idle = Function(step_type_, "idle", /*shared=*/false);
        Begin(idle);
        b_.CreateRet(b_.getInt32(static_cast<uint32_t>(TEMPER_STEP_INSIDE)));
      }
      entries.push_back(inside[i] ? idle : Step(i));
    }
    ModuleCode code;
    llvm::Function* run = Function(step_type_, PartName("run", part), parts_ > 1);
    Begin(run);
    for (size_t i = begin; i < end; ++i) {
      if (!inside[i]) EmitCallOf(Step(i));
    }
    b_.CreateRet(b_.getInt32(0));
    code.run = run;
    code.run_step = EmitRunStep(PartName("run_step", part), parts_ > 1, step_type_, entries, 1);
    return code;
  }

  // What calls the parts.
  ModuleCode EmitJoin() {
    std::vector<llvm::Function*> choosers;
    llvm::Function* run = Function(step_type_, "run", /*shared=*/false);
    Begin(run);
    for (size_t part = 0; part < parts_; ++part) {
      EmitCallOf(Function(step_type_, PartName("run", part), /*shared=*/true));
      choosers.push_back(Function(choose_type_, PartName("run_step", part), /*shared=*/true));
    }
    b_.CreateRet(b_.getInt32(0));
    ModuleCode code;
    code.run = run;
    code.run_step = EmitRunStep("run_step", /*shared=*/false, choose_type_, choosers, kPartSteps);
    return code;
  }

 private:
  // The function of that name, which other modules of this link may define if it is shared.
  llvm::Function* Function(llvm::FunctionType* type, const std::string& name, bool shared) {
    const std::string full = (shared ? "temper_" : "") + name + suffix_;
    if (llvm::Function* known = module_.getFunction(full)) return known;
    auto* f = llvm::Function::Create(
        type, shared ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage,
        full, module_);
    if (shared) Hidden(f);
    f->setDoesNotThrow();
    return f;
  }
  std::string PartName(const char* name, size_t part) const {
    return parts_ > 1 ? name + std::to_string(part) + "_part" : name;
  }
  // Of a branch's or loop's steps some may be in the next part.
  llvm::Function* Step(size_t i) {
    return Function(step_type_, "step" + std::to_string(i), parts_ > 1);
  }
  void Begin(llvm::Function* f) {
    f_ = f;
    b_.SetInsertPoint(NewBlock("entry"));
  }
  BasicBlock* NewBlock(const char* name) { return BasicBlock::Create(b_.getContext(), name, f_); }

  Value* Arena(int64_t offset) { return b_.CreatePtrAdd(f_->getArg(3), b_.getInt64(offset)); }
  Value* LoadPointer(Value* at) { return b_.CreateAlignedLoad(ptr_, at, llvm::Align(8)); }
  Value* LoadInt64(Value* at) { return b_.CreateAlignedLoad(b_.getInt64Ty(), at, llvm::Align(8)); }
  void Store(Value* value, Value* at) { b_.CreateAlignedStore(value, at, llvm::Align(8)); }
  // The address of an argument.
  Result<Value*> Address(const ModuleArg& a) {
    Value* base = nullptr;
    switch (a.place) {
      case Place::kArena:
        return Arena(a.offset + a.within);
      case Place::kWeights:
        if (!weights_) return Internal("a kernel reads weights of a model that has none");
        return b_.CreatePtrAdd(weights_, b_.getInt64(a.offset + a.within));
      case Place::kInput:
      case Place::kOutput:
        base = LoadPointer(b_.CreatePtrAdd(f_->getArg(a.place == Place::kInput ? 1 : 2),
                                           b_.getInt64(8 * a.offset)));
        break;
      case Place::kPointer:
        base = LoadPointer(Arena(a.offset));
        break;
    }
    if (base == nullptr) return Internal("an argument is nowhere");
    return a.within == 0 ? base : b_.CreatePtrAdd(base, b_.getInt64(a.within));
  }

  // Calls a function of the same arguments, and returns what it does unless that is 0.
  void EmitCallOf(llvm::Function* f) {
    Value* code = b_.CreateCall(f, {f_->getArg(0), f_->getArg(1), f_->getArg(2), f_->getArg(3)});
    ReturnUnless(b_.CreateIsNull(code), code);
  }
  // Steps [begin, end), but for those that others run, until one fails: then the function ends.
  void EmitSteps(size_t begin, size_t end) {
    for (size_t i = begin; i < end; i += 1 + static_cast<size_t>(plan_.steps[i].nested)) {
      EmitAtStep(i, 0);
      Value* code =
          b_.CreateCall(Step(i), {f_->getArg(0), f_->getArg(1), f_->getArg(2), f_->getArg(3)});
      EmitAtStep(i, 1);
      ReturnUnless(b_.CreateIsNull(code), code);
    }
  }
  // Calls the context's at_step if there is one.
  void EmitAtStep(size_t step, uint32_t end) {
    auto* type =
        llvm::FunctionType::get(b_.getVoidTy(), {ptr_, b_.getInt32Ty(), b_.getInt32Ty()}, false);
    Value* function =
        LoadPointer(b_.CreatePtrAdd(f_->getArg(0), b_.getInt64(offsetof(temper_context, at_step))));
    BasicBlock *call = NewBlock("at_step"), *next = NewBlock("next");
    b_.CreateCondBr(b_.CreateIsNull(function), next, call);
    b_.SetInsertPoint(call);
    b_.CreateCall(type, function,
                  {f_->getArg(0), b_.getInt32(static_cast<uint32_t>(step)), b_.getInt32(end)});
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
  }
  Value* FailureCode(int failure) {
    return b_.getInt32(static_cast<uint32_t>(TEMPER_FIRST_FAILURE + failure));
  }
  void ReturnUnless(Value* fine, Value* code) {
    BasicBlock *failed = NewBlock("failed"), *next = NewBlock("next");
    b_.CreateCondBr(fine, next, failed);
    b_.SetInsertPoint(failed);
    b_.CreateRet(code);
    b_.SetInsertPoint(next);
  }

  Status EmitCall(const ModuleStep& step) {
    auto* args = b_.CreateAlloca(llvm::ArrayType::get(ptr_, std::max<size_t>(step.args.size(), 1)));
    for (size_t i = 0; i < step.args.size(); ++i) {
      TEMPER_ASSIGN_OR_RETURN(Value * value, Address(step.args[i]));
      Store(value, b_.CreatePtrAdd(args, b_.getInt64(8 * static_cast<int64_t>(i))));
    }
    Value* kernel = nullptr;
    if (step.runtime_op >= 0) {
      Value* table =
          LoadPointer(b_.CreatePtrAdd(f_->getArg(0), b_.getInt64(offsetof(temper_context, ops))));
      kernel = LoadPointer(b_.CreatePtrAdd(table, b_.getInt64(8 * int64_t{step.runtime_op})));
    } else {
      if (step.kernel < 0) return Internal("a step has nothing to run");
      const std::string& symbol = model_.kernels.at(static_cast<size_t>(step.kernel)).symbol;
      kernel = Hidden(llvm::cast<llvm::Function>(
          module_.getOrInsertFunction(symbol, kernel_type_).getCallee()));
    }
    b_.CreateRet(
        b_.CreateCall(kernel_type_, kernel, {f_->getArg(0), args, Arena(step.workspace_offset)}));
    return OkStatus();
  }

  // Whether the bool there is true.
  Result<Value*> Holds(const ModuleArg& condition) {
    TEMPER_ASSIGN_OR_RETURN(Value * at, Address(condition));
    return b_.CreateIsNotNull(b_.CreateAlignedLoad(b_.getInt8Ty(), at, llvm::Align(1)));
  }

  // `trips` may be null where no extent asks for them.
  void EmitExtents(const std::vector<ModuleExtents>& list, Value* trips) {
    for (const ModuleExtents& e : list) {
      for (size_t d = 0; d < e.extents.size(); ++d) {
        const bool open = e.extents[d] < 0 && trips != nullptr;
        Store(open ? trips : b_.getInt64(static_cast<uint64_t>(e.extents[d])),
              Arena(e.at + 8 * static_cast<int64_t>(d)));
      }
    }
  }

  Status EmitIf(size_t index, const ModuleIf& branch) {
    const ModuleStep& step = plan_.steps[index];
    if (branch.then_steps > step.nested) return Internal("a branch runs steps behind it");
    TEMPER_ASSIGN_OR_RETURN(Value * holds, Holds(branch.condition));
    BasicBlock *yes = NewBlock("then"), *no = NewBlock("else");
    b_.CreateCondBr(holds, yes, no);
    const size_t first = index + 1, middle = first + static_cast<size_t>(branch.then_steps);
    b_.SetInsertPoint(yes);
    EmitExtents(branch.then_extents, nullptr);
    EmitSteps(first, middle);
    b_.CreateRet(branch.then_failure < 0 ? b_.getInt32(0) : FailureCode(branch.then_failure));
    b_.SetInsertPoint(no);
    EmitExtents(branch.else_extents, nullptr);
    EmitSteps(middle, first + static_cast<size_t>(step.nested));
    b_.CreateRet(branch.else_failure < 0 ? b_.getInt32(0) : FailureCode(branch.else_failure));
    return OkStatus();
  }

  Status EmitLoop(size_t index, const ModuleLoop& loop) {
    const size_t end = index + 1 + static_cast<size_t>(plan_.steps[index].nested);
    BasicBlock *head = NewBlock("head"), *body = NewBlock("body"), *done = NewBlock("done");
    // Before the first trip.
    Value* counter = Arena(loop.counter);
    Store(b_.getInt64(0), counter);
    for (const ModuleLoop::Carried& c : loop.carried) {
      TEMPER_ASSIGN_OR_RETURN(Value * initial, Address(c.initial));
      TEMPER_ASSIGN_OR_RETURN(Value * buffer, Address(c.buffers[0]));
      Store(initial, Arena(c.in));
      Store(buffer, Arena(c.out));
    }
    for (const ModuleLoop::Row& row : loop.rows) {
      TEMPER_ASSIGN_OR_RETURN(Value * base, Address(row.base));
      Store(base, Arena(row.pointer));
    }
    Value* limit = b_.getInt64(static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
    if (loop.trips) {
      TEMPER_ASSIGN_OR_RETURN(Value * at, Address(*loop.trips));
      // The operand may be where the caller has it, aligned to nothing.
      limit = b_.CreateAlignedLoad(b_.getInt64Ty(), at, llvm::Align(1));
    }
    if (loop.condition) {
      TEMPER_ASSIGN_OR_RETURN(Value * holds, Holds(*loop.condition));
      b_.CreateCondBr(holds, head, done);
    } else {
      b_.CreateBr(head);
    }
    b_.SetInsertPoint(head);
    Value* trip = LoadInt64(counter);
    b_.CreateCondBr(b_.CreateICmpSLT(trip, limit), body, done);
    // A trip.
    b_.SetInsertPoint(body);
    if (loop.max_trips >= 0) {
      if (loop.failure < 0) return Internal("a loop of so many trips at most fails in no way");
      BasicBlock *more = NewBlock("more"), *next = NewBlock("next");
      b_.CreateCondBr(b_.CreateICmpSLT(trip, b_.getInt64(static_cast<uint64_t>(loop.max_trips))),
                      next, more);
      b_.SetInsertPoint(more);
      if (loop.wanted >= 0) Store(limit, Arena(loop.wanted));
      b_.CreateRet(FailureCode(loop.failure));
      b_.SetInsertPoint(next);
    }
    EmitSteps(index + 1, end);
    Value* even = b_.CreateIsNull(b_.CreateAnd(trip, b_.getInt64(1)));
    for (const ModuleLoop::Carried& c : loop.carried) {
      TEMPER_ASSIGN_OR_RETURN(Value * first, Address(c.buffers[0]));
      TEMPER_ASSIGN_OR_RETURN(Value * second, Address(c.buffers[1]));
      Store(LoadPointer(Arena(c.out)), Arena(c.in));
      Store(b_.CreateSelect(even, second, first), Arena(c.out));
    }
    for (const ModuleLoop::Row& row : loop.rows) {
      Value* at = Arena(row.pointer);
      Store(b_.CreatePtrAdd(LoadPointer(at), b_.getInt64(static_cast<uint64_t>(row.bytes))), at);
    }
    Store(b_.CreateAdd(trip, b_.getInt64(1)), counter);
    if (loop.next_condition) {
      TEMPER_ASSIGN_OR_RETURN(Value * holds, Holds(*loop.next_condition));
      b_.CreateCondBr(holds, head, done);
    } else {
      b_.CreateBr(head);
    }
    b_.SetInsertPoint(done);
    EmitExtents(loop.extents, loop.extents.empty() ? nullptr : LoadInt64(counter));
    b_.CreateRet(b_.getInt32(0));
    return OkStatus();
  }

  // int (context, step, inputs, outputs, arena), through a table of `entries`, each for `each`
  // steps: a step's own function, or one that is told which of its steps. The table has distances,
  // which need no relocation when the model is loaded.
  llvm::Function* EmitRunStep(const std::string& name, bool shared, llvm::FunctionType* type,
                              const std::vector<llvm::Function*>& entries, size_t each) {
    f_ = Function(choose_type_, name, shared);
    b_.SetInsertPoint(NewBlock("entry"));
    if (entries.empty()) {
      b_.CreateRet(b_.getInt32(0));
      return f_;
    }
    auto* table_type = llvm::ArrayType::get(b_.getInt32Ty(), entries.size());
    auto* table = new llvm::GlobalVariable(module_, table_type, true,
                                           llvm::GlobalValue::PrivateLinkage, nullptr, "steps");
    auto address = [&](llvm::Constant* of) {
      return llvm::ConstantExpr::getPtrToInt(of, b_.getInt64Ty());
    };
    std::vector<llvm::Constant*> distances;
    for (llvm::Function* entry : entries) {
      distances.push_back(llvm::ConstantExpr::getTrunc(
          llvm::ConstantExpr::getSub(address(entry), address(table)), b_.getInt32Ty()));
    }
    table->setInitializer(llvm::ConstantArray::get(table_type, distances));
    table->setAlignment(llvm::Align(16));
    const auto every = static_cast<uint32_t>(each);
    Value* index = b_.CreateUDiv(f_->getArg(1), b_.getInt32(every));
    Value* at =
        b_.CreatePtrAdd(table, b_.CreateMul(b_.CreateZExt(index, b_.getInt64Ty()), b_.getInt64(4)));
    Value* distance = b_.CreateAlignedLoad(b_.getInt32Ty(), at, llvm::Align(4));
    Value* entry = b_.CreatePtrAdd(table, b_.CreateSExt(distance, b_.getInt64Ty()));
    std::vector<Value*> args = {f_->getArg(0), f_->getArg(2), f_->getArg(3), f_->getArg(4)};
    if (type == choose_type_) {
      args.insert(args.begin() + 1, b_.CreateURem(f_->getArg(1), b_.getInt32(every)));
    }
    b_.CreateRet(b_.CreateCall(type, entry, args));
    return f_;
  }

  llvm::IRBuilderBase& b_;
  llvm::Module& module_;
  const ModulePlan& model_;
  const ModuleSpecialization& plan_;
  const std::string& suffix_;
  llvm::Type* ptr_;
  llvm::GlobalValue* weights_;  // may be null
  llvm::FunctionType* step_type_ = nullptr;
  llvm::FunctionType* kernel_type_ = nullptr;
  llvm::FunctionType* choose_type_ = nullptr;  // of run_step
  size_t parts_;
  llvm::Function* f_ = nullptr;  // being emitted
};

}  // namespace

size_t PartCount(const ModuleSpecialization& plan) {
  return std::max<size_t>(1, (plan.steps.size() + kPartSteps - 1) / kPartSteps);
}

Result<ModuleCode> EmitModulePart(llvm::IRBuilderBase& b, llvm::Module& module,
                                  const ModulePlan& plan,
                                  const ModuleSpecialization& specialization,
                                  llvm::GlobalValue* weights, const std::string& suffix,
                                  size_t part) {
  return CodeEmitter(b, module, plan, specialization, weights, suffix).EmitPart(part);
}

Result<ModuleCode> EmitModuleCode(llvm::IRBuilderBase& b, llvm::Module& module,
                                  const ModulePlan& plan,
                                  const ModuleSpecialization& specialization,
                                  llvm::GlobalValue* weights, const std::string& suffix) {
  CodeEmitter emitter(b, module, plan, specialization, weights, suffix);
  if (PartCount(specialization) == 1) return emitter.EmitPart(0);
  return emitter.EmitJoin();
}

}  // namespace temper::codegen
