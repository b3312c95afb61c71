#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>
#include <climits>

#include "compiler/codegen/llvm/kernel_emitter.h"

namespace temper::codegen {

using llvm::Value;
using tir::Expr;
using tir::ExprKind;
using tir::Scope;

int KernelEmitter::Depth(const Expr& e) const {
  int depth = 0;
  tir::Visit(e, [&](const Expr& x) {
    if (x->kind() == ExprKind::kVar) {
      auto it = state_.variables.find(x->var_id());
      if (it != state_.variables.end()) depth = std::max(depth, it->second.depth);
    }
    return true;
  });
  return depth;
}

void KernelEmitter::MoveToFrame(int depth) {
  for (size_t f = depth + 1; f < state_.frames.size(); ++f) {
    if (state_.frames[f].entry) {
      b_.SetInsertPoint(state_.frames[f].entry);
      return;
    }
  }
}

const LinearForm* KernelEmitter::FormOf(int var_id) const {
  auto it = state_.variables.find(var_id);
  return it == state_.variables.end() ? nullptr : it->second.form.get();
}

bool KernelEmitter::InRegisters(int buffer) const {
  return fn_.buffers[buffer].scope == Scope::kRegister && !registers_[buffer].in_memory;
}

Value* KernelEmitter::Base(int buffer) {
  auto [it, fresh] = state_.bases.try_emplace(buffer, nullptr);
  if (!fresh) return it->second;
  const tir::Buffer& info = fn_.buffers[buffer];
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(state_.allocas);
  Value* base = nullptr;
  if (info.scope == Scope::kWorkspace) {
    base = b_.CreatePtrAdd(state_.workspace, b_.getInt64(info.workspace_offset));
  } else if (info.scope == Scope::kParam) {
    Fail("buffer '" + info.name + "' is no parameter of its function");
    base = llvm::PoisonValue::get(b_.getPtrTy());
  } else {
    int64_t bytes = (info.ElementCount() * ByteSize(info.dtype) + 63) / 64 * 64;
    state_.stack_bytes += bytes;
    if (state_.stack_bytes > kMaxStackBytes) {
      Fail("the buffers on the stack, '" + info.name + "' among them, take over " +
           std::to_string(kMaxStackBytes >> 10) + " KiB");
      bytes = 64;
    }
    auto* alloca = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), bytes), nullptr, info.name);
    alloca->setAlignment(llvm::Align(64));
    base = alloca;
  }
  state_.bases[buffer] = base;
  return base;
}

llvm::AllocaInst* KernelEmitter::Slot(int buffer, int64_t first) {
  auto [it, fresh] = state_.slots.try_emplace(int64_t{buffer} << 32 | first, nullptr);
  if (!fresh) return it->second;
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(state_.allocas);
  int lanes = registers_[buffer].slots.at(first);
  it->second = b_.CreateAlloca(ValueType(b_.getContext(), {fn_.buffers[buffer].dtype, lanes}));
  return it->second;
}

KernelEmitter::Access KernelEmitter::Flatten(int buffer, std::span<const Expr> indices) {
  Access access;
  auto form_of = [this](int id) { return FormOf(id); };
  access.first.constant = fn_.buffers[buffer].Offset();
  for (size_t d = 0; d < indices.size(); ++d) {
    LinearForm form;
    int64_t step;
    if (!LinearizeLanes(indices[d], form_of, &form, &step)) {
      access.linear = false;
      return access;
    }
    access.first.Add(form, strides_[buffer][d]);
    access.lane_step += step * strides_[buffer][d];
  }
  return access;
}

KernelEmitter::AddressAt KernelEmitter::Address(int buffer, const LinearForm& element) {
  const tir::Buffer& info = fn_.buffers[buffer];
  int64_t bytes = ByteSize(info.dtype);
  // A parameter is aligned to its elements only; the rest starts at a multiple of 64.
  uint64_t multiple = info.scope == Scope::kParam ? bytes : 64;
  std::vector<LinearTerm> terms = element.terms;
  for (LinearTerm& t : terms) {
    t.coefficient *= bytes;
    multiple |= static_cast<uint64_t>(t.coefficient);
  }
  int64_t displacement = element.constant * bytes;
  multiple |= static_cast<uint64_t>(displacement);
  Value* pointer = Pointer(buffer, terms);
  if (displacement != 0) pointer = b_.CreatePtrAdd(pointer, b_.getInt64(displacement));
  return {pointer, uint64_t{1} << std::countr_zero(multiple)};
}

Value* KernelEmitter::Pointer(int buffer, const std::vector<LinearTerm>& byte_terms) {
  Value* pointer = Base(buffer);
  if (byte_terms.empty()) return pointer;
  int top = static_cast<int>(state_.frames.size()) - 1;
  std::vector<std::pair<int, size_t>> order;  // depth, term
  bool keep = true;                           // an address that depends on memory holds here only
  for (size_t i = 0; i < byte_terms.size(); ++i) {
    bool pure = IsHoistable(byte_terms[i].atom);
    keep = keep && pure;
    order.emplace_back(pure ? Depth(byte_terms[i].atom) : top, i);
  }
  auto is_loop_var = [&](int depth, size_t term) {
    const Expr& atom = byte_terms[term].atom;
    return atom->kind() == ExprKind::kVar && atom->var_id() == state_.frames[depth].loop_var;
  };
  // From the outside in; in a frame the loop's own term first, then by atom so that equal sums
  // meet.
  std::vector<uint64_t> hashes(byte_terms.size());
  for (size_t i = 0; i < byte_terms.size(); ++i) hashes[i] = tir::HashOf(byte_terms[i].atom);
  std::sort(order.begin(), order.end(), [&](const auto& x, const auto& y) {
    if (x.first != y.first) return x.first < y.first;
    bool lx = is_loop_var(x.first, x.second), ly = is_loop_var(y.first, y.second);
    if (lx != ly) return lx;
    return hashes[x.second] < hashes[y.second];
  });
  std::vector<LinearTerm> prefix;
  for (const auto& [depth, index] : order) {
    const LinearTerm& term = byte_terms[index];
    prefix.push_back(term);
    Frame& frame = state_.frames[depth];
    auto known = std::find_if(frame.pointers.begin(), frame.pointers.end(), [&](const auto& p) {
      return p.buffer == buffer && p.terms.size() == prefix.size() &&
             std::equal(prefix.begin(), prefix.end(), p.terms.begin(),
                        [](const LinearTerm& a, const LinearTerm& b) {
                          return a.coefficient == b.coefficient && tir::Equal(a.atom, b.atom);
                        });
    });
    if (keep && known != frame.pointers.end()) {
      pointer = known->pointer;
      continue;
    }
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    Value* coefficient = b_.getInt64(term.coefficient);
    if (is_loop_var(depth, index)) {
      // The pointer advances with the loop.
      b_.SetInsertPoint(frame.entry);
      Value* start = pointer;
      if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(frame.loop_min); !c || !c->isZero()) {
        start = b_.CreatePtrAdd(pointer, b_.CreateMul(frame.loop_min, coefficient));
      }
      llvm::BasicBlock* before = frame.entry->getParent();
      b_.SetInsertPoint(frame.header, frame.header->begin());
      llvm::PHINode* phi = b_.CreatePHI(b_.getPtrTy(), 2);
      phi->addIncoming(start, before);
      frame.inductions.push_back({phi, term.coefficient});
      pointer = phi;
    } else {
      Value* atom = Emit(term.atom);  // placed by its own depth
      if (atom->getType() != b_.getInt64Ty()) {
        DType dtype = term.atom->type().dtype;
        MoveToFrame(depth);
        atom = ops_.Cast(atom, dtype, DType::kInt64);
      }
      MoveToFrame(depth);
      pointer = b_.CreatePtrAdd(pointer, b_.CreateMul(atom, coefficient));
    }
    if (keep) frame.pointers.push_back({buffer, prefix, pointer});
  }
  return pointer;
}

Value* KernelEmitter::GatherPointers(int buffer, std::span<const Expr> indices, int lanes) {
  const tir::Buffer& info = fn_.buffers[buffer];
  llvm::Type* type = llvm::FixedVectorType::get(b_.getInt64Ty(), lanes);
  Value* offset = llvm::ConstantInt::get(type, info.Offset());
  for (size_t d = 0; d < indices.size(); ++d) {
    Value* index = ops_.Cast(Emit(indices[d]), indices[d]->type().dtype, DType::kInt64);
    if (!index->getType()->isVectorTy()) index = b_.CreateVectorSplat(lanes, index);
    Value* stride = llvm::ConstantInt::get(type, strides_[buffer][d]);
    offset = b_.CreateAdd(offset, b_.CreateMul(index, stride));
  }
  Value* bytes = b_.CreateMul(offset, llvm::ConstantInt::get(type, ByteSize(info.dtype)));
  return b_.CreateGEP(b_.getInt8Ty(), Base(buffer), bytes);
}

}  // namespace temper::codegen
