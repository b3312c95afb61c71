#include "compiler/partition/inline.h"

#include <algorithm>

namespace temper::partition {
namespace {

using tir::Expr;

int64_t Elements(const te::Tensor& tensor) {
  int64_t count = 1;
  for (int64_t extent : tensor.shape) count *= extent;
  return count;
}

int64_t SizeOf(const Expr& e, int64_t limit) {
  int64_t size = 0;
  tir::Visit(e, [&](const Expr&) { return ++size < limit; });
  return size;
}

}  // namespace

te::Program InlinePoints(const te::Program& program, int64_t limit) {
  const size_t stage_count = program.stages.size();
  // Which stages may join: by their readers.
  std::vector<char> joins(stage_count);
  for (size_t s = 0; s < stage_count; ++s) {
    joins[s] = program.stages[s].combiner == te::Combiner::kNone;
  }
  for (int output : program.outputs) joins[program.tensors[output].producer] = false;
  for (const te::Stage& reader : program.stages) {
    tir::Visit(reader.body, [&](const Expr& e) {
      if (e->kind() != tir::ExprKind::kLoad) return true;
      const te::Tensor& tensor = program.tensors[e->buffer()];
      if (tensor.producer >= 0 && (reader.combiner != te::Combiner::kNone ||
                                   Elements(tensor) < Elements(program.tensors[reader.tensor]))) {
        joins[tensor.producer] = false;
      }
      return true;
    });
  }
  // New bodies, in order: what a stage reads is complete when it comes.
  std::vector<Expr> bodies(stage_count);
  for (size_t s = 0; s < stage_count; ++s) {
    auto inlined = [&](bool take) {
      return tir::Rewrite(program.stages[s].body, [&](const Expr& e) {
        if (!take || e->kind() != tir::ExprKind::kLoad) return Expr();
        const int producer = program.tensors[e->buffer()].producer;
        if (producer < 0 || !joins[producer]) return Expr();
        std::vector<Expr> map(program.next_var);
        const auto& axes = program.stages[producer].spatial;
        for (size_t d = 0; d < axes.size(); ++d) map[axes[d].var->var_id()] = e->indices()[d];
        return tir::Substitute(bodies[producer], map);
      });
    };
    bodies[s] = inlined(true);
    // Its readers would be larger still.
    if (joins[s] && SizeOf(bodies[s], limit) >= limit) joins[s] = false;
  }
  te::Program result = program;
  result.stages.clear();
  result.tensors.clear();
  result.inputs.clear();
  result.outputs.clear();
  // Tensors that stay, renumbered.
  std::vector<int> number(program.tensors.size(), -1);
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const int producer = program.tensors[t].producer;
    if (producer >= 0 && joins[producer]) continue;
    number[t] = static_cast<int>(result.tensors.size());
    result.tensors.push_back(program.tensors[t]);
  }
  for (size_t s = 0; s < stage_count; ++s) {
    if (joins[s]) continue;
    te::Stage stage = program.stages[s];
    stage.tensor = number[stage.tensor];
    stage.body = tir::Rewrite(bodies[s], [&](const Expr& e) {
      if (e->kind() != tir::ExprKind::kLoad) return Expr();
      return tir::Load(number[e->buffer()], e->type().dtype, e->indices());
    });
    result.tensors[stage.tensor].producer = static_cast<int>(result.stages.size());
    result.stages.push_back(std::move(stage));
  }
  for (int input : program.inputs) result.inputs.push_back(number[input]);
  for (int output : program.outputs) result.outputs.push_back(number[output]);
  return result;
}

}  // namespace temper::partition
