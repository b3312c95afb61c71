#include "tuner/search/default_schedule.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/lower/lower.h"
#include "compiler/te/canonical.h"
#include "tuner/search/evaluate.h"
#include "tuner/search/task_search.h"

namespace temper::tuner {
namespace {

constexpr double kLeastUs = 1e-3;

}  // namespace

DefaultChoice ChooseDefault(const te::Program& program, const Target& target, int threads,
                            const costmodel::CostModel* model, int samples, te::Numerics numerics,
                            Constants constants) {
  auto prior = costmodel::MakePriorModel();
  if (!model) model = prior.get();
  std::vector<Space> spaces = SpacesOf(program, target, threads, numerics, constants);
  std::vector<Describer> describers;
  for (const Space& space : spaces) describers.emplace_back(&space);
  std::optional<Scored> best = FirstChoice(describers, *model, samples);
  DefaultChoice choice;
  if (best) {
    choice.schedule = std::move(best->schedule);
    choice.expected_us = model->Microseconds(best->features, best->score);
    return choice;
  }
  choice.schedule = lower::ReferenceSchedule(program, target);
  choice.schedule.workload = te::WorkloadHash(program);
  auto features = Describe(program, choice.schedule, target, constants);
  // A program that cannot be described is one that the compiler refuses next, with its reason.
  choice.expected_us = features.ok() ? std::max(features->prior_us, kLeastUs) : kLeastUs;
  return choice;
}

schedule::Schedule DefaultSchedule(const te::Program& program, const Target& target, int threads,
                                   const costmodel::CostModel* model, int samples) {
  return ChooseDefault(program, target, threads, model, samples).schedule;
}

}  // namespace temper::tuner
