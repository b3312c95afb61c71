#include "tuner/space/short_sums.h"

#include <algorithm>

namespace temper::tuner {
namespace {

using tir::Expr;
using tir::ExprKind;

int AxisOf(const te::Stage& stage, const Expr& e) {
  if (e->kind() != ExprKind::kVar) return -1;
  for (size_t a = 0; a < stage.spatial.size(); ++a) {
    if (stage.spatial[a].var->var_id() == e->var_id()) return static_cast<int>(a);
  }
  return -1;
}

}  // namespace

int64_t ChosenTile(const te::Stage& stage, const Expr& e, int* axis) {
  *axis = AxisOf(stage, e);
  if (*axis >= 0) {
    int64_t extent = stage.spatial[*axis].extent;
    return extent <= kShortAxis ? extent : 1;
  }
  if (e->kind() != ExprKind::kFloorMod || e->operand(1)->kind() != ExprKind::kIntImm) return 1;
  *axis = AxisOf(stage, e->operand(0));
  int64_t m = e->operand(1)->int_value();
  return *axis >= 0 && m <= kShortAxis ? m : 1;
}

std::vector<int64_t> ChosenTiles(const te::Stage& stage, const Expr& body) {
  std::vector<int64_t> tiles(stage.spatial.size(), 1);
  tir::Visit(body, [&](const Expr& e) {
    if (e->kind() == ExprKind::kEq && e->operand(1)->kind() == ExprKind::kIntImm) {
      int a = -1;
      int64_t tile = ChosenTile(stage, e->operand(0), &a);
      if (a >= 0) tiles[a] = std::max(tiles[a], tile);
    }
    return true;
  });
  return tiles;
}

bool ChoosesSums(const te::Stage& stage) {
  bool chooses = false;
  tir::Visit(stage.body, [&](const Expr& e) {
    if (e->kind() == ExprKind::kEq && e->operand(1)->kind() == ExprKind::kIntImm) {
      int a = AxisOf(stage, e->operand(0));
      chooses |= a >= 0 && stage.spatial[a].extent <= kShortAxis;
    }
    return true;
  });
  return chooses;
}

}  // namespace temper::tuner
