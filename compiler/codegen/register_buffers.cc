#include "compiler/codegen/register_buffers.h"

#include <algorithm>

#include "compiler/codegen/affine.h"

namespace temper::codegen {
namespace {

using tir::Expr;
using tir::ExprKind;
using tir::Scope;
using tir::Stmt;
using tir::StmtKind;

struct Access {
  int64_t offset;
  int lanes;
};

class Collector {
 public:
  Collector(const tir::Function& function, std::vector<RegisterBuffer>* plan)
      : function_(function),
        plan_(*plan),
        accesses_(function.buffers.size()),
        home_(function.buffers.size(), 0) {
    for (const tir::Buffer& b : function.buffers) strides_.push_back(b.Strides());
  }

  void Walk(const Stmt& s, int parallel_depth) {
    if (s->kind == StmtKind::kAllocate) home_[s->buffer] = parallel_depth;
    for (const Expr* e : {&s->min, &s->extent, &s->value, &s->predicate}) {
      if (*e) WalkExpr(*e, parallel_depth);
    }
    for (const Expr& e : s->indices) WalkExpr(e, parallel_depth);
    if (s->kind == StmtKind::kStore) {
      Record(s->buffer, s->indices, s->value->lanes(), parallel_depth, true);
    }
    bool parallel = s->kind == StmtKind::kFor && s->bind == tir::Bind::kParallel;
    for (const Stmt& c : s->children) Walk(c, parallel_depth + parallel);
  }

  void Merge() {
    for (size_t b = 0; b < accesses_.size(); ++b) {
      if (function_.buffers[b].scope == Scope::kRegister) MergeBuffer(accesses_[b], &plan_[b]);
    }
  }

 private:
  void WalkExpr(const Expr& e, int parallel_depth) {
    tir::Visit(e, [&](const Expr& x) {
      if (x->kind() == ExprKind::kLoad)
        Record(x->buffer(), x->indices(), x->lanes(), parallel_depth, false);
      return true;
    });
  }

  void Record(int buffer, std::span<const Expr> indices, int lanes, int parallel_depth,
              bool is_store) {
    if (function_.buffers[buffer].scope != Scope::kRegister) return;
    RegisterBuffer& plan = plan_[buffer];
    // A loop body that runs on other threads reaches it by address.
    if (parallel_depth != home_[buffer]) plan.in_memory = true;
    if (plan.in_memory) return;
    int64_t offset = function_.buffers[buffer].Offset(), step = 0;
    for (size_t d = 0; d < indices.size(); ++d) {
      LinearForm form;
      int64_t lane_step;
      if (!LinearizeLanes(
              indices[d], [](int) { return nullptr; }, &form, &lane_step) ||
          !form.IsConstant()) {
        plan.in_memory = true;
        return;
      }
      offset += form.constant * strides_[buffer][d];
      step += lane_step * strides_[buffer][d];
    }
    if (lanes > 1 && step == 0 && !is_store) lanes = 1;  // one element in all lanes
    if (lanes > 1 && step != 1) {
      plan.in_memory = true;
      return;
    }
    if (offset < 0 || offset + lanes > function_.buffers[buffer].ElementCount()) {
      plan.in_memory = true;
      return;
    }
    accesses_[buffer].push_back({offset, lanes});
  }

  static void MergeBuffer(std::vector<Access>& accesses, RegisterBuffer* plan) {
    if (plan->in_memory) return;
    std::sort(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) {
      return a.offset != b.offset ? a.offset < b.offset : a.lanes > b.lanes;
    });
    int64_t end = -1;
    for (const Access& a : accesses) {
      if (a.offset >= end) {
        plan->slots.emplace(a.offset, a.lanes);
        end = a.offset + a.lanes;
      } else if (a.offset + a.lanes > end) {
        plan->in_memory = true;
        return;
      }
    }
  }

  const tir::Function& function_;
  std::vector<RegisterBuffer>& plan_;
  std::vector<std::vector<Access>> accesses_;
  std::vector<int> home_;  // how many parallel loops are around the allocation
  std::vector<std::vector<int64_t>> strides_;
};

}  // namespace

std::vector<RegisterBuffer> PlanRegisters(const tir::Function& function) {
  std::vector<RegisterBuffer> plan(function.buffers.size());
  Collector collector(function, &plan);
  collector.Walk(function.body, 0);
  collector.Merge();
  return plan;
}

}  // namespace temper::codegen
