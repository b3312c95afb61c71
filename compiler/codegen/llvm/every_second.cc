// Loads of every second element.
//
//   x[ramp(i, 2, 16)]  ->  lanes 0, 2, .., 14 of x[i .. i + 16) and 1, 3, .., 15 of x[i + 15 .. i +
//   31)
//
// by two loads of neighbours and one shuffle, in place of sixteen loads or a gather: rows that a
// window of stride 2 walks. The second load ends with the last lane's element, as memory may. Where
// a block loads x[ramp(i + 1, 2, 16)] too, both are picked from x[i .. i + 16) and x[i + 16 .. i +
// 32). Where all of that is no more than a line, one load brings it if it is masked or has both.
#include <llvm/IR/IRBuilder.h>

#include <algorithm>

#include "compiler/codegen/llvm/kernel_emitter.h"

namespace temper::codegen {

using llvm::Value;
using tir::Expr;
using tir::ExprKind;
using tir::Stmt;
using tir::StmtKind;

namespace {

constexpr int kWholeBytes = 64;  // what one load brings

std::vector<int> EverySecond(int first, int lanes) {
  std::vector<int> picked;
  for (int i = 0; i < lanes; ++i) picked.push_back(first + 2 * i);
  return picked;
}

}  // namespace

void KernelEmitter::FindPairs(const Stmt& block) {
  pairs_.clear();
  std::vector<Pair> loads;  // each of one part, in on[0]
  for (const Stmt& s : block->children) {
    if (s->kind != StmtKind::kStore) return;
    tir::Visit(s->value, [&](const Expr& e) {
      if (e->kind() != ExprKind::kLoad || e->lanes() < 4 || e->lanes() % 2 != 0) return true;
      const Expr& last = e->indices().back();
      if (InRegisters(e->buffer()) || last->kind() != ExprKind::kRamp || last->stride() != 2) {
        return true;
      }
      Access access = Flatten(e->buffer(), e->indices());
      if (!access.linear || access.lane_step != 2) return true;
      loads.push_back({e->buffer(), e->lanes(), std::move(access.first), {e->predicate()}});
      return true;
    });
  }
  // What the block itself writes cannot be read ahead of its turn.
  std::erase_if(loads, [&](const Pair& load) {
    return std::any_of(block->children.begin(), block->children.end(),
                       [&](const Stmt& s) { return s->buffer == load.buffer; });
  });
  std::sort(loads.begin(), loads.end(),
            [](const Pair& a, const Pair& b) { return a.first.constant < b.first.constant; });
  const auto part_of = [](const Pair& pair, const Pair& load) {
    const bool same =
        pair.buffer == load.buffer && pair.lanes == load.lanes && SameTerms(pair.first, load.first);
    return same ? load.first.constant - pair.first.constant : -1;
  };
  for (const Pair& load : loads) {
    const bool known = std::any_of(pairs_.begin(), pairs_.end(), [&](const Pair& pair) {
      const int64_t part = part_of(pair, load);
      return part == 0 || part == 1;
    });
    if (known) continue;
    for (const Pair& other : loads) {
      if (part_of(load, other) != 1) continue;
      pairs_.push_back(load);
      pairs_.back().on[1] = other.on[0];
      break;
    }
  }
}

// Null where the load is part of no pair.
Value* KernelEmitter::LoadOfPair(const tir::ExprNode& e, const LinearForm& first, Value* off) {
  const auto same = [](const Expr& a, const Expr& b) {
    return a && b ? tir::Equal(a, b) : !a && !b;
  };
  for (Pair& pair : pairs_) {
    const int64_t part = first.constant - pair.first.constant;
    if (pair.buffer != e.buffer() || pair.lanes != e.lanes() || part < 0 || part > 1 ||
        !SameTerms(pair.first, first) || !same(pair.on[part], e.predicate()) ||
        !pair.on[0] != !pair.on[1] || (pair.halves[0] != nullptr && pair.off != off)) {
      continue;
    }
    const int lanes = e.lanes();
    if (pair.halves[0] == nullptr) {
      pair.off = off;
      llvm::Type* type = MemoryType(b_.getContext(), e.type());
      Value* on[2] = {};
      if (off != nullptr) {
        for (int p = 0; p < 2; ++p) on[p] = Emit(pair.on[p]);
      }
      if (IsWhole(type)) {
        Value* mask = nullptr;
        if (off != nullptr) {
          std::vector<int> woven;
          for (int i = 0; i < 2 * lanes; ++i) woven.push_back(i / 2 + i % 2 * lanes);
          mask = b_.CreateShuffleVector(on[0], on[1], woven);
        }
        pair.halves[0] = LoadWhole(e.buffer(), pair.first, type, mask, off);
      }
      for (int h = 0; h < 2 && !IsWhole(type); ++h) {
        LinearForm element = pair.first;
        element.constant += h * lanes;
        const AddressAt at = Address(e.buffer(), element);
        if (off == nullptr) {
          const auto align = llvm::Align(std::min<uint64_t>(at.align, 64));
          pair.halves[h] = b_.CreateAlignedLoad(type, at.pointer, align);
          continue;
        }
        std::vector<int> woven;
        for (int i = 0; i < lanes; ++i) woven.push_back(h * lanes / 2 + i / 2 + i % 2 * lanes);
        Value* mask = b_.CreateShuffleVector(on[0], on[1], woven);
        pair.halves[h] = b_.CreateMaskedLoad(type, at.pointer, llvm::Align(at.align), mask, off);
      }
    }
    const std::vector<int> picked = EverySecond(static_cast<int>(part), lanes);
    if (pair.halves[1] == nullptr) return b_.CreateShuffleVector(pair.halves[0], picked);
    return b_.CreateShuffleVector(pair.halves[0], pair.halves[1], picked);
  }
  return nullptr;
}

bool KernelEmitter::IsWhole(const llvm::Type* type) {
  const auto* vector = llvm::cast<llvm::FixedVectorType>(type);
  return 2 * vector->getNumElements() * vector->getScalarSizeInBits() <= 8 * kWholeBytes;
}

// Twice as many neighbours as `type` has lanes, those of `mask` where there is one.
Value* KernelEmitter::LoadWhole(int buffer, const LinearForm& first, llvm::Type* type, Value* mask,
                                Value* off) {
  const auto* half = llvm::cast<llvm::FixedVectorType>(type);
  const unsigned lanes = 2 * half->getNumElements();
  auto* whole = llvm::FixedVectorType::get(half->getElementType(), lanes);
  const AddressAt at = Address(buffer, first);
  if (mask == nullptr) {
    return b_.CreateAlignedLoad(whole, at.pointer, llvm::Align(std::min<uint64_t>(at.align, 64)));
  }
  std::vector<int> twice;  // all lanes that are off give the same
  for (unsigned i = 0; i < lanes; ++i) twice.push_back(static_cast<int>(i / 2));
  return b_.CreateMaskedLoad(whole, at.pointer, llvm::Align(at.align), mask,
                             b_.CreateShuffleVector(off, twice));
}

Value* KernelEmitter::LoadEverySecond(const tir::ExprNode& e, const LinearForm& first, Value* off) {
  if (Value* v = LoadOfPair(e, first, off)) return v;
  llvm::Type* type = MemoryType(b_.getContext(), e.type());
  const int lanes = e.lanes(), half = lanes / 2;
  Value* mask = off ? Emit(e.predicate()) : nullptr;
  if (mask != nullptr && IsWhole(type)) {
    std::vector<int> spread;  // lanes between are off
    for (int i = 0; i < 2 * lanes; ++i) spread.push_back(i % 2 ? lanes : i / 2);
    Value* on = b_.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), spread);
    Value* all = LoadWhole(e.buffer(), first, type, on, off);
    return b_.CreateShuffleVector(all, EverySecond(0, lanes));
  }
  Value* halves[2];
  for (int h = 0; h < 2; ++h) {
    LinearForm element = first;
    element.constant += h == 0 ? 0 : lanes - 1;
    const AddressAt at = Address(e.buffer(), element);
    if (!mask) {
      halves[h] =
          b_.CreateAlignedLoad(type, at.pointer, llvm::Align(std::min<uint64_t>(at.align, 64)));
      continue;
    }
    std::vector<int> spread(lanes, lanes);  // lanes between are off
    for (int i = 0; i < half; ++i) spread[2 * i + h] = h * half + i;
    Value* on = b_.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), spread);
    halves[h] = b_.CreateMaskedLoad(type, at.pointer, llvm::Align(at.align), on, off);
  }
  std::vector<int> picked;
  for (int i = 0; i < half; ++i) picked.push_back(2 * i);
  for (int i = 0; i < half; ++i) picked.push_back(lanes + 2 * i + 1);
  return b_.CreateShuffleVector(halves[0], halves[1], picked);
}

}  // namespace temper::codegen
