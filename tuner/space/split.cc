#include "tuner/space/split.h"

#include <algorithm>

namespace temper::tuner {

using schedule::Bind;
using schedule::Edge;
using schedule::StageSchedule;

namespace {

constexpr int64_t kShortest = 4;  // a reduction that is worth splitting

bool LongSpatial(const te::Stage& stage, int axis) { return stage.spatial[axis].extent > 1; }

// Whether stage `s` loads a new element of `read` for each of its points, along `axis`.
bool Streams(const te::Stage& stage, const Read& read, int axis) {
  if (read.strides[axis] != 1 && read.strides[axis] != -1) return false;
  for (int a = 0; a < static_cast<int>(stage.spatial.size()); ++a) {
    if (LongSpatial(stage, a) && !read.DependsOn(a)) return false;
  }
  return true;
}

StageSchedule AtLoop(const te::Stage& stage, int number, int loop) {
  StageSchedule s;
  s.place = {schedule::PlaceKind::kAt, number, loop};
  s.scope = tir::Scope::kRegister;
  for (int a = 0; a < static_cast<int>(stage.spatial.size()); ++a) {
    s.groups.push_back({{a}, {}, Edge::kDivides});
    s.order.push_back({a, 0, Bind::kSerial});
  }
  return s;
}

}  // namespace

int SplitAxis(const te::Program& program, const std::vector<StageInfo>& info, int s) {
  const te::Stage& stage = program.stages[s];
  if (!info[s].reduces) return -1;
  const DType dtype = program.tensors[stage.tensor].dtype;
  if (ByteSize(dtype) == 8 && IsInt(dtype)) return -1;  // indices, which are rewritten as such
  int found = -1;
  for (const Read& read : info[s].reads) {
    bool constant = program.tensors[read.tensor].constant;
    bool moves = false;  // as the reduction goes
    for (int a = static_cast<int>(stage.spatial.size()); a < stage.axis_count(); ++a) {
      moves |= read.DependsOn(a);
    }
    if (!moves) continue;
    for (int a = 0; a < static_cast<int>(stage.spatial.size()); ++a) {
      bool contiguous = read.strides[a] == 1 || read.strides[a] == -1;
      if (contiguous && LongSpatial(stage, a) && !constant) return -1;
    }
    for (int a = static_cast<int>(stage.spatial.size()); a < stage.axis_count(); ++a) {
      if (read.strides[a] == Read::kIrregular) return -1;
      if (stage.axis(a).extent < kShortest || constant) continue;
      if (Streams(stage, read, a)) found = a;
    }
  }
  return found;
}

SplitShape ShapeOfSplit(int64_t extent, int64_t sums, int64_t lanes) {
  while (lanes > extent) lanes /= 2;
  while (sums > 1 && sums * lanes > extent) sums /= 2;
  return {sums, lanes};
}

std::vector<schedule::Step> SplitSteps(const te::Stage& stage, int s, int axis, SplitShape shape) {
  schedule::Step first, second;
  first.kind = second.kind = schedule::StepKind::kSplitReduction;
  first.target = second.target = s;
  first.axis = axis;
  first.parts = shape.vectors * shape.lanes;
  second.axis = static_cast<int>(stage.spatial.size());
  second.parts = shape.lanes;
  return {first, second};
}

void EmitSplit(const te::Stage& stage, int axis, SplitShape shape, const std::vector<Bind>& leading,
               int number, schedule::Schedule* out) {
  auto spatial = static_cast<int>(stage.spatial.size());
  StageSchedule& s = out->stages[number];
  for (int a = 0; a < spatial; ++a) {
    s.groups.push_back({{a}, {}, Edge::kDivides});
    s.order.push_back({a, 0, leading[a]});
  }
  s.groups.push_back({{spatial}, {shape.lanes}, Edge::kDivides});
  s.order.push_back({spatial, 0, Bind::kSerial});  // once: all else happens in it
  s.order.push_back({spatial, 1, Bind::kVector});

  StageSchedule& parts = out->stages[number - 2];
  parts = AtLoop(stage, number, spatial);
  parts.groups.push_back({{spatial}, {shape.vectors, shape.lanes}, Edge::kDivides});
  parts.order.push_back({spatial, 0, Bind::kSerial});
  for (int a = spatial; a < stage.axis_count(); ++a) {
    parts.groups.push_back({{a + 1}, {}, Edge::kDivides});
    if (a != axis) parts.order.push_back({a + 1, 0, Bind::kSerial});
  }
  parts.order.push_back({axis + 1, 0, Bind::kSerial});
  parts.order.push_back({spatial, 1, Bind::kUnroll});
  parts.order.push_back({spatial, 2, Bind::kVector});

  StageSchedule& vector = out->stages[number - 1];
  vector = AtLoop(stage, number, spatial);
  vector.groups.push_back({{spatial}, {shape.lanes}, Edge::kDivides});
  vector.groups.push_back({{spatial + 1}, {}, Edge::kDivides});
  vector.order.push_back({spatial, 0, Bind::kSerial});
  vector.order.push_back({spatial + 1, 0, Bind::kUnroll});
  vector.order.push_back({spatial, 1, Bind::kVector});
}

int64_t VectorsOfSplit(const te::Stage& stage, int number, const schedule::Schedule& s) {
  size_t spatial = stage.spatial.size();
  if (number < 2) return 0;
  const StageSchedule& parts = s.stages[number - 2];
  if (parts.groups.size() <= spatial || parts.groups[spatial].factors.size() != 2) return 0;
  return parts.groups[spatial].factors[0];
}

}  // namespace temper::tuner
