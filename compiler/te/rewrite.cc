#include "compiler/te/rewrite.h"

#include <algorithm>
#include <utility>

namespace temper::te {

using tir::Expr;
using tir::ExprKind;

bool Uses(const Expr& e, const Axis& axis) {
  bool uses = false;
  tir::Visit(e, [&](const Expr& n) {
    uses |= n->kind() == ExprKind::kVar && n->var_id() == axis.var->var_id();
    return !uses;
  });
  return uses;
}

int InsertStage(Program& program, size_t at, Stage stage) {
  for (Tensor& t : program.tensors) {
    if (t.producer >= static_cast<int>(at)) ++t.producer;
  }
  const int id = program.AddStage(std::move(stage));
  program.tensors[id].producer = static_cast<int>(at);
  std::rotate(program.stages.begin() + static_cast<std::ptrdiff_t>(at), program.stages.end() - 1,
              program.stages.end());
  return id;
}

void CombineParts(Program& program, size_t at, Stage parts) {
  const Axis part = parts.spatial.back();
  const int partial = InsertStage(program, at, std::move(parts));
  Stage& stage = program.stages[at + 1];
  Stage rest;
  rest.name = stage.name;
  rest.tensor = stage.tensor;
  rest.combiner = stage.combiner;
  std::vector<Expr> index;
  for (const Axis& a : stage.spatial) {
    rest.spatial.push_back({program.NewVar("c"), a.extent});
    index.push_back(rest.spatial.back().var);
  }
  rest.reduce.push_back({program.NewVar(part.var->var_name()), part.extent});
  index.push_back(rest.reduce.back().var);
  rest.body = program.Read(partial, index);
  stage = std::move(rest);
}

}  // namespace temper::te
