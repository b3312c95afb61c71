#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "compiler/codegen/llvm/kernel_emitter.h"

namespace temper::codegen {
namespace {

using tir::Expr;
using tir::ExprKind;
using tir::Stmt;
using tir::StmtKind;

// An access of a loop's body, with what it says about its buffer.
struct Touch {
  int buffer;
  std::span<const Expr> indices;
  int lanes;
  bool store;
  bool conditional;  // predicated, or inside a branch
};

void CollectLoads(const Expr& root, bool conditional, std::vector<Touch>* out) {
  tir::Visit(root, [&](const Expr& e) {
    if (e->kind() == ExprKind::kLoad) {
      out->push_back(
          {e->buffer(), e->indices(), e->lanes(), false, conditional || e->has_predicate()});
    }
    return true;
  });
}

void Collect(const Stmt& s, bool conditional, std::vector<Touch>* out, std::set<int>* variables) {
  for (const Expr* e : {&s->min, &s->extent, &s->value, &s->predicate}) {
    if (*e) CollectLoads(*e, conditional, out);
  }
  for (const Expr& e : s->indices) CollectLoads(e, conditional, out);
  if (s->kind == StmtKind::kStore) {
    bool sometimes = conditional || s->predicate;
    out->push_back({s->buffer, s->indices, s->value->lanes(), true, sometimes});
  }
  if (s->kind == StmtKind::kLet) variables->insert(s->var->var_id());
  for (const Stmt& c : s->children) {
    Collect(c, conditional || s->kind == StmtKind::kIf, out, variables);
  }
}

}  // namespace

std::vector<KernelEmitter::Promoted> KernelEmitter::FindAccumulators(const tir::StmtNode& loop) {
  std::vector<Touch> touches;
  std::set<int> variables = {loop.var->var_id()};
  Collect(loop.body(), false, &touches, &variables);

  struct Candidate {
    bool possible = true, loads = false, stores = false;
    std::vector<Promoted> parts;
  };
  std::map<int, Candidate> candidates;
  for (const Touch& t : touches) {
    if (InRegisters(t.buffer)) continue;
    Candidate& c = candidates[t.buffer];
    (t.store ? c.stores : c.loads) = true;
    if (!c.possible) continue;
    Access access = Flatten(t.buffer, t.indices);
    int lanes = access.lane_step == 0 && !t.store ? 1 : t.lanes;
    bool fixed = access.linear && !t.conditional && (lanes == 1 || access.lane_step == 1);
    for (const LinearTerm& term : access.first.terms) {
      fixed = fixed && IsHoistable(term.atom);
      tir::Visit(term.atom, [&](const Expr& e) {
        if (e->kind() == ExprKind::kVar && variables.count(e->var_id())) fixed = false;
        return fixed;
      });
    }
    c.possible = fixed;
    if (!fixed) continue;
    bool known = false;
    for (const Promoted& p : c.parts) {
      int64_t apart = access.first.constant - p.first.constant;
      bool comparable = SameTerms(p.first, access.first);
      if (comparable && apart == 0 && p.lanes == lanes) {
        known = true;
      } else if (!comparable || std::abs(apart) < (apart > 0 ? p.lanes : lanes)) {
        c.possible = false;  // they may overlap
      }
    }
    if (!known) c.parts.push_back({t.buffer, access.first, lanes, nullptr});
    // More than there are registers for; this also bounds the comparisons above.
    if (static_cast<int>(c.parts.size()) > traits_.vector_registers) c.possible = false;
  }

  std::vector<Promoted> found;
  int registers = 0;
  for (auto& [buffer, c] : candidates) {
    if (!c.possible || !c.loads || !c.stores) continue;
    for (const Promoted& p : c.parts) {
      int bits = p.lanes * ByteSize(fn_.buffers[buffer].dtype) * 8;
      registers += std::max(1, (bits + traits_.vector_bits - 1) / traits_.vector_bits);
      found.push_back(p);
    }
  }
  // More than fit would go through memory all the same, and in each iteration.
  if (registers > traits_.vector_registers - 6) found.clear();
  return found;
}

void KernelEmitter::LoadPromoted(std::vector<Promoted> found) {
  for (Promoted& p : found) {
    DType dtype = fn_.buffers[p.buffer].dtype;
    tir::Type type{dtype, p.lanes};
    AddressAt at = Address(p.buffer, p.first);
    llvm::Value* v =
        b_.CreateAlignedLoad(MemoryType(b_.getContext(), type), at.pointer, llvm::Align(at.align));
    {
      llvm::IRBuilderBase::InsertPointGuard guard(b_);
      b_.SetInsertPoint(state_.allocas);
      p.slot = b_.CreateAlloca(ValueType(b_.getContext(), type));
    }
    b_.CreateStore(FromMemory(b_, v, dtype), p.slot);
  }
  state_.promoted = std::move(found);
}

void KernelEmitter::StorePromoted() {
  std::vector<Promoted> done = std::move(state_.promoted);
  state_.promoted.clear();
  for (const Promoted& p : done) {
    llvm::Value* v = b_.CreateLoad(p.slot->getAllocatedType(), p.slot);
    AddressAt at = Address(p.buffer, p.first);
    b_.CreateAlignedStore(ToMemory(b_, v, fn_.buffers[p.buffer].dtype), at.pointer,
                          llvm::Align(at.align));
  }
}

llvm::AllocaInst* KernelEmitter::PromotedSlot(int buffer, const Access& access) const {
  for (const Promoted& p : state_.promoted) {
    if (p.buffer == buffer && p.first.constant == access.first.constant &&
        SameTerms(p.first, access.first)) {
      return p.slot;
    }
  }
  return nullptr;
}

}  // namespace temper::codegen
