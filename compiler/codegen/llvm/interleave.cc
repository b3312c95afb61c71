// Stores whose lanes lie apart, with the others that fill the gaps.
//
//   y[ramp(i, 3, 16)]     = r          three vectors of 16 neighbours, whose lanes are woven from
//   y[ramp(i + 1, 3, 16)] = g    ->    r, g and b by two shuffles each
//   y[ramp(i + 2, 3, 16)] = b
//
// An image of three channels so becomes channels-last without a store for each element.
#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <cstdlib>

#include "compiler/codegen/llvm/kernel_emitter.h"
#include "compiler/codegen/llvm/ops.h"

namespace temper::codegen {

using llvm::Value;
using tir::Expr;
using tir::ExprKind;
using tir::Stmt;
using tir::StmtKind;

namespace {

constexpr int64_t kMostWoven = 4;

bool Reads(const Expr& root, int buffer) {
  bool reads = false;
  tir::Visit(root, [&](const Expr& e) {
    reads |= e->kind() == ExprKind::kLoad && e->buffer() == buffer;
    return !reads;
  });
  return reads;
}

}  // namespace

void KernelEmitter::FindWoven(const Stmt& block) {
  woven_.clear();
  std::vector<Woven> stores;  // each of one store
  for (const Stmt& s : block->children) {
    if (s->kind != StmtKind::kStore) return;
    const int lanes = s->value->lanes();
    if ((lanes != 4 && lanes != 8 && lanes != 16) || s->predicate || InRegisters(s->buffer) ||
        ByteSize(fn_.buffers[s->buffer].dtype) != 4) {
      continue;
    }
    Access access = Flatten(s->buffer, s->indices);
    if (!access.linear || access.lane_step < 2 || access.lane_step > kMostWoven) continue;
    stores.push_back({s->buffer, lanes, access.lane_step, std::move(access.first), {}, 0});
  }
  for (const Woven& first : stores) {
    // All are stored with the last of them: nothing else may read or write there in between.
    const auto in_block = std::count_if(block->children.begin(), block->children.end(),
                                        [&](const Stmt& s) { return s->buffer == first.buffer; });
    bool read = false;
    for (const Stmt& s : block->children) read = read || Reads(s->value, first.buffer);
    int64_t beside = 0, apart = 0;
    for (const Woven& s : stores) {
      const bool comparable = s.buffer == first.buffer && s.lanes == first.lanes &&
                              s.lane_step == first.lane_step && SameTerms(s.first, first.first);
      if (!comparable) continue;
      const int64_t distance = s.first.constant - first.first.constant;
      if (distance >= 0 && distance < first.lane_step) {
        ++beside;
      } else if (distance % first.lane_step != 0 ||
                 std::abs(distance) >= first.lane_step * first.lanes) {
        ++apart;
      }
    }
    if (!read && beside == first.lane_step && beside + apart == in_block) woven_.push_back(first);
  }
}

bool KernelEmitter::StoreWoven(int buffer, const Access& access, Value* value) {
  for (Woven& w : woven_) {
    const int64_t part = access.first.constant - w.first.constant;
    if (w.buffer != buffer || access.lane_step != w.lane_step || part < 0 || part >= w.lane_step ||
        !SameTerms(w.first, access.first)) {
      continue;
    }
    w.parts.resize(static_cast<size_t>(w.lane_step));
    w.parts[static_cast<size_t>(part)] = value;
    if (++w.known == w.lane_step) EmitWoven(w);
    return true;
  }
  return false;
}

void KernelEmitter::EmitWoven(const Woven& w) {
  const auto step = static_cast<int>(w.lane_step);
  for (int k = 0; k < step; ++k) {
    Value* v = w.parts[0];
    for (int part = 1; part < step; ++part) {
      std::vector<int> mask;
      for (int i = 0; i < w.lanes; ++i) {
        const int at = k * w.lanes + i, owner = at % step;
        if (owner == part) {
          mask.push_back(w.lanes + at / step);
        } else if (owner < part) {
          mask.push_back(part == 1 ? at / step : i);
        } else {
          mask.push_back(-1);
        }
      }
      v = b_.CreateShuffleVector(v, w.parts[static_cast<size_t>(part)], mask);
    }
    LinearForm element = w.first;
    element.constant += static_cast<int64_t>(k) * w.lanes;
    const AddressAt at = Address(w.buffer, element);
    b_.CreateAlignedStore(v, at.pointer, llvm::Align(at.align));
  }
}

}  // namespace temper::codegen
