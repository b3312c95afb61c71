#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <limits>

#include "compiler/codegen/llvm/kernel_emitter.h"

namespace temper::codegen {

using llvm::Value;
using tir::Expr;
using tir::ExprKind;

namespace {

std::vector<int> Iota(int first, int count) {
  std::vector<int> v(count);
  for (int i = 0; i < count; ++i) v[i] = first + i;
  return v;
}

// Whether a float is surely no NaN: a number, or a choice of one against what is more or less.
bool IsNumber(const Expr& e) {
  if (e->kind() == ExprKind::kFloatImm) return !std::isnan(e->float_value());
  if (e->kind() == ExprKind::kBroadcast || e->kind() == ExprKind::kReduceLanes) {
    return IsNumber(e->operand(0));
  }
  if (e->kind() != ExprKind::kSelect || !IsNumber(e->operand(2))) return false;
  const Expr &c = e->operand(0), &yes = e->operand(1);
  if (c->kind() == ExprKind::kLt || c->kind() == ExprKind::kLe) {
    if (tir::Equal(c->operand(0), yes) || tir::Equal(c->operand(1), yes)) return true;
  }
  return IsNumber(yes);
}

bool IsInfinite(const Expr& e, float infinity) {
  if (e->kind() == ExprKind::kBroadcast) return IsInfinite(e->operand(0), infinity);
  return e->kind() == ExprKind::kFloatImm && e->float_value() == infinity;
}

// `number` for a maximum or minimum with something else. A NaN in it replaced by the infinity that
// changes nothing need not be: the instruction gives the other operand where one is NaN.
const Expr& WithoutReplacement(bool is_max, const Expr& number) {
  if (number->kind() != ExprKind::kSelect) return number;
  const Expr &c = number->operand(0), &yes = number->operand(1), &no = number->operand(2);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  if (c->kind() != ExprKind::kLt || !IsInfinite(no, is_max ? -kInf : kInf)) return number;
  const Expr &low = c->operand(0), &high = c->operand(1);
  const bool replaces = tir::Equal(is_max ? low : high, no) && tir::Equal(is_max ? high : low, yes);
  return replaces ? yes : number;
}

}  // namespace

// Integer arithmetic reads nothing and never traps (ops.cc), so it may run anywhere.
bool KernelEmitter::IsHoistable(const Expr& e) const {
  bool pure = true;
  tir::Visit(e, [&](const Expr& x) {
    DType d = x->type().dtype;
    pure = pure && x->kind() != ExprKind::kLoad && x->kind() != ExprKind::kCall &&
           (IsInt(d) || d == DType::kBool);
    return pure;
  });
  return pure;
}

Value* KernelEmitter::Emit(const Expr& e) {
  auto [it, fresh] = memo_.try_emplace(e.get(), nullptr);
  if (!fresh && it->second) return it->second;
  Value* v;
  if (e->operands().empty() || !IsHoistable(e)) {
    v = EmitNode(e);
  } else {
    int depth = Depth(e);
    ValueCache& cache = state_.frames[depth].values;
    auto known = cache.find(e);
    if (known != cache.end()) {
      v = known->second;
    } else {
      llvm::IRBuilderBase::InsertPointGuard guard(b_);
      MoveToFrame(depth);
      v = EmitNode(e);
      state_.frames[depth].values.emplace(e, v);
    }
  }
  memo_[e.get()] = v;
  return v;
}

Value* KernelEmitter::EmitNode(const Expr& e) {
  llvm::LLVMContext& c = b_.getContext();
  tir::Type type = e->type();
  switch (e->kind()) {
    case ExprKind::kIntImm:
      return llvm::ConstantInt::get(ValueType(c, type), static_cast<uint64_t>(e->int_value()),
                                    true);
    case ExprKind::kFloatImm: {
      if (!IsComputable(type.dtype)) break;
      if (type.dtype == DType::kFloat32 || type.dtype == DType::kFloat64) {
        return llvm::ConstantFP::get(ValueType(c, type), e->float_value());
      }
      return ops_.Cast(llvm::ConstantFP::get(b_.getFloatTy(), e->float_value()), DType::kFloat32,
                       type.dtype);
    }
    case ExprKind::kVar: {
      auto it = state_.variables.find(e->var_id());
      if (it != state_.variables.end()) return it->second.value;
      Fail("variable '" + e->var_name() + "' is used where it is not defined");
      return llvm::PoisonValue::get(ValueType(c, type));
    }
    case ExprKind::kLoad:
      return EmitLoad(e);
    case ExprKind::kRamp: {
      Value* base = b_.CreateVectorSplat(type.lanes, Emit(e->operand(0)));
      std::vector<llvm::Constant*> steps;
      llvm::Type* scalar = ValueType(c, type.WithLanes(1));
      for (int64_t i = 0; i < type.lanes; ++i) {
        steps.push_back(
            llvm::ConstantInt::get(scalar, static_cast<uint64_t>(i * e->stride()), true));
      }
      return b_.CreateAdd(base, llvm::ConstantVector::get(steps));
    }
    case ExprKind::kBroadcast:
      return b_.CreateVectorSplat(type.lanes, Emit(e->operand(0)));
    case ExprKind::kReduceLanes:
      if (!IsComputable(type.dtype)) break;
      return EmitReduceLanes(e);
    case ExprKind::kSelect: {
      if (Value* padded = EmitPaddedLoad(e)) return padded;
      Value* condition = Emit(e->operand(0));
      Value* yes = Emit(e->operand(1));
      return b_.CreateSelect(condition, yes, Emit(e->operand(2)));
    }
    case ExprKind::kCast: {
      DType from = e->operand(0)->type().dtype;
      if (!IsComputable(from) || !IsComputable(type.dtype)) break;
      return ops_.Cast(Emit(e->operand(0)), from, type.dtype);
    }
    case ExprKind::kNot:
      return ops_.Not(type.dtype, Emit(e->operand(0)));
    case ExprKind::kCall: {
      DType dtype = e->operand(0)->type().dtype;
      if (!IsComputable(dtype)) break;
      std::vector<Value*> args;
      for (const Expr& o : e->operands()) args.push_back(Emit(o));
      if (Value* v = ops_.Call(e->intrinsic(), dtype, args)) return v;
      break;
    }
    case ExprKind::kAdd:
    case ExprKind::kSub:
      return EmitAdd(e);
    case ExprKind::kLt:
    case ExprKind::kLe:
      if (Value* mask = EmitTailMask(e)) return mask;
      [[fallthrough]];
    default: {
      DType dtype = e->operand(0)->type().dtype;
      if (!IsComputable(dtype)) break;
      Value* x = Emit(e->operand(0));
      const bool is_max = e->kind() == ExprKind::kMax;
      if ((is_max || e->kind() == ExprKind::kMin) && dtype == DType::kFloat32 &&
          IsNumber(e->operand(1))) {
        return ops_.MinMaxOfNumber(is_max, Emit(WithoutReplacement(is_max, e->operand(1))), x);
      }
      Value* y = Emit(e->operand(1));
      if (Value* v = ops_.Binary(e->kind(), dtype, x, y)) return v;
    }
  }
  DType operand = e->operands().empty() ? type.dtype : e->operand(0)->type().dtype;
  Fail("no code for this operation on " + std::string(Name(operand)) +
       (e->kind() == ExprKind::kCall ? ": " + std::string(tir::Name(e->intrinsic())) : "") +
       (e->kind() == ExprKind::kCast ? " to " + std::string(Name(type.dtype)) : ""));
  return llvm::PoisonValue::get(ValueType(c, type));
}

// A sum with a product in it becomes a multiply-add.
Value* KernelEmitter::EmitAdd(const Expr& e) {
  DType dtype = e->type().dtype;
  const Expr& x = e->operand(0);
  const Expr& y = e->operand(1);
  bool add = e->kind() == ExprKind::kAdd;
  if (dtype == DType::kFloat32 || dtype == DType::kFloat64) {
    bool in_x = x->kind() == ExprKind::kMul, in_y = y->kind() == ExprKind::kMul;
    if (in_y || (in_x && add)) {
      const Expr& product = in_y ? y : x;
      Value* rest = Emit(in_y ? x : y);
      Value* a = Emit(product->operand(0));
      return ops_.MulAdd(a, Emit(product->operand(1)), rest, !add);
    }
  }
  Value* a = Emit(x);
  Value* r = ops_.Binary(e->kind(), dtype, a, Emit(y));
  if (!r) {
    Fail("no code for sums of " + std::string(Name(dtype)));
    r = llvm::PoisonValue::get(ValueType(b_.getContext(), e->type()));
  }
  return r;
}

// base + lane < bound for each lane, and the like: the lanes that are on are counted as a scalar
// and compared as 32-bit integers, since vectors of indices take several registers. Null for
// others.
Value* KernelEmitter::EmitTailMask(const Expr& e) {
  const bool ramp_first = e->operand(0)->kind() == ExprKind::kRamp;
  const Expr& ramp = e->operand(ramp_first ? 0 : 1);
  const Expr& bound = e->operand(ramp_first ? 1 : 0);
  if (ramp->type().dtype != DType::kInt64 || ramp->kind() != ExprKind::kRamp ||
      ramp->stride() != 1 || bound->kind() != ExprKind::kBroadcast) {
    return nullptr;
  }
  const int lanes = e->lanes();
  // With the ramp first, lanes below the count are on; else those from it.
  Value* count = b_.CreateSub(Emit(bound->operand(0)), Emit(ramp->operand(0)));
  const bool one_more = (e->kind() == ExprKind::kLe) == ramp_first;
  if (one_more) count = b_.CreateAdd(count, b_.getInt64(1));
  count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, b_.getInt64(0));
  count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, b_.getInt64(lanes));
  Value* all = b_.CreateVectorSplat(lanes, b_.CreateTrunc(count, b_.getInt32Ty()));
  std::vector<llvm::Constant*> numbers;
  for (int lane = 0; lane < lanes; ++lane) numbers.push_back(b_.getInt32(lane));
  Value* lane = llvm::ConstantVector::get(numbers);
  return ramp_first ? b_.CreateICmpSLT(lane, all) : b_.CreateICmpSGE(lane, all);
}

Value* KernelEmitter::EmitReduceLanes(const Expr& e) {
  Value* v = Emit(e->operand(0));
  const bool extreme = e->combiner() == ExprKind::kMax || e->combiner() == ExprKind::kMin;
  const bool numbers = extreme && e->type().dtype == DType::kFloat32 && IsNumber(e->operand(0));
  for (int lanes = e->operand(0)->lanes() / 2; lanes > 0; lanes /= 2) {
    Value* low;
    Value* high;
    if (lanes == 1) {
      low = b_.CreateExtractElement(v, uint64_t{0});
      high = b_.CreateExtractElement(v, uint64_t{1});
    } else {
      low = b_.CreateShuffleVector(v, Iota(0, lanes));
      high = b_.CreateShuffleVector(v, Iota(lanes, lanes));
    }
    v = numbers ? ops_.MinMaxOfNumber(e->combiner() == ExprKind::kMax, low, high)
                : ops_.Binary(e->combiner(), e->type().dtype, low, high);
  }
  return v;
}

Value* KernelEmitter::EmitLoad(const Expr& e) {
  Access access = Flatten(e->buffer(), e->indices());
  if (InRegisters(e->buffer())) return LoadRegister(*e, access);
  if (llvm::AllocaInst* slot = PromotedSlot(e->buffer(), access)) {
    Value* v = b_.CreateLoad(slot->getAllocatedType(), slot);
    return access.lane_step == 0 && e->lanes() > 1 ? b_.CreateVectorSplat(e->lanes(), v) : v;
  }
  if (access.linear && e->lanes() == 1) {
    return LoadScalar(e->buffer(), e->type().dtype, access.first, e->predicate(), Expr());
  }
  return LoadLanes(*e, access, Expr());
}

Value* KernelEmitter::EmitPaddedLoad(const Expr& select) {
  const Expr& load = select->operand(1);
  Expr padding = select->operand(2);
  if (padding->kind() == ExprKind::kBroadcast) padding = padding->operand(0);
  bool number = padding->kind() == ExprKind::kIntImm || padding->kind() == ExprKind::kFloatImm;
  if (!number || load->kind() != ExprKind::kLoad || !load->has_predicate() ||
      InRegisters(load->buffer()) || !tir::Equal(load->predicate(), select->operand(0))) {
    return nullptr;
  }
  Access access = Flatten(load->buffer(), load->indices());
  if (access.linear && load->lanes() == 1) {
    return LoadScalar(load->buffer(), load->type().dtype, access.first, load->predicate(), padding);
  }
  return LoadLanes(*load, access, padding);
}

llvm::Constant* KernelEmitter::PaddingBlock(tir::Type type, const Expr& padding) {
  llvm::Type* memory = MemoryType(b_.getContext(), type);
  llvm::Constant* value = llvm::Constant::getNullValue(memory);
  if (padding) {
    value = llvm::cast<llvm::Constant>(ToMemory(b_, EmitNode(padding), type.dtype));
    auto lanes = llvm::ElementCount::getFixed(type.lanes);
    if (type.lanes > 1) value = llvm::ConstantVector::getSplat(lanes, value);
  }
  for (const auto& [known, address] : padding_blocks_) {
    if (known == value) return address;
  }
  auto* block = new llvm::GlobalVariable(module_, memory, true, llvm::GlobalValue::PrivateLinkage,
                                         value, "padding");
  block->setAlignment(llvm::Align(64));
  padding_blocks_.emplace_back(value, block);
  return block;
}

Value* KernelEmitter::LoadScalar(int buffer, DType dtype, const LinearForm& element,
                                 const Expr& predicate, const Expr& padding) {
  AddressAt at = Address(buffer, element);
  Value* pointer = at.pointer;
  if (predicate) {
    pointer = b_.CreateSelect(Emit(predicate), pointer, PaddingBlock({dtype, 1}, padding));
  }
  Value* v = b_.CreateAlignedLoad(MemoryType(b_.getContext(), {dtype, 1}), pointer,
                                  llvm::Align(std::min<uint64_t>(at.align, 64)));
  return FromMemory(b_, v, dtype);
}

Value* KernelEmitter::Unchanging(llvm::Instruction* load, int buffer) {
  if (constant_[static_cast<size_t>(buffer)]) {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
  }
  return load;
}

Value* KernelEmitter::LoadLanes(const tir::ExprNode& e, const Access& access, const Expr& padding) {
  DType dtype = e.type().dtype;
  int lanes = e.lanes();
  llvm::Type* type = MemoryType(b_.getContext(), e.type());
  Expr predicate = e.predicate();
  bool uniform = !predicate || predicate->kind() == ExprKind::kBroadcast;
  if (access.linear && access.lane_step == 0 && uniform) {
    Expr scalar = predicate ? predicate->operand(0) : Expr();
    return b_.CreateVectorSplat(lanes,
                                LoadScalar(e.buffer(), dtype, access.first, scalar, padding));
  }
  Value* off = nullptr;  // what lanes that are off give
  if (predicate) {
    off = llvm::Constant::getNullValue(type);
    if (padding) off = b_.CreateVectorSplat(lanes, ToMemory(b_, EmitNode(padding), dtype));
  }
  if (access.linear && access.lane_step == 1) {
    AddressAt at = Address(e.buffer(), access.first);
    if (!uniform) {
      Value* v = Unchanging(
          b_.CreateMaskedLoad(type, at.pointer, llvm::Align(at.align), Emit(predicate), off),
          e.buffer());
      return FromMemory(b_, v, dtype);
    }
    Value* pointer = at.pointer;
    if (predicate) {
      pointer =
          b_.CreateSelect(Emit(predicate->operand(0)), pointer, PaddingBlock(e.type(), padding));
    }
    llvm::Instruction* load =
        b_.CreateAlignedLoad(type, pointer, llvm::Align(std::min<uint64_t>(at.align, 64)));
    return FromMemory(b_, predicate ? load : Unchanging(load, e.buffer()), dtype);
  }
  if (access.linear && !padding) {
    if (Value* v = LoadFromBlock(e, access)) return v;
  }
  if (access.linear && access.lane_step == 2 && lanes % 2 == 0) {
    return FromMemory(b_, LoadEverySecond(e, access.first, off), dtype);
  }
  if (access.linear && !predicate) {
    Value* v = llvm::PoisonValue::get(type);
    LinearForm element = access.first;
    for (int lane = 0; lane < lanes; ++lane) {
      AddressAt at = Address(e.buffer(), element);
      Value* one = b_.CreateAlignedLoad(type->getScalarType(), at.pointer, llvm::Align(at.align));
      v = b_.CreateInsertElement(v, one, lane);
      element.constant += access.lane_step;
    }
    return FromMemory(b_, v, dtype);
  }
  Value* pointers = GatherPointers(e.buffer(), e.indices(), lanes);
  Value* mask = predicate ? Emit(predicate) : nullptr;
  Value* v = b_.CreateMaskedGather(type, pointers, llvm::Align(ByteSize(dtype)), mask, off);
  return FromMemory(b_, v, dtype);
}

void KernelEmitter::StoreLanes(const tir::StmtNode& s, const Access& access, Value* value) {
  DType dtype = fn_.buffers[s.buffer].dtype;
  int lanes = s.value->lanes();
  Value* v = ToMemory(b_, value, dtype);
  if (access.linear && access.lane_step == 1) {
    AddressAt at = Address(s.buffer, access.first);
    if (s.predicate) {
      b_.CreateMaskedStore(v, at.pointer, llvm::Align(at.align), Emit(s.predicate));
    } else {
      b_.CreateAlignedStore(v, at.pointer, llvm::Align(at.align));
    }
    return;
  }
  if (access.linear && !s.predicate) {
    if (StoreWoven(s.buffer, access, v)) return;
    LinearForm element = access.first;
    for (int lane = 0; lane < lanes; ++lane) {
      AddressAt at = Address(s.buffer, element);
      b_.CreateAlignedStore(b_.CreateExtractElement(v, lane), at.pointer, llvm::Align(at.align));
      element.constant += access.lane_step;
    }
    return;
  }
  Value* pointers = GatherPointers(s.buffer, s.indices, lanes);
  Value* mask = s.predicate ? Emit(s.predicate) : nullptr;
  b_.CreateMaskedScatter(v, pointers, llvm::Align(ByteSize(dtype)), mask);
}

Value* KernelEmitter::LoadRegister(const tir::ExprNode& e, const Access& access) {
  const RegisterBuffer& plan = registers_[e.buffer()];
  int64_t offset = access.first.constant;
  int64_t first = plan.SlotOf(offset);
  llvm::AllocaInst* slot = Slot(e.buffer(), first);
  int width = plan.slots.at(first);
  int lanes = access.lane_step == 0 ? 1 : e.lanes();
  Value* v = b_.CreateLoad(slot->getAllocatedType(), slot);
  int at = static_cast<int>(offset - first);
  if (width > 1 && lanes == 1) {
    v = b_.CreateExtractElement(v, at);
  } else if (lanes < width) {
    v = b_.CreateShuffleVector(v, Iota(at, lanes));
  }
  if (lanes < e.lanes()) v = b_.CreateVectorSplat(e.lanes(), v);
  if (Expr p = e.predicate()) {
    v = b_.CreateSelect(Emit(p), v, llvm::Constant::getNullValue(v->getType()));
  }
  return v;
}

void KernelEmitter::StoreRegister(const tir::StmtNode& s, const Access& access, Value* value) {
  const RegisterBuffer& plan = registers_[s.buffer];
  int64_t offset = access.first.constant;
  int64_t first = plan.SlotOf(offset);
  llvm::AllocaInst* slot = Slot(s.buffer, first);
  int width = plan.slots.at(first);
  int lanes = s.value->lanes();
  int at = static_cast<int>(offset - first);
  if (lanes == width && !s.predicate) {
    b_.CreateStore(value, slot);
    return;
  }
  Value* old = b_.CreateLoad(slot->getAllocatedType(), slot);
  if (s.predicate) {
    Value* before = old;
    if (lanes == 1 && width > 1) {
      before = b_.CreateExtractElement(old, at);
    } else if (lanes < width) {
      before = b_.CreateShuffleVector(old, Iota(at, lanes));
    }
    value = b_.CreateSelect(Emit(s.predicate), value, before);
  }
  if (lanes == 1 && width > 1) {
    value = b_.CreateInsertElement(old, value, at);
  } else if (lanes < width) {
    std::vector<int> widen(width, -1), blend = Iota(0, width);
    for (int i = 0; i < lanes; ++i) {
      widen[at + i] = i;
      blend[at + i] = width + at + i;
    }
    value = b_.CreateShuffleVector(old, b_.CreateShuffleVector(value, widen), blend);
  }
  b_.CreateStore(value, slot);
}

}  // namespace temper::codegen
