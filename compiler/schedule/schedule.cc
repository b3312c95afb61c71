#include "compiler/schedule/schedule.h"

#include <fmt/format.h>

namespace temper::schedule {
namespace {

constexpr int64_t kMaxNumber = int64_t{1} << 40;

// Self-delimiting: every number takes eight bytes, every list is led by its length.
class Bytes {
 public:
  Bytes() { out_.reserve(1024); }
  void Add(int64_t value) {
    const auto bits = static_cast<uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) {
      out_ += static_cast<char>(static_cast<uint8_t>(bits >> shift));
    }
  }
  template <typename T>
  void AddAll(const std::vector<T>& list) {
    Add(static_cast<int64_t>(list.size()));
    for (const T& item : list) Add(item);
  }
  void Add(const PackDim& d) {
    Add(d.axis);
    Add(d.extent);
    Add(d.step);
  }
  void Add(const Step& s) {
    Add(static_cast<int64_t>(s.kind));
    Add(s.target);
    AddAll(s.dims);
    if (s.kind != StepKind::kSplitReduction) return;
    Add(s.axis);
    Add(s.parts);
  }
  void Add(const Group& g) {
    AddAll(g.axes);
    AddAll(g.factors);
    Add(static_cast<int64_t>(g.edge));
  }
  void Add(const LoopRef& l) {
    Add(l.group);
    Add(l.level);
    Add(static_cast<int64_t>(l.bind));
  }
  void Add(const Prefetch& p) {
    Add(p.tensor);
    Add(p.loop);
    Add(p.distance);
  }
  void Add(const StageSchedule& s) {
    AddAll(s.groups);
    AddAll(s.order);
    Add(static_cast<int64_t>(s.place.kind));
    Add(s.place.kind == PlaceKind::kAt ? s.place.stage : -1);
    Add(s.place.kind == PlaceKind::kAt ? s.place.loop : -1);
    Add(static_cast<int64_t>(s.scope));
    AddAll(s.prefetches);
  }
  void Add(const Schedule& s) {
    out_ += s.workload.AsBytes();
    Add(s.alternative);
    Add(s.threads);
    AddAll(s.steps);
    AddAll(s.stages);
  }
  const std::string& Text() const { return out_; }

 private:
  std::string out_;
};

// Gathers whether everything that was looked at is in bounds.
class Bounds {
 public:
  void Number(const char* what, int64_t value) {
    if (value < 0 || value > kMaxNumber) Fail(fmt::format("{} is {}", what, value));
  }
  template <typename T>
  void Length(const char* what, const std::vector<T>& list, size_t most) {
    if (list.size() > most) Fail(fmt::format("{} {}; at most {}", list.size(), what, most));
  }
  template <typename E>
  void Value(const char* what, E value, E last) {
    if (value > last) Fail(fmt::format("{} {}", what, static_cast<int>(value)));
  }
  Status Take() { return std::move(status_); }

 private:
  void Fail(const std::string& message) {
    if (status_.ok()) status_ = InvalidArgument("a schedule out of bounds: " + message);
  }
  Status status_;
};

void CheckStage(const StageSchedule& s, Bounds* b) {
  b->Length("groups", s.groups, kMaxGroups);
  for (const Group& g : s.groups) {
    b->Length("axes in a group", g.axes, kMaxGroupAxes);
    for (int axis : g.axes) b->Number("an axis", axis);
    b->Length("factors in a group", g.factors, kMaxFactors);
    for (int64_t factor : g.factors) b->Number("a factor", factor);
    b->Value("edge policy", g.edge, Edge::kMask);
  }
  b->Length("loops", s.order, kMaxOrder);
  for (const LoopRef& l : s.order) {
    b->Number("a loop's group", l.group);
    b->Number("a loop's level", l.level);
    b->Value("bind", l.bind, Bind::kUnroll);
  }
  b->Value("place", s.place.kind, PlaceKind::kAt);
  if (s.place.kind == PlaceKind::kAt) {
    b->Number("a place's stage", s.place.stage);
    b->Number("a place's loop", s.place.loop);
  }
  b->Value("scope", s.scope, tir::Scope::kRegister);
  b->Length("prefetches", s.prefetches, kMaxPrefetches);
  for (const Prefetch& p : s.prefetches) {
    b->Number("a prefetch's tensor", p.tensor);
    b->Number("a prefetch's loop", p.loop);
    b->Number("a prefetch's distance", p.distance);
  }
}

}  // namespace

Hash ScheduleHash(const Schedule& schedule) {
  Bytes bytes;
  bytes.Add(schedule);
  return Sha256(bytes.Text());
}

Status CheckBounds(const Schedule& schedule) {
  Bounds b;
  b.Number("the alternative", schedule.alternative);
  b.Number("threads", schedule.threads);
  b.Length("steps", schedule.steps, kMaxSteps);
  for (const Step& s : schedule.steps) {
    b.Value("step", s.kind, StepKind::kSplitReduction);
    b.Number("a step's target", s.target);
    b.Number("a step's axis", s.axis);
    b.Number("a step's parts", s.parts);
    b.Length("dimensions in a pack", s.dims, kMaxPackDims);
    for (const PackDim& d : s.dims) {
      b.Number("a pack's axis", d.axis);
      b.Number("a pack's extent", d.extent);
      b.Number("a pack's step", d.step);
    }
  }
  b.Length("stages", schedule.stages, kMaxStageSchedules);
  for (const StageSchedule& s : schedule.stages) CheckStage(s, &b);
  return b.Take();
}

}  // namespace temper::schedule
