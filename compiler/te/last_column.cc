#include "compiler/te/last_column.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/te/rewrite.h"

namespace temper::te {
namespace {

using tir::Expr;
using tir::ExprKind;

constexpr int64_t kLanes = 16;
constexpr int64_t kMostVectors = 6;  // so that four rows of them fit 32 registers
constexpr int64_t kLeastRows = 4;
constexpr int64_t kShortestSum = 32;
constexpr int64_t kLongestSum = 512;  // a column of so many stays in the first-level cache

struct Found {
  size_t stage = 0;
  int rows = 0;  // which factor of the body moves with the rows
};

std::optional<Found> MatchStage(const Program& p, size_t number) {
  const Stage& s = p.stages[number];
  if (s.combiner != Combiner::kSum || s.spatial.size() < 2 || s.reduce.size() != 1) return {};
  if (s.body->kind() != ExprKind::kMul || s.body->type().dtype != DType::kFloat32) return {};
  const Axis& columns = s.spatial.back();
  const Axis& rows = s.spatial[s.spatial.size() - 2];
  const Axis& sum = s.reduce[0];
  if (columns.extent % kLanes != 1 || columns.extent == 1 ||
      columns.extent / kLanes > kMostVectors || rows.extent < kLeastRows ||
      sum.extent % kLanes != 0 || sum.extent < kShortestSum || sum.extent > kLongestSum) {
    return {};
  }
  for (int side : {0, 1}) {
    const Expr& x = s.body->operand(side);
    const Expr& w = s.body->operand(1 - side);
    if (x->kind() != ExprKind::kLoad || w->kind() != ExprKind::kLoad) return {};
    if (p.tensors[x->buffer()].constant || p.tensors[w->buffer()].constant) return {};
    if (Uses(x, columns) || Uses(w, rows) || !Uses(w, columns)) continue;
    const auto indices = x->indices();
    if (indices.empty() || indices.back()->kind() != ExprKind::kVar ||
        indices.back()->var_id() != sum.var->var_id()) {
      continue;
    }
    return Found{number, side};
  }
  return {};
}

std::optional<Found> Find(const Program& p) {
  if (p.stages.size() + 3 > kMaxStages || p.tensors.size() + 3 > kMaxTensors) return {};
  for (size_t s = 0; s < p.stages.size(); ++s) {
    if (auto found = MatchStage(p, s)) return found;
  }
  return {};
}

}  // namespace

bool HasLastColumn(const Program& program) { return Find(program).has_value(); }

Result<Program> MakeLastColumn(const Program& program) {
  const auto found = Find(program);
  if (!found) return FailedPrecondition("the workload has no product with a column of its own");
  Program p = program;
  const Stage whole = p.stages[found->stage];
  const size_t rank = whole.spatial.size();
  const Expr& x = whole.body->operand(found->rows);
  const Expr& w = whole.body->operand(1 - found->rows);
  const int64_t last = whole.spatial.back().extent - 1;
  auto multiply = [&](const Expr& of_rows, const Expr& other) {
    return found->rows == 0 ? of_rows * other : other * of_rows;
  };

  Stage vectors;
  vectors.name = whole.name + ".vectors";
  vectors.combiner = Combiner::kSum;
  {
    std::vector<Expr> map(p.next_var + rank + 1);
    for (size_t a = 0; a < rank; ++a) {
      vectors.spatial.push_back({p.NewVar("v"), a + 1 < rank ? whole.spatial[a].extent : last});
      map[whole.spatial[a].var->var_id()] = vectors.spatial.back().var;
    }
    vectors.reduce.push_back({p.NewVar("k"), whole.reduce[0].extent});
    map[whole.reduce[0].var->var_id()] = vectors.reduce[0].var;
    vectors.body = tir::Substitute(whole.body, map);
  }
  const int m = InsertStage(p, found->stage, std::move(vectors));

  Stage column;
  column.name = whole.name + ".column";
  std::vector<size_t> kept;  // axes of the product that move the column
  {
    std::vector<Expr> map(p.next_var + rank + 1);
    for (size_t a = 0; a + 2 < rank; ++a) {
      if (!Uses(w, whole.spatial[a])) continue;
      kept.push_back(a);
      column.spatial.push_back({p.NewVar("c"), whole.spatial[a].extent});
      map[whole.spatial[a].var->var_id()] = column.spatial.back().var;
    }
    column.spatial.push_back({p.NewVar("k"), whole.reduce[0].extent});
    map[whole.reduce[0].var->var_id()] = column.spatial.back().var;
    map[whole.spatial.back().var->var_id()] = tir::Index(last);
    column.body = tir::Substitute(w, map);
  }
  const int c = InsertStage(p, found->stage + 1, std::move(column));

  Stage sums;
  sums.name = whole.name + ".last";
  sums.combiner = Combiner::kSum;
  {
    std::vector<Expr> map(p.next_var + rank + 1);
    for (size_t a = 0; a + 1 < rank; ++a) {
      sums.spatial.push_back({p.NewVar("d"), whole.spatial[a].extent});
      map[whole.spatial[a].var->var_id()] = sums.spatial.back().var;
    }
    sums.reduce.push_back({p.NewVar("k"), whole.reduce[0].extent});
    map[whole.reduce[0].var->var_id()] = sums.reduce[0].var;
    std::vector<Expr> index;
    for (size_t a : kept) index.push_back(sums.spatial[a].var);
    index.push_back(sums.reduce[0].var);
    sums.body = multiply(tir::Substitute(x, map), p.Read(c, index));
  }
  const int d = InsertStage(p, found->stage + 2, std::move(sums));

  Stage& out = p.stages[found->stage + 3];  // the same axes and tensor
  out.reduce.clear();
  out.combiner = Combiner::kNone;
  std::vector<Expr> row;
  for (size_t a = 0; a + 1 < rank; ++a) row.push_back(out.spatial[a].var);
  const Expr of_last = p.Read(d, row);
  row.push_back(tir::Min(out.spatial.back().var, tir::Index(last - 1)));
  out.body =
      tir::Select(tir::Lt(out.spatial.back().var, tir::Index(last)), p.Read(m, row), of_last);
  return p;
}

}  // namespace temper::te
