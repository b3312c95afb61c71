#include "compiler/codegen/llvm/kernel_emitter.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <functional>
#include <set>

#include "compiler/lower/statements.h"

namespace temper::codegen {
namespace {

using llvm::Value;
using tir::Expr;
using tir::ExprKind;
using tir::Scope;
using tir::Stmt;
using tir::StmtKind;

// What a statement uses that is defined outside of it.
struct Uses {
  std::set<int> buffers, variables;
  std::set<int> own_buffers, own_variables;

  void Walk(const Stmt& s) {
    for (const Expr* e : {&s->min, &s->extent, &s->value, &s->predicate}) {
      if (*e) WalkExpr(*e);
    }
    for (const Expr& e : s->indices) WalkExpr(e);
    if (s->kind == StmtKind::kStore || s->kind == StmtKind::kPrefetch) buffers.insert(s->buffer);
    if (s->kind == StmtKind::kAllocate) own_buffers.insert(s->buffer);
    if (s->kind == StmtKind::kFor || s->kind == StmtKind::kLet) {
      own_variables.insert(s->var->var_id());
    }
    for (const Stmt& c : s->children) Walk(c);
  }
  void WalkExpr(const Expr& root) {
    tir::Visit(root, [&](const Expr& e) {
      if (e->kind() == ExprKind::kVar) variables.insert(e->var_id());
      if (e->kind() == ExprKind::kLoad) buffers.insert(e->buffer());
      return true;
    });
  }
};

}  // namespace

KernelEmitter::KernelEmitter(llvm::IRBuilderBase& builder, llvm::Module& module,
                             const Traits& traits, const tir::Function& function)
    : b_(builder), module_(module), traits_(traits), fn_(function), ops_(builder, traits) {
  for (const tir::Buffer& b : fn_.buffers) strides_.push_back(b.Strides());
  constant_.assign(fn_.buffers.size(), false);
}

void KernelEmitter::SetConstants(std::span<const int> buffers) {
  for (int b : buffers) constant_[static_cast<size_t>(b)] = true;
}

KernelEmitter::~KernelEmitter() = default;

void KernelEmitter::Fail(std::string message) {
  if (status_.ok()) status_ = Internal(fn_.name + ": " + std::move(message));
}

llvm::Function* KernelEmitter::BeginFunction(const std::string& name,
                                             const std::vector<llvm::Type*>& params) {
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), params, false);
  auto* f = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module_);
  f->setDoesNotThrow();
  f->addFnAttr("prefer-vector-width", "512");
  f->addFnAttr("min-legal-vector-width", "512");
  for (llvm::Argument& a : f->args()) {
    if (a.getType()->isPointerTy()) a.addAttr(llvm::Attribute::NoAlias);
  }
  state_ = FunctionState();
  state_.function = f;
  auto* entry = llvm::BasicBlock::Create(b_.getContext(), "entry", f);
  auto* body = llvm::BasicBlock::Create(b_.getContext(), "body", f);
  b_.SetInsertPoint(entry);
  state_.allocas = b_.CreateBr(body);
  b_.SetInsertPoint(body);
  state_.frames.emplace_back();
  memo_.clear();
  return f;
}

Status KernelEmitter::Emit(const std::string& symbol) {
  symbol_ = symbol;
  registers_ = PlanRegisters(fn_);
  llvm::Type* ptr = b_.getPtrTy();
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  b_.setFastMathFlags(flags);

  // The function over buffers: parameters, context, workspace.
  size_t count = fn_.params.size();
  llvm::Function* body = BeginFunction(symbol + ".body", std::vector<llvm::Type*>(count + 2, ptr));
  for (size_t i = 0; i < count; ++i) state_.bases[fn_.params[i]] = body->getArg(i);
  state_.context = body->getArg(count);
  state_.workspace = body->getArg(count + 1);
  EmitStmt(fn_.body);
  b_.CreateRetVoid();

  auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {ptr, ptr, ptr}, false);
  auto* kernel = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, symbol, module_);
  kernel->setVisibility(llvm::GlobalValue::HiddenVisibility);
  kernel->setDoesNotThrow();
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", kernel));
  std::vector<Value*> args;
  for (size_t i = 0; i < count; ++i) {
    Value* at = b_.CreatePtrAdd(kernel->getArg(1), b_.getInt64(8 * i));
    args.push_back(b_.CreateAlignedLoad(ptr, at, llvm::Align(8)));
  }
  args.push_back(kernel->getArg(0));
  args.push_back(kernel->getArg(2));
  b_.CreateCall(body, args);
  b_.CreateRet(b_.getInt32(0));
  return status_;
}

void KernelEmitter::EmitStmt(const Stmt& s) {
  if (!status_.ok()) return;
  switch (s->kind) {
    case StmtKind::kFor:
      return EmitFor(*s);
    case StmtKind::kStore:
      return EmitStore(*s);
    case StmtKind::kIf:
      return EmitIf(*s);
    case StmtKind::kPrefetch:
      return EmitPrefetch(*s);
    case StmtKind::kBlock:
      FindBlocks(s);
      FindWoven(s);
      FindPairs(s);
      for (const Stmt& c : s->children) EmitStmt(c);
      blocks_.clear();
      woven_.clear();
      pairs_.clear();
      return;
    case StmtKind::kAllocate:  // made where it is first used
      return EmitStmt(s->body());
    case StmtKind::kLet: {
      memo_.clear();
      Value* value = Emit(s->value);
      std::unique_ptr<LinearForm> form;
      if (s->value->type() == tir::kIndex && IsHoistable(s->value)) {
        form = std::make_unique<LinearForm>(
            Linearize(s->value, [this](int id) { return FormOf(id); }));
      }
      // A frame of its own: what depends on the variable lives as long as the variable does.
      state_.frames.emplace_back();
      Define(s->var, value, std::move(form));
      EmitStmt(s->body());
      state_.variables.erase(s->var->var_id());
      state_.frames.pop_back();
      memo_.clear();
      return;
    }
  }
}

void KernelEmitter::Define(const Expr& var, Value* value, std::unique_ptr<LinearForm> form) {
  memo_.clear();
  Variable& v = state_.variables[var->var_id()];
  v.value = value;
  v.depth = static_cast<int>(state_.frames.size()) - 1;
  v.form = std::move(form);
}

void KernelEmitter::EmitFor(const tir::StmtNode& s) {
  if (s.bind == tir::Bind::kVector || s.bind == tir::Bind::kUnroll) {
    return Fail("a vector or unrolled loop is left: the loop nest is not finished");
  }
  bool constant = s.extent->kind() == ExprKind::kIntImm;
  if (constant && s.extent->int_value() <= 0) return;
  if (s.bind == tir::Bind::kParallel && !state_.parallel_body && constant &&
      s.extent->int_value() > 1) {
    return EmitParallel(s);
  }
  memo_.clear();
  Value* min = Emit(s.min);
  auto min_form =
      std::make_unique<LinearForm>(Linearize(s.min, [this](int id) { return FormOf(id); }));
  if (constant && s.extent->int_value() == 1) {
    state_.frames.emplace_back();
    Define(s.var, min, IsHoistable(s.min) ? std::move(min_form) : nullptr);
    EmitStmt(s.body());
    state_.variables.erase(s.var->var_id());
    state_.frames.pop_back();
    memo_.clear();
    return;
  }
  Value* end = Emit(s.min + s.extent);
  bool innermost = !lower::HoldsLoop(s.body());
  // A loop that may not run at all has no address that is surely good.
  if (innermost && constant) LoadPromoted(FindAccumulators(s));
  EmitCountedLoop(s.var, min, end, !constant, innermost, [&] { EmitStmt(s.body()); });
  if (innermost && constant) StorePromoted();
}

void KernelEmitter::EmitCountedLoop(const Expr& var, Value* min, Value* end, bool guard,
                                    bool innermost, const std::function<void()>& body) {
  llvm::LLVMContext& c = b_.getContext();
  auto* header = llvm::BasicBlock::Create(c, "loop", state_.function);
  auto* exit = llvm::BasicBlock::Create(c, "exit");
  Frame frame;
  llvm::BasicBlock* before = b_.GetInsertBlock();
  frame.entry =
      guard ? b_.CreateCondBr(b_.CreateICmpSLT(min, end), header, exit) : b_.CreateBr(header);
  if (innermost) {
    frame.header = header;
    frame.loop_var = var->var_id();
    frame.loop_min = min;
  }
  state_.frames.push_back(std::move(frame));
  b_.SetInsertPoint(header);
  llvm::PHINode* counter = b_.CreatePHI(min->getType(), 2);
  counter->addIncoming(min, before);
  Define(var, counter, nullptr);
  body();
  Value* next = b_.CreateAdd(counter, llvm::ConstantInt::get(min->getType(), 1));
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  counter->addIncoming(next, latch);
  for (const Induction& i : state_.frames.back().inductions) {
    i.phi->addIncoming(b_.CreatePtrAdd(i.phi, b_.getInt64(i.step)), latch);
  }
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), header, exit);
  state_.variables.erase(var->var_id());
  state_.frames.pop_back();
  memo_.clear();
  exit->insertInto(state_.function);
  b_.SetInsertPoint(exit);
}

// Perfectly nested parallel loops of constant extent run as one, over the product of their
// extents, through context->parallel_for.
void KernelEmitter::EmitParallel(const tir::StmtNode& s) {
  std::vector<const tir::StmtNode*> loops = {&s};
  int64_t count = s.extent->int_value();
  const Stmt* inner = &s.body();
  while ((*inner)->kind == StmtKind::kFor && (*inner)->bind == tir::Bind::kParallel &&
         (*inner)->extent->kind() == ExprKind::kIntImm && (*inner)->extent->int_value() > 0 &&
         (*inner)->min->kind() == ExprKind::kIntImm) {
    loops.push_back(inner->get());
    count *= (*inner)->extent->int_value();
    inner = &(*inner)->body();
  }
  Uses uses;
  uses.Walk(*inner);
  uses.WalkExpr(s.min);

  // The closure: one field a buffer or variable from outside.
  memo_.clear();
  std::vector<Value*> captured;
  std::vector<int> captured_buffers, captured_variables;
  bool workspace = false;
  for (int buffer : uses.buffers) {
    if (uses.own_buffers.count(buffer)) continue;
    if (fn_.buffers[buffer].scope == Scope::kWorkspace) {
      workspace = true;
      continue;
    }
    captured.push_back(Base(buffer));
    captured_buffers.push_back(buffer);
  }
  if (workspace) captured.push_back(state_.workspace);
  for (int id : uses.variables) {
    auto it = state_.variables.find(id);
    if (it == state_.variables.end()) continue;
    captured.push_back(it->second.value);
    captured_variables.push_back(id);
  }
  Value* closure;
  {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(state_.allocas);
    auto* alloca = b_.CreateAlloca(
        llvm::ArrayType::get(b_.getInt64Ty(), std::max<size_t>(captured.size(), 1)));
    alloca->setAlignment(llvm::Align(8));
    closure = alloca;
  }
  std::vector<llvm::Type*> types = {b_.getInt64Ty(), b_.getInt64Ty()};
  for (size_t i = 0; i < captured.size(); ++i) {
    // A bool's i1 takes a byte of its field.
    b_.CreateAlignedStore(captured[i], b_.CreatePtrAdd(closure, b_.getInt64(8 * i)),
                          llvm::Align(8));
    types.push_back(captured[i]->getType());
  }

  FunctionState outer = std::move(state_);
  llvm::IRBuilderBase::InsertPoint resume = b_.saveIP();
  std::string name = symbol_ + ".parallel" + std::to_string(parallel_count_++);
  llvm::Function* body = BeginFunction(name + ".body", types);
  state_.parallel_body = true;
  unsigned arg = 2;
  for (int buffer : captured_buffers) state_.bases[buffer] = body->getArg(arg++);
  if (workspace) state_.workspace = body->getArg(arg++);
  for (int id : captured_variables) state_.variables[id].value = body->getArg(arg++);
  Expr flat = tir::Var(-1, "chunk");
  EmitCountedLoop(flat, body->getArg(0), body->getArg(1), true, false, [&] {
    // Innermost extents vary fastest.
    std::vector<Expr> values(loops.size());
    Expr rest = flat;
    for (size_t i = loops.size(); i-- > 0;) {
      const Expr& extent = loops[i]->extent;
      values[i] = (i == 0 ? rest : FloorMod(rest, extent)) + loops[i]->min;
      rest = FloorDiv(rest, extent);
    }
    for (size_t i = 0; i < loops.size(); ++i) {
      Define(loops[i]->var, Emit(values[i]), nullptr);
    }
    EmitStmt(*inner);
  });
  b_.CreateRetVoid();

  // void(closure, begin, end), which unpacks the closure.
  auto* type = llvm::FunctionType::get(b_.getVoidTy(),
                                       {b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty()}, false);
  auto* entry = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module_);
  entry->setDoesNotThrow();
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", entry));
  std::vector<Value*> args = {entry->getArg(1), entry->getArg(2)};
  for (size_t i = 0; i < captured.size(); ++i) {
    Value* field = b_.CreatePtrAdd(entry->getArg(0), b_.getInt64(8 * i));
    args.push_back(b_.CreateAlignedLoad(types[i + 2], field, llvm::Align(8)));
  }
  b_.CreateCall(body, args);
  b_.CreateRetVoid();

  state_ = std::move(outer);
  b_.restoreIP(resume);
  memo_.clear();
  Value* parallel_for = b_.CreateAlignedLoad(b_.getPtrTy(), state_.context, llvm::Align(8));
  auto* callee = llvm::FunctionType::get(
      b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy(), b_.getInt64Ty()}, false);
  b_.CreateCall(callee, parallel_for, {state_.context, entry, closure, b_.getInt64(count)});
}

void KernelEmitter::EmitIf(const tir::StmtNode& s) {
  memo_.clear();
  llvm::LLVMContext& c = b_.getContext();
  Value* condition = Emit(s.value);
  auto* yes = llvm::BasicBlock::Create(c, "then", state_.function);
  auto* no = s.children.size() > 1 ? llvm::BasicBlock::Create(c, "else") : nullptr;
  auto* end = llvm::BasicBlock::Create(c, "end");
  llvm::Instruction* branch = b_.CreateCondBr(condition, yes, no ? no : end);
  for (size_t i = 0; i < s.children.size(); ++i) {
    if (i == 1) no->insertInto(state_.function);
    b_.SetInsertPoint(i == 0 ? yes : no);
    Frame frame;
    frame.entry = branch;
    state_.frames.push_back(std::move(frame));
    EmitStmt(s.children[i]);
    state_.frames.pop_back();
    memo_.clear();
    b_.CreateBr(end);
  }
  end->insertInto(state_.function);
  b_.SetInsertPoint(end);
}

void KernelEmitter::EmitStore(const tir::StmtNode& s) {
  memo_.clear();
  Value* value = Emit(s.value);
  Access access = Flatten(s.buffer, s.indices);
  if (InRegisters(s.buffer)) return StoreRegister(s, access, value);
  if (llvm::AllocaInst* slot = PromotedSlot(s.buffer, access)) {
    b_.CreateStore(value, slot);
    return;
  }
  if (s.value->lanes() > 1) return StoreLanes(s, access, value);
  AddressAt at = Address(s.buffer, access.first);
  Value* v = ToMemory(b_, value, fn_.buffers[s.buffer].dtype);
  if (!s.predicate) {
    b_.CreateAlignedStore(v, at.pointer, llvm::Align(at.align));
    return;
  }
  auto* yes = llvm::BasicBlock::Create(b_.getContext(), "store", state_.function);
  auto* end = llvm::BasicBlock::Create(b_.getContext(), "stored", state_.function);
  b_.CreateCondBr(Emit(s.predicate), yes, end);
  b_.SetInsertPoint(yes);
  b_.CreateAlignedStore(v, at.pointer, llvm::Align(at.align));
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
  memo_.clear();
}

void KernelEmitter::EmitPrefetch(const tir::StmtNode& s) {
  if (InRegisters(s.buffer)) return;
  memo_.clear();
  Access access = Flatten(s.buffer, s.indices);
  if (!access.linear) return;  // a hint only
  AddressAt at = Address(s.buffer, access.first);
  int64_t locality = std::clamp<int64_t>(s.value->int_value(), 0, 3);
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                     {at.pointer, b_.getInt32(0), b_.getInt32(locality), b_.getInt32(1)});
}

}  // namespace temper::codegen
