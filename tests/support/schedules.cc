#include "tests/support/schedules.h"

namespace temper::testing {
namespace {

using namespace schedule;  // NOLINT: a test's own file

int Small(Rng& rng) { return static_cast<int>(rng.Uniform(40)); }
int64_t Large(Rng& rng) { return rng.UniformInt(0, int64_t{1} << rng.Uniform(41)); }

StageSchedule RandomStage(Rng& rng) {
  StageSchedule s;
  for (uint64_t g = rng.Uniform(5); g > 0; --g) {
    Group& group = s.groups.emplace_back();
    for (uint64_t a = rng.Uniform(4); a > 0; --a) group.axes.push_back(Small(rng));
    for (uint64_t f = rng.Uniform(4); f > 0; --f) group.factors.push_back(Large(rng));
    group.edge = static_cast<Edge>(rng.Uniform(3));
  }
  for (uint64_t l = rng.Uniform(8); l > 0; --l) {
    s.order.push_back({Small(rng), Small(rng), static_cast<Bind>(rng.Uniform(4))});
  }
  s.place.kind = static_cast<PlaceKind>(rng.Uniform(4));
  if (s.place.kind == PlaceKind::kAt) {
    s.place.stage = Small(rng);
    s.place.loop = Small(rng);
  }
  s.scope = static_cast<tir::Scope>(rng.Uniform(4));
  for (uint64_t p = rng.Uniform(3); p > 0; --p) {
    s.prefetches.push_back({Small(rng), Small(rng), Small(rng)});
  }
  return s;
}

}  // namespace

Schedule RandomSchedule(Rng& rng) {
  Schedule s;
  for (uint8_t& byte : s.workload.bytes) byte = static_cast<uint8_t>(rng.Next());
  s.alternative = Small(rng);
  s.threads = Small(rng);
  for (uint64_t n = rng.Uniform(4); n > 0; --n) {
    Step& step = s.steps.emplace_back();
    step.kind = static_cast<StepKind>(rng.Uniform(3));
    step.target = Small(rng);
    if (step.kind == StepKind::kSplitReduction) {
      step.axis = Small(rng);
      step.parts = Large(rng);
    }
    if (step.kind != StepKind::kPack) continue;
    for (uint64_t d = rng.Uniform(5); d > 0; --d) {
      step.dims.push_back({Small(rng), Large(rng), rng.Chance(0.5) ? 1 : Large(rng)});
    }
  }
  for (uint64_t n = rng.Uniform(6); n > 0; --n) s.stages.push_back(RandomStage(rng));
  return s;
}

}  // namespace temper::testing
