#include <algorithm>
#include <cmath>

#include "costmodel/cost_model.h"

namespace temper::costmodel {
namespace {

class PriorModel final : public CostModel {
 public:
  std::vector<double> Predict(std::span<const ProgramFeatures* const> programs) const override {
    std::vector<double> scores;
    scores.reserve(programs.size());
    for (const ProgramFeatures* p : programs) scores.push_back(-std::log(p->prior_us + 1e-9));
    return scores;
  }
  double Microseconds(const ProgramFeatures& program, double) const override {
    return std::max(program.prior_us, 1e-3);
  }
  Status Update(std::span<const Sample>) override { return OkStatus(); }
  bool WantsTraining() const override { return false; }
  Status Train() override { return OkStatus(); }
  std::string Save() const override { return {}; }
  Status Load(const std::string&) override {
    return FailedPrecondition("the prior learns nothing, so there is nothing to load into it");
  }
};

}  // namespace

std::unique_ptr<CostModel> MakePriorModel() { return std::make_unique<PriorModel>(); }

}  // namespace temper::costmodel
