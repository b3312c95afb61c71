#include "tuner/space/space.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/lower/lower.h"
#include "compiler/schedule/legality.h"
#include "compiler/schedule/steps.h"
#include "compiler/te/alternatives.h"
#include "compiler/te/canonical.h"
#include "tuner/space/rules.h"

namespace temper::tuner {

using schedule::Schedule;

struct Space::Impl {
  te::Program workload_program;
  int alternative = 0;
  te::Program program;  // of the alternative
  Target target;
  Constants constants = Constants::kCold;
  std::vector<StageInfo> info;
  RuleContext context;
  Hash workload;
  Plan plan;
  std::vector<std::unique_ptr<NestRule>> rules;
  std::vector<Knob> knobs;
  std::vector<int> first_knob;  // of each rule, and one past the last
  std::vector<int> first_pack;
  StageNumbers numbers;
  std::vector<int> packed_place;  // original stage -> its number once packs are there
  size_t stage_count = 0;         // with steps applied
  bool usable = false;            // else the only schedule is the reference one

  bool Prepare(int caution);
  bool NumberStages();
  std::vector<int64_t> Values(const Decision& decision) const;
  KnobValues Of(const std::vector<int64_t>& values, size_t rule) const {
    return KnobValues(values).subspan(first_knob[rule], first_knob[rule + 1] - first_knob[rule]);
  }
  std::vector<schedule::Step> Steps(const std::vector<int64_t>& values) const;
  Schedule Emit(const std::vector<int64_t>& values) const;
  int Draw(const Knob& knob, Rng& rng) const;
  bool Lowers() const;
};

// False where the steps of this plan cannot be applied.
bool Space::Impl::Prepare(int caution) {
  plan = MakePlan(program, info, caution);
  rules = MakeRules(context, plan);
  knobs.clear();
  first_knob.clear();
  for (size_t r = 0; r < rules.size(); ++r) {
    first_knob.push_back(static_cast<int>(knobs.size()));
    for (Knob& knob : rules[r]->Knobs()) {
      knob.nest = static_cast<int>(r);
      knobs.push_back(std::move(knob));
    }
  }
  first_knob.push_back(static_cast<int>(knobs.size()));
  return NumberStages();
}

// Where stages go does not depend on the values, so one application of the steps tells it.
bool Space::Impl::NumberStages() {
  std::vector<int64_t> values = Values(Decision(knobs.size(), 0));
  numbers = {};
  first_pack.clear();
  std::vector<schedule::Step> steps;
  for (size_t r = 0; r < rules.size(); ++r) {
    first_pack.push_back(static_cast<int>(steps.size()));
    for (schedule::Step& step : rules[r]->Packs(Of(values, r))) steps.push_back(std::move(step));
  }
  auto packed = schedule::ApplySteps(program, steps);
  if (!packed.ok()) return false;
  size_t packs = steps.size();
  packed_place.clear();
  for (const te::Stage& stage : program.stages) {
    packed_place.push_back(packed->tensors[stage.tensor].producer);
  }
  numbers.added.assign(program.stages.size(), 0);
  for (size_t r = 0; r < rules.size(); ++r) {
    for (const schedule::Step& step : rules[r]->StageSteps(Of(values, r))) {
      ++numbers.added[step.target];
    }
  }
  auto stepped = schedule::ApplySteps(program, Steps(values));
  if (!stepped.ok()) return false;
  stage_count = stepped->stages.size();
  for (const te::Stage& stage : program.stages) {
    numbers.of_stage.push_back(stepped->tensors[stage.tensor].producer);
  }
  for (size_t i = 0; i < packs; ++i) {
    auto tensor = static_cast<int>(program.tensors.size() + i);
    numbers.packed.push_back(tensor);
    numbers.packs.push_back(stepped->tensors[tensor].producer);
  }
  return true;
}

std::vector<int64_t> Space::Impl::Values(const Decision& decision) const {
  std::vector<int64_t> values(knobs.size());
  for (size_t k = 0; k < knobs.size(); ++k) values[k] = knobs[k].values[decision[k]];
  return values;
}

std::vector<schedule::Step> Space::Impl::Steps(const std::vector<int64_t>& values) const {
  std::vector<schedule::Step> steps;
  for (size_t r = 0; r < rules.size(); ++r) {
    for (schedule::Step& step : rules[r]->Packs(Of(values, r))) steps.push_back(std::move(step));
  }
  // A stage is added before its original; those added before have moved it already.
  std::vector<int> added;  // their originals
  for (size_t r = 0; r < rules.size(); ++r) {
    for (schedule::Step& step : rules[r]->StageSteps(Of(values, r))) {
      const int original = step.target;
      step.target = packed_place[original] +
                    static_cast<int>(std::count_if(added.begin(), added.end(),
                                                   [&](int other) { return other <= original; }));
      added.push_back(original);
      steps.push_back(std::move(step));
    }
  }
  return steps;
}

Schedule Space::Impl::Emit(const std::vector<int64_t>& values) const {
  Schedule s;
  s.workload = workload;
  s.alternative = alternative;
  s.threads = context.threads;
  s.steps = Steps(values);
  s.stages.resize(stage_count);
  for (size_t stage = 0; stage < plan.inlined.size(); ++stage) {
    if (!plan.inlined[stage]) continue;
    s.stages[numbers.of_stage[stage]].place.kind = schedule::PlaceKind::kInline;
  }
  for (size_t r = 0; r < rules.size(); ++r) {
    rules[r]->Emit(Of(values, r), numbers, first_pack[r], &s);
  }
  return s;
}

int Space::Impl::Draw(const Knob& knob, Rng& rng) const {
  if (knob.values.size() == 1 || rng.Chance(knob.first)) return 0;
  return static_cast<int>(rng.Uniform(knob.values.size()));
}

Space::Space(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Space::~Space() = default;
Space::Space(Space&&) noexcept = default;
Space& Space::operator=(Space&&) noexcept = default;

Space Space::Create(te::Program program, const Target& target, int threads, int alternative,
                    Constants constants) {
  auto impl = std::make_unique<Impl>();
  auto chosen = te::MakeAlternative(program, alternative);
  TEMPER_CHECK(chosen.ok());
  impl->workload_program = std::move(program);
  impl->alternative = alternative;
  impl->program = *std::move(chosen);
  impl->target = target;
  impl->constants = constants;
  impl->info = Analyze(impl->program);
  impl->workload = te::WorkloadHash(impl->workload_program);
  impl->context = {&impl->program, &impl->info, &impl->target, threads};
  Impl* state = impl.get();
  Space space(std::move(impl));
  for (int caution = 0; caution <= kMaxCaution; ++caution) {
    if (!state->Prepare(caution)) continue;
    Rng rng(1);
    for (int i = 0; i < 12; ++i) {
      Schedule s = space.Emit(space.Sample(rng, 0));
      state->usable = lower::LowerAlternative(state->program, s, target).ok();
      if (state->usable) return space;
    }
  }
  state->rules.clear();
  state->knobs.clear();
  return space;
}

const te::Program& Space::program() const { return impl_->workload_program; }
int Space::alternative() const { return impl_->alternative; }
const te::Program& Space::alternative_program() const { return impl_->program; }
const Target& Space::target() const { return impl_->target; }
int Space::threads() const { return impl_->context.threads; }
Constants Space::constants() const { return impl_->constants; }
const std::vector<Knob>& Space::knobs() const { return impl_->knobs; }

double Space::Size() const {
  double size = 1;
  for (const Knob& knob : impl_->knobs) size *= static_cast<double>(knob.values.size());
  return size;
}

bool Space::FitsRegisters(const Decision& decision) const {
  std::vector<int64_t> values = impl_->Values(decision);
  for (size_t r = 0; r < impl_->rules.size(); ++r) {
    if (!impl_->rules[r]->Fits(impl_->Of(values, r))) return false;
  }
  return true;
}

Decision Space::Sample(Rng& rng, double wild) const {
  constexpr int kTries = 64;
  Decision decision(impl_->knobs.size(), 0);
  for (size_t r = 0; r < impl_->rules.size(); ++r) {
    bool any = rng.Chance(wild);
    for (int attempt = 0; attempt < kTries; ++attempt) {
      for (int k = impl_->first_knob[r]; k < impl_->first_knob[r + 1]; ++k) {
        decision[k] = impl_->Draw(impl_->knobs[k], rng);
      }
      std::vector<int64_t> values = impl_->Values(decision);
      if (any || impl_->rules[r]->Fits(impl_->Of(values, r))) break;
    }
  }
  return decision;
}

Decision Space::Mutate(const Decision& parent, Rng& rng) const {
  constexpr int kTries = 16;
  std::vector<int> free;
  for (size_t k = 0; k < impl_->knobs.size(); ++k) {
    if (impl_->knobs[k].values.size() > 1) free.push_back(static_cast<int>(k));
  }
  if (free.empty()) return parent;
  Decision child;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    child = parent;
    uint64_t changes = 1 + rng.Uniform(3);
    for (uint64_t i = 0; i < changes; ++i) {
      int k = free[rng.Uniform(free.size())];
      auto n = static_cast<int>(impl_->knobs[k].values.size());
      if (rng.Chance(0.5)) {
        child[k] = std::clamp(child[k] + (rng.Chance(0.5) ? 1 : -1), 0, n - 1);
      } else {
        child[k] = static_cast<int>(rng.Uniform(n));
      }
    }
    if (child != parent && FitsRegisters(child)) break;
  }
  return child;
}

Decision Space::Cross(const Decision& a, const Decision& b, Rng& rng) const {
  constexpr int kTries = 8;
  bool by_nest = impl_->rules.size() > 1 && rng.Chance(0.5);
  for (int attempt = 0; attempt < kTries; ++attempt) {
    Decision child = a;
    bool from_b = false;
    for (size_t k = 0; k < child.size(); ++k) {
      bool border = k == 0 || impl_->knobs[k].nest != impl_->knobs[k - 1].nest;
      if (!by_nest || border) from_b = rng.Chance(0.5);
      if (from_b) child[k] = b[k];
    }
    if (FitsRegisters(child)) return child;
  }
  return a;
}

Schedule Space::Emit(const Decision& decision) const {
  if (!impl_->usable && impl_->rules.empty()) {
    return lower::ReferenceSchedule(impl_->program, impl_->target);
  }
  return impl_->Emit(impl_->Values(decision));
}

Result<Schedule> Space::Build(const Decision& decision) const {
  Schedule s = Emit(decision);
  TEMPER_RETURN_IF_ERROR(schedule::CheckLegal(impl_->workload_program, s, impl_->target));
  return s;
}

std::optional<Decision> Space::Extract(const Schedule& s) const {
  if (s.workload != impl_->workload || s.alternative != impl_->alternative ||
      s.threads != impl_->context.threads || s.stages.size() != impl_->stage_count) {
    return std::nullopt;
  }
  Decision decision(impl_->knobs.size(), 0);
  for (size_t r = 0; r < impl_->rules.size(); ++r) {
    std::vector<int64_t> values;
    if (!impl_->rules[r]->Extract(s, impl_->numbers, impl_->first_pack[r], &values)) {
      return std::nullopt;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      size_t k = impl_->first_knob[r] + i;
      const auto& all = impl_->knobs[k].values;
      auto at = std::find(all.begin(), all.end(), values[i]);
      if (at == all.end()) return std::nullopt;
      decision[k] = static_cast<int>(at - all.begin());
    }
  }
  if (!(Emit(decision) == s)) return std::nullopt;
  return decision;
}

std::string Space::Describe() const {
  std::string text;
  for (const Knob& knob : impl_->knobs) {
    text += fmt::format("nest {} {}: {}\n", knob.nest, knob.name, fmt::join(knob.values, " "));
  }
  return text;
}

}  // namespace temper::tuner
