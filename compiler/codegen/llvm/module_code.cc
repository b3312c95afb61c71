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
  CodeEmitter(llvm::IRBuilderBase& b, llvm::Module& module, const ModuleSpecialization& plan,
              llvm::GlobalValue* weights, const std::string& suffix)
      : b_(b),
        module_(module),
        plan_(plan),
        suffix_(suffix),
        ptr_(b.getPtrTy()),
        weights_(weights) {
    step_type_ = llvm::FunctionType::get(b.getInt32Ty(), {ptr_, ptr_, ptr_, ptr_}, false);
    kernel_type_ = llvm::FunctionType::get(b.getInt32Ty(), {ptr_, ptr_, ptr_}, false);
  }

  Result<ModuleCode> Emit() {
    const size_t count = plan_.steps.size();
    for (size_t i = 0; i < count; ++i) steps_.push_back(NewFunction("step" + std::to_string(i)));
    for (size_t i = 0; i < count; ++i) {
      const ModuleStep& step = plan_.steps[i];
      if (static_cast<size_t>(step.nested) >= count - i) {
        return Internal("a step runs others that do not exist");
      }
      Begin(steps_[i]);
      if (step.branch) {
        TEMPER_RETURN_IF_ERROR(EmitIf(i, *step.branch));
      } else if (step.loop) {
        TEMPER_RETURN_IF_ERROR(EmitLoop(i, *step.loop));
      } else {
        TEMPER_RETURN_IF_ERROR(EmitCall(step));
      }
    }
    ModuleCode code;
    llvm::Function* run = NewFunction("run");
    Begin(run);
    EmitSteps(0, count, /*nested=*/false);
    b_.CreateRet(b_.getInt32(0));
    code.run = run;
    code.run_step = EmitRunStep();
    return code;
  }

 private:
  llvm::Function* NewFunction(const std::string& name) {
    auto* f = llvm::Function::Create(step_type_, llvm::GlobalValue::InternalLinkage, name + suffix_,
                                     module_);
    f->setDoesNotThrow();
    return f;
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

  // Steps [begin, end), but for those that others run, until one fails: then the function ends.
  void EmitSteps(size_t begin, size_t end, bool nested = true) {
    for (size_t i = begin; i < end; i += 1 + static_cast<size_t>(plan_.steps[i].nested)) {
      if (nested) EmitAtStep(i, 0);
      Value* code =
          b_.CreateCall(steps_[i], {f_->getArg(0), f_->getArg(1), f_->getArg(2), f_->getArg(3)});
      if (nested) EmitAtStep(i, 1);
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
      kernel = Hidden(llvm::cast<llvm::Function>(
          module_.getOrInsertFunction(step.symbol, kernel_type_).getCallee()));
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

  // int run_step(context, step, inputs, outputs, arena), through a table. Steps that others run do
  // nothing here.
  llvm::Function* EmitRunStep() {
    auto* type =
        llvm::FunctionType::get(b_.getInt32Ty(), {ptr_, b_.getInt32Ty(), ptr_, ptr_, ptr_}, false);
    llvm::Function* idle = nullptr;
    std::vector<llvm::Constant*> entries(steps_.begin(), steps_.end());
    for (size_t i = 0; i < entries.size(); ++i) {
      const auto nested = static_cast<size_t>(plan_.steps[i].nested);
      if (nested > 0 && idle == nullptr) {
        idle = NewFunction("idle");
        Begin(idle);
        b_.CreateRet(b_.getInt32(static_cast<uint32_t>(TEMPER_STEP_INSIDE)));
      }
      std::fill_n(entries.begin() + static_cast<std::ptrdiff_t>(i) + 1, nested, idle);
      i += nested;
    }
    f_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "run_step" + suffix_,
                                module_);
    f_->setDoesNotThrow();
    b_.SetInsertPoint(NewBlock("entry"));
    if (entries.empty()) {
      b_.CreateRet(b_.getInt32(0));
      return f_;
    }
    auto* table_type = llvm::ArrayType::get(ptr_, entries.size());
    auto* table =
        new llvm::GlobalVariable(module_, table_type, true, llvm::GlobalValue::PrivateLinkage,
                                 llvm::ConstantArray::get(table_type, entries), "steps");
    table->setAlignment(llvm::Align(16));
    Value* offset = b_.CreateMul(b_.CreateSExt(f_->getArg(1), b_.getInt64Ty()), b_.getInt64(8));
    Value* step = LoadPointer(b_.CreatePtrAdd(table, offset));
    b_.CreateRet(b_.CreateCall(step_type_, step,
                               {f_->getArg(0), f_->getArg(2), f_->getArg(3), f_->getArg(4)}));
    return f_;
  }

  llvm::IRBuilderBase& b_;
  llvm::Module& module_;
  const ModuleSpecialization& plan_;
  const std::string& suffix_;
  llvm::Type* ptr_;
  llvm::GlobalValue* weights_;  // may be null
  llvm::FunctionType* step_type_ = nullptr;
  llvm::FunctionType* kernel_type_ = nullptr;
  std::vector<llvm::Function*> steps_;
  llvm::Function* f_ = nullptr;  // being emitted
};

}  // namespace

Result<ModuleCode> EmitModuleCode(llvm::IRBuilderBase& b, llvm::Module& module,
                                  const ModuleSpecialization& plan, llvm::GlobalValue* weights,
                                  const std::string& suffix) {
  return CodeEmitter(b, module, plan, weights, suffix).Emit();
}

}  // namespace temper::codegen
