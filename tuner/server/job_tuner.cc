#include "tuner/server/job_tuner.h"

#include <utility>

namespace temper::tuner {
namespace {

class ModelJobTuner final : public JobTuner {
 public:
  explicit ModelJobTuner(std::unique_ptr<ModelTuner> tuner) : tuner_(std::move(tuner)) {}
  std::vector<Candidate> Propose(int n) override { return tuner_->Propose(n); }
  void Observe(std::span<const Measured> results) override { tuner_->Observe(results); }
  void Abandon(const Candidate& candidate) override { tuner_->Abandon(candidate); }
  bool Done() const override { return tuner_->Done(); }
  TunerState Snapshot() const override { return tuner_->Snapshot(); }
  std::string SaveModel() const override { return tuner_->SaveModel(); }

 private:
  std::unique_ptr<ModelTuner> tuner_;
};

}  // namespace

TunerFactory ModelTunerFactory() {
  return [](std::vector<TunerTask> tasks, const Target& target, TunerOptions options,
            std::span<const Measured> records,
            const Clock* clock) -> Result<std::unique_ptr<JobTuner>> {
    TEMPER_ASSIGN_OR_RETURN(auto tuner, ModelTuner::Create(std::move(tasks), target,
                                                           std::move(options), records, clock));
    return std::unique_ptr<JobTuner>(std::make_unique<ModelJobTuner>(std::move(tuner)));
  };
}

}  // namespace temper::tuner
