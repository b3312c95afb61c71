#include "compiler/partition/inline.h"

#include <algorithm>
#include <limits>

namespace temper::partition {
namespace {

using tir::Expr;
using tir::ExprKind;

// Of one that te::Verify would refuse, any number above its limit.
int64_t Elements(const te::Tensor& tensor) {
  int64_t count = 1;
  for (int64_t extent : tensor.shape) {
    if (__builtin_mul_overflow(count, extent, &count)) return std::numeric_limits<int64_t>::max();
  }
  return count;
}

// Stages join from the first to the last; bodies are written out once, when it is known which do: a
// chain of n stages would else be copied n times.
class Inliner {
 public:
  Inliner(const te::Program& program, int64_t limit)
      : program_(program),
        limit_(limit),
        joins_(program.stages.size()),
        sizes_(program.stages.size()),
        map_(static_cast<size_t>(program.next_var)),
        number_(program.tensors.size(), -1) {}

  te::Program Run() {
    FindJoining();
    for (size_t s = 0; s < sizes_.size(); ++s) {
      Measure(program_.stages[s].body, static_cast<int>(s), 1);
      // Its readers would be larger still.
      if (sizes_[s].nodes >= limit_) joins_[s] = false;
    }
    return WriteOut();
  }

 private:
  // Of a stage's body once everything in it is inlined.
  struct Size {
    int64_t nodes = 0;
    std::vector<int64_t> uses;  // of its spatial axes
  };

  bool Joins(int buffer) const {
    const int producer = program_.tensors[buffer].producer;
    return producer >= 0 && joins_[producer];
  }

  // By their readers.
  void FindJoining() {
    for (size_t s = 0; s < joins_.size(); ++s) {
      joins_[s] = program_.stages[s].combiner == te::Combiner::kNone;
      sizes_[s].uses.resize(program_.stages[s].spatial.size());
    }
    for (int output : program_.outputs) joins_[program_.tensors[output].producer] = false;
    for (const te::Stage& reader : program_.stages) {
      tir::Visit(reader.body, [&](const Expr& e) {
        if (e->kind() != ExprKind::kLoad) return true;
        const te::Tensor& tensor = program_.tensors[e->buffer()];
        if (tensor.producer >= 0 &&
            (reader.combiner != te::Combiner::kNone ||
             Elements(tensor) < Elements(program_.tensors[reader.tensor]))) {
          joins_[tensor.producer] = false;
        }
        return true;
      });
    }
  }

  // Adds the size of `times` copies of the expression to that of stage `s`.
  void Measure(const Expr& e, int s, int64_t times) {
    Size& size = sizes_[s];
    // What is as large as that does not join, so that how much larger does not matter.
    if (times == 0 || size.nodes >= limit_) return;
    if (e->kind() == ExprKind::kLoad && Joins(e->buffer())) {
      const Size& inner = sizes_[program_.tensors[e->buffer()].producer];
      size.nodes += times * inner.nodes;
      for (size_t d = 0; d < inner.uses.size(); ++d) {
        size.nodes -= times * inner.uses[d];
        Measure(e->indices()[d], s, times * inner.uses[d]);
      }
      return;
    }
    size.nodes += times;
    if (e->kind() == ExprKind::kVar) {
      const auto& axes = program_.stages[s].spatial;
      for (size_t d = 0; d < axes.size(); ++d) {
        if (axes[d].var->var_id() == e->var_id()) size.uses[d] += times;
      }
    }
    for (const Expr& operand : e->operands()) Measure(operand, s, times);
  }

  Expr Expand(const Expr& e) {
    if (e->kind() == ExprKind::kVar) {
      const Expr& other = map_[static_cast<size_t>(e->var_id())];
      return other ? other : e;
    }
    if (e->kind() != ExprKind::kLoad) {
      return tir::MapOperands(e, [&](const Expr& operand) { return Expand(operand); });
    }
    std::vector<Expr> indices;
    for (const Expr& index : e->indices()) indices.push_back(Expand(index));
    if (!Joins(e->buffer())) return tir::Load(number_[e->buffer()], e->type().dtype, indices);
    const te::Stage& producer = program_.stages[program_.tensors[e->buffer()].producer];
    for (size_t d = 0; d < indices.size(); ++d) {
      map_[static_cast<size_t>(producer.spatial[d].var->var_id())] = std::move(indices[d]);
    }
    return Expand(producer.body);
  }

  te::Program WriteOut() {
    te::Program result = program_;
    result.stages.clear();
    result.tensors.clear();
    result.inputs.clear();
    result.outputs.clear();
    // Tensors that stay, renumbered.
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      if (Joins(static_cast<int>(t))) continue;
      number_[t] = static_cast<int>(result.tensors.size());
      result.tensors.push_back(program_.tensors[t]);
    }
    for (size_t s = 0; s < program_.stages.size(); ++s) {
      if (joins_[s]) continue;
      te::Stage stage = program_.stages[s];
      stage.tensor = number_[stage.tensor];
      stage.body = Expand(program_.stages[s].body);
      result.tensors[stage.tensor].producer = static_cast<int>(result.stages.size());
      result.stages.push_back(std::move(stage));
    }
    for (int input : program_.inputs) result.inputs.push_back(number_[input]);
    for (int output : program_.outputs) result.outputs.push_back(number_[output]);
    return result;
  }

  const te::Program& program_;
  const int64_t limit_;
  std::vector<char> joins_;
  std::vector<Size> sizes_;
  std::vector<Expr> map_;    // by variable: what it stands for where its stage was inlined last
  std::vector<int> number_;  // by tensor: its number in the result
};

}  // namespace

te::Program InlinePoints(const te::Program& program, int64_t limit) {
  return Inliner(program, limit).Run();
}

}  // namespace temper::partition
