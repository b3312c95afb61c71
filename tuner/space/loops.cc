#include "tuner/space/loops.h"

#include <algorithm>

namespace temper::tuner {

using schedule::Bind;
using schedule::Edge;

namespace {

constexpr size_t kOrderedAxes = 4;

}  // namespace

int WidestBytes(const RuleContext& context, int s) {
  const te::Program& program = *context.program;
  int bytes = std::max(4, ByteSize(program.tensors[program.stages[s].tensor].dtype));
  for (const Read& read : (*context.info)[s].reads) {
    bytes = std::max(bytes, ByteSize(program.tensors[read.tensor].dtype));
  }
  return bytes;
}

std::vector<int64_t> LaneChoices(const RuleContext& context, int s, int64_t extent) {
  std::vector<int64_t> choices;
  for (int64_t lanes = context.target->Lanes(WidestBytes(context, s)); lanes > 1; lanes /= 2) {
    if (lanes > extent) continue;
    choices.push_back(lanes);
    if (extent % lanes == 0) break;
  }
  if (choices.empty()) choices.push_back(1);
  return choices;
}

int ContiguousAxis(const te::Stage& stage) {
  int last = static_cast<int>(stage.spatial.size()) - 1;
  for (int a = last; a >= 0; --a) {
    if (stage.spatial[a].extent > 1) return a;
  }
  return last;
}

std::vector<int64_t> UpTo(std::vector<int64_t> candidates, int64_t limit) {
  std::erase_if(candidates, [&](int64_t c) { return c > limit; });
  if (candidates.empty()) candidates.push_back(1);
  return candidates;
}

std::vector<int64_t> OrderChoices(size_t n) {
  int64_t count = 1;
  for (size_t i = 2; i <= std::min(n, kOrderedAxes); ++i) count *= static_cast<int64_t>(i);
  std::vector<int64_t> all(count);
  for (int64_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

std::vector<int> OrderedAxes(const std::vector<int>& axes, int64_t number) {
  size_t fixed = axes.size() > kOrderedAxes ? axes.size() - kOrderedAxes : 0;
  std::vector<int> result(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(fixed));
  std::vector<int> rest(axes.begin() + static_cast<std::ptrdiff_t>(fixed), axes.end());
  int64_t block = 1;
  for (size_t i = 2; i < rest.size(); ++i) block *= static_cast<int64_t>(i);
  while (!rest.empty()) {
    auto pick = std::min<int64_t>(number / block, static_cast<int64_t>(rest.size()) - 1);
    number -= pick * block;
    result.push_back(rest[pick]);
    rest.erase(rest.begin() + pick);
    if (rest.size() > 1) block /= static_cast<int64_t>(rest.size());
  }
  return result;
}

int64_t OrderNumber(const std::vector<int>& axes, const std::vector<int>& ordered) {
  for (int64_t number : OrderChoices(axes.size())) {
    std::vector<int> order = OrderedAxes(axes, number);
    std::erase_if(order, [&](int a) {
      return std::find(ordered.begin(), ordered.end(), a) == ordered.end();
    });
    if (order == ordered) return number;
  }
  return 0;
}

std::vector<int64_t> ParallelChoices(int threads, size_t axes) {
  if (threads <= 1 || axes == 0) return {0};
  std::vector<int64_t> choices;
  for (size_t i = 1; i <= std::min<size_t>(axes, 3); ++i) {
    choices.push_back(static_cast<int64_t>(i));
  }
  choices.push_back(0);
  return choices;
}

Edge EdgeFor(int64_t extent, int64_t tile, Edge other) {
  return extent % tile == 0 ? Edge::kDivides : other;
}

int EmitTiledLoops(const te::Stage& stage, const std::vector<AxisTile>& tiles,
                   const std::vector<int>& outer_order, int64_t parallel, Edge tile_edge,
                   schedule::StageSchedule* out) {
  auto axes = static_cast<int>(stage.spatial.size());
  out->groups.clear();
  out->order.clear();
  std::vector<bool> trivial(axes);
  for (int a = 0; a < axes; ++a) {
    const AxisTile& t = tiles[a];
    schedule::Group group;
    group.axes = {a};
    if (t.middle > 1) group.factors.push_back(t.middle);
    if (t.tile > 1) group.factors.push_back(t.tile);
    if (t.lanes > 1) group.factors.push_back(t.lanes);
    int64_t extent = stage.spatial[a].extent;
    group.edge = EdgeFor(extent, t.product(), t.lanes > 1 ? Edge::kMask : tile_edge);
    trivial[a] = extent <= t.product();
    out->groups.push_back(std::move(group));
  }
  Bind first = parallel > 0 ? Bind::kParallel : Bind::kSerial;
  for (int a = 0; a < axes; ++a) {
    if (trivial[a]) out->order.push_back({a, 0, first});
  }
  for (int a : outer_order) {
    if (trivial[a]) continue;
    out->order.push_back({a, 0, parallel > 0 ? Bind::kParallel : Bind::kSerial});
    --parallel;
  }
  std::vector<int> level(axes, 1);
  for (int a : outer_order) {
    if (tiles[a].middle > 1) out->order.push_back({a, level[a]++, Bind::kSerial});
  }
  auto outside = static_cast<int>(out->order.size());
  int vector_axis = -1;
  for (int a = 0; a < axes; ++a) {
    if (tiles[a].lanes > 1) vector_axis = a;
  }
  for (int a = 0; a < axes; ++a) {
    if (a != vector_axis && tiles[a].tile > 1) out->order.push_back({a, level[a]++, Bind::kUnroll});
  }
  if (vector_axis >= 0) {
    int a = vector_axis;
    if (tiles[a].tile > 1) out->order.push_back({a, level[a]++, Bind::kUnroll});
    out->order.push_back({a, level[a]++, Bind::kVector});
  }
  return outside;
}

bool ReadTiledLoops(const te::Stage& stage, const schedule::StageSchedule& s,
                    std::vector<AxisTile>* tiles, std::vector<int>* outer_order,
                    int64_t* parallel) {
  auto axes = static_cast<int>(stage.spatial.size());
  if (static_cast<int>(s.groups.size()) != axes) return false;
  for (int a = 0; a < axes; ++a) {
    if (s.groups[a].axes != std::vector<int>{a}) return false;
  }
  tiles->assign(axes, {});
  outer_order->clear();
  *parallel = 0;
  bool any_parallel = false;
  for (const schedule::LoopRef& loop : s.order) {
    if (loop.group < 0 || loop.group >= axes || loop.level < 0 ||
        loop.level > static_cast<int>(s.groups[loop.group].factors.size())) {
      return false;
    }
    AxisTile& t = (*tiles)[loop.group];
    if (loop.level == 0) {
      int64_t product = 1;
      for (int64_t f : s.groups[loop.group].factors) product *= f;
      any_parallel |= loop.bind == Bind::kParallel;
      if (stage.spatial[loop.group].extent <= product) continue;
      outer_order->push_back(loop.group);
      if (loop.bind == Bind::kParallel) ++*parallel;
      continue;
    }
    int64_t factor = s.groups[loop.group].factors[loop.level - 1];
    if (loop.bind == Bind::kSerial) t.middle = factor;
    if (loop.bind == Bind::kUnroll) t.tile = factor;
    if (loop.bind == Bind::kVector) t.lanes = factor;
  }
  if (any_parallel && *parallel == 0) *parallel = 1;
  return true;
}

}  // namespace temper::tuner
