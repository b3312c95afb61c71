// Loads whose lanes lie apart, four neighbours at a time.
//
//   y[j + 0, lanes] = x[lanes * 784, j + 0]         x[lane * 784, j .. j + 4] is one load of four
//   ...                                      ->     elements; 4x4 blocks are transposed in
//   registers y[j + 3, lanes] = x[lanes * 784, j + 3]
//
// A layout change so takes one load and half a shuffle for four elements, not four of each.
#include <llvm/IR/IRBuilder.h>

#include <algorithm>

#include "compiler/codegen/llvm/kernel_emitter.h"
#include "compiler/codegen/llvm/ops.h"

namespace temper::codegen {
namespace {

using llvm::Value;
using tir::Expr;
using tir::ExprKind;
using tir::Stmt;
using tir::StmtKind;

constexpr int kSide = 4;  // of a block; a row of 4-byte elements is a vector of 128 bits

// Lanes that a predicate `constant ramp < constant` lets pass, all of them for null; -1: not known.
int64_t LanesOn(const Expr& predicate, int lanes) {
  if (!predicate) return lanes;
  if (predicate->kind() != ExprKind::kLt) return -1;
  const Expr &ramp = predicate->operand(0), &bound = predicate->operand(1);
  if (ramp->kind() != ExprKind::kRamp || ramp->stride() != 1 ||
      bound->kind() != ExprKind::kBroadcast || ramp->operand(0)->kind() != ExprKind::kIntImm ||
      bound->operand(0)->kind() != ExprKind::kIntImm) {
    return -1;
  }
  const int64_t on = bound->operand(0)->int_value() - ramp->operand(0)->int_value();
  return std::clamp<int64_t>(on, 0, lanes);
}

// Spares most loads the look at their addresses.
bool MayLieApart(const Expr& load) {
  const auto indices = load->indices();
  for (size_t d = 0; d < indices.size(); ++d) {
    const bool plain = indices[d]->lanes() == 1 ||
                       (d + 1 == indices.size() && indices[d]->kind() == ExprKind::kRamp &&
                        indices[d]->stride() == 1);
    if (!plain) return true;
  }
  return false;
}

}  // namespace

void KernelEmitter::FindBlocks(const Stmt& block) {
  blocks_.clear();
  std::vector<Block4> loads;  // each of one row
  for (const Stmt& s : block->children) {
    if (s->kind != StmtKind::kStore) continue;
    tir::Visit(s->value, [&](const Expr& e) {
      if (e->kind() != ExprKind::kLoad || InRegisters(e->buffer())) return true;
      const int lanes = e->lanes();
      if ((lanes != 4 && lanes != 8 && lanes != 16) || ByteSize(e->type().dtype) != 4) return true;
      if (!MayLieApart(e)) return true;
      const int64_t on = LanesOn(e->predicate(), lanes);
      Access access = Flatten(e->buffer(), e->indices());
      if (on <= 0 || !access.linear || access.lane_step == 0 || access.lane_step == 1) return true;
      loads.push_back({e->buffer(), lanes, on, access.lane_step, std::move(access.first), {}});
      return true;
    });
  }
  // What the block itself writes cannot be read ahead of its turn.
  std::erase_if(loads, [&](const Block4& load) {
    return std::any_of(block->children.begin(), block->children.end(), [&](const Stmt& s) {
      return s->kind != StmtKind::kStore || s->buffer == load.buffer;
    });
  });
  for (const Block4& load : loads) {
    if (FindBlock(load.buffer, load.lanes, load.lane_step, load.first) != nullptr) continue;
    bool whole = true;
    for (int64_t i = 1; i < kSide && whole; ++i) {
      whole = std::any_of(loads.begin(), loads.end(), [&](const Block4& other) {
        return other.buffer == load.buffer && other.lanes == load.lanes && other.on == load.on &&
               other.lane_step == load.lane_step && SameTerms(other.first, load.first) &&
               other.first.constant == load.first.constant + i;
      });
    }
    if (whole) blocks_.push_back(load);
  }
}

KernelEmitter::Block4* KernelEmitter::FindBlock(int buffer, int lanes, int64_t lane_step,
                                                const LinearForm& first) {
  for (Block4& block : blocks_) {
    const int64_t row = first.constant - block.first.constant;
    if (block.buffer == buffer && block.lanes == lanes && block.lane_step == lane_step &&
        row >= 0 && row < kSide && SameTerms(block.first, first)) {
      return &block;
    }
  }
  return nullptr;
}

Value* KernelEmitter::LoadFromBlock(const tir::ExprNode& e, const Access& access) {
  Block4* block = FindBlock(e.buffer(), e.lanes(), access.lane_step, access.first);
  if (block == nullptr || LanesOn(e.predicate(), e.lanes()) != block->on) return nullptr;
  if (block->values[0] == nullptr) EmitBlock(*block, e.type().dtype);
  return block->values[access.first.constant - block->first.constant];
}

void KernelEmitter::EmitBlock(Block4& block, DType dtype) {
  const int groups = block.lanes / kSide;
  auto* row_type =
      llvm::cast<llvm::FixedVectorType>(MemoryType(b_.getContext(), tir::Type{dtype, kSide}));
  // Rows k, k + 4, k + 8 and k + 12 side by side, for each k.
  std::vector<Value*> sides;
  for (int k = 0; k < kSide; ++k) {
    std::vector<Value*> rows;
    for (int g = 0; g < groups; ++g) {
      const int64_t lane = static_cast<int64_t>(g) * kSide + k;
      if (lane >= block.on) {
        rows.push_back(llvm::Constant::getNullValue(row_type));
        continue;
      }
      LinearForm element = block.first;
      element.constant += lane * block.lane_step;
      const AddressAt at = Address(block.buffer, element);
      rows.push_back(b_.CreateAlignedLoad(row_type, at.pointer, llvm::Align(at.align)));
    }
    while (rows.size() > 1) {
      std::vector<Value*> joined;
      const int width =
          static_cast<int>(llvm::cast<llvm::FixedVectorType>(rows[0]->getType())->getNumElements());
      std::vector<int> both;
      for (int i = 0; i < 2 * width; ++i) both.push_back(i);
      for (size_t i = 0; i < rows.size(); i += 2) {
        joined.push_back(b_.CreateShuffleVector(rows[i], rows[i + 1], both));
      }
      rows = std::move(joined);
    }
    sides.push_back(rows[0]);
  }
  // In each group of four lanes: `picks` of the first operand's four and the second's.
  auto shuffle = [&](Value* x, Value* y, std::initializer_list<int> picks) {
    std::vector<int> mask;
    for (int g = 0; g < groups; ++g) {
      for (int p : picks) {
        mask.push_back(p < kSide ? g * kSide + p : block.lanes + g * kSide + p - kSide);
      }
    }
    return b_.CreateShuffleVector(x, y, mask);
  };
  Value* low01 = shuffle(sides[0], sides[1], {0, 4, 1, 5});
  Value* high01 = shuffle(sides[0], sides[1], {2, 6, 3, 7});
  Value* low23 = shuffle(sides[2], sides[3], {0, 4, 1, 5});
  Value* high23 = shuffle(sides[2], sides[3], {2, 6, 3, 7});
  Value* columns[kSide] = {shuffle(low01, low23, {0, 1, 4, 5}), shuffle(low01, low23, {2, 3, 6, 7}),
                           shuffle(high01, high23, {0, 1, 4, 5}),
                           shuffle(high01, high23, {2, 3, 6, 7})};
  for (int i = 0; i < kSide; ++i) block.values[i] = FromMemory(b_, columns[i], dtype);
}

}  // namespace temper::codegen
