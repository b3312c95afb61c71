#include "compiler/tools/untuned.h"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <utility>

#include "costmodel/cost_model.h"
#include "tuner/search/default_schedule.h"

namespace temper::tools {
namespace {

// Copies of one model, for threads that predict at the same time: a model has one owner.
class ModelPool {
 public:
  explicit ModelPool(std::string bytes) : bytes_(std::move(bytes)) {}

  Result<std::unique_ptr<costmodel::CostModel>> Take() {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto model = std::move(idle_.back());
        idle_.pop_back();
        return model;
      }
    }
    auto model = costmodel::MakeBoostedModel({});
    TEMPER_RETURN_IF_ERROR(model->Load(bytes_));
    return model;
  }

  void Give(std::unique_ptr<costmodel::CostModel> model) {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(model));
  }

 private:
  const std::string bytes_;
  std::mutex mutex_;  // of idle_
  std::vector<std::unique_ptr<costmodel::CostModel>> idle_;
};

Result<driver::UntunedSchedule> Choose(const te::Program& program, const Target& target,
                                       int threads, Constants constants, te::Numerics numerics,
                                       ModelPool* pool) {
  std::unique_ptr<costmodel::CostModel> model;
  if (pool) {
    TEMPER_ASSIGN_OR_RETURN(model, pool->Take());
  }
  tuner::DefaultChoice choice = tuner::ChooseDefault(program, target, threads, model.get(),
                                                     tuner::kDefaultSamples, numerics, constants);
  if (pool) pool->Give(std::move(model));
  return driver::UntunedSchedule{std::move(choice.schedule),
                                 pool ? driver::SourceLevel::kModel : driver::SourceLevel::kPrior,
                                 choice.expected_us};
}

}  // namespace

driver::ScheduleChooser UntunedChooser(std::string model, std::vector<std::string>* warnings,
                                       te::Numerics numerics) {
  std::shared_ptr<ModelPool> pool;  // shared by the copies of the function below
  if (!model.empty()) {
    pool = std::make_shared<ModelPool>(std::move(model));
    auto first = pool->Take();
    if (first.ok()) {
      pool->Give(*std::move(first));
    } else {
      warnings->push_back(first.status().message() + "; the prior chooses schedules instead");
      pool = nullptr;
    }
  }
  return [pool, numerics](const te::Program& program, const Target& target, int threads,
                          Constants constants) {
    return Choose(program, target, threads, constants, numerics, pool.get());
  };
}

std::string StoredModelFor(const Target& target, db::ModelStore& store, const std::string& name,
                           std::vector<std::string>* warnings) {
  auto found =
      store.GetModel(Fingerprint(target), MicroArchitecture(target), costmodel::kFeaturesVersion);
  if (!found.ok()) {
    warnings->push_back(name + ": " + found.status().message() + "; it is not used");
    return {};
  }
  // One that an earlier version of this program left is no reason to be silent.
  for (int v = costmodel::kFeaturesVersion - 1; !found->has_value() && v > 0; --v) {
    auto old = store.GetModel(Fingerprint(target), MicroArchitecture(target), v);
    if (old.ok() && !old->has_value()) continue;
    warnings->push_back(fmt::format(
        "{}: its cost model is of features version {}, this program's is {}: it is not used; tune "
        "to train a new one",
        name, v, costmodel::kFeaturesVersion));
    return {};
  }
  return found->has_value() ? std::move((*found)->bytes) : std::string();
}

}  // namespace temper::tools
