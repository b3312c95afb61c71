// Boosted trees over store features, through XGBoost's C API (only in this file).
//
// The score of a program is -log(prior) plus a part of the trees' sum over its stores, and stands
// for -log of its microseconds. The part, the model's trust, is how many programs it knows over
// that and a hundred: a search measures what it takes for fast, so that a hundred trials say little
// of the rest, and there the prior ranks better than trees that were grown on others. Two losses
// are added up. One is pairwise between programs of one task: each is compared with a few others
// drawn at random, by a logistic function of the difference of their scores; pairs near the top
// weigh more. It ranks. The other is the square of the score's distance from -log(time): it keeps
// scores to be times, so that tasks can be compared and a time expected. A store's row takes its
// program's gradient, its curvature times the number of rows, so that the sum moves by one Newton
// step. Failed programs weigh little: one that spills a register says nothing of how fast its
// neighbours are that do not.
//
// The trees are grown afresh at each training: their number is bounded so, and nothing of what old
// ones got wrong stays. A loaded model predicts until then.
#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>

#include "base/rng.h"
#include "costmodel/cost_model.h"
#include "costmodel/saved_model.h"

namespace temper::costmodel {
namespace {

constexpr int kPartners = 16;          // pairs drawn for each program
constexpr size_t kFirstTraining = 32;  // programs before anything is learned
constexpr double kSteepness = 8;       // of the logistic: a pair 1/8 apart in log time is clear
constexpr double kSquareWeight = 1;    // of the second loss
constexpr double kFailedWeight = 0.1;  // of a pair with a failed candidate
constexpr double kHalfTrust = 100;     // programs after which the trees count half
constexpr const char* kTrustName = "trust";  // the attribute that it is saved as
constexpr double kFailedRatio = 1e-3;  // best time over time of a failed candidate, for its rank

Status Check(int code, const char* what) {
  if (code == 0) return OkStatus();
  return Internal(fmt::format("XGBoost failed to {}: {}", what, XGBGetLastError()));
}

double BaseScore(const ProgramFeatures& p) { return -std::log(p.prior_us + 1e-9); }

class Matrix {
 public:
  ~Matrix() {
    if (handle_) XGDMatrixFree(handle_);
  }
  Status Create(const std::vector<float>& rows) {
    return Check(XGDMatrixCreateFromMat(rows.data(), rows.size() / kFeatureCount, kFeatureCount,
                                        NAN, &handle_),
                 "make a matrix");
  }
  DMatrixHandle get() const { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

class BoostedModel final : public CostModel {
 public:
  explicit BoostedModel(const BoostedOptions& options) : options_(options), rng_(options.seed) {}
  ~BoostedModel() override { Drop(); }

  std::vector<double> Predict(std::span<const ProgramFeatures* const> programs) const override {
    std::vector<double> scores;
    scores.reserve(programs.size());
    for (const ProgramFeatures* p : programs) scores.push_back(BaseScore(*p));
    if (!booster_ || programs.empty()) return scores;
    rows_.clear();
    for (const ProgramFeatures* p : programs) {
      for (const FeatureVector& f : p->stores) rows_.insert(rows_.end(), f.begin(), f.end());
    }
    std::string values = fmt::format(
        R"({{"data":[{},false],"shape":[{},{}],"typestr":"<f4","version":3}})",
        reinterpret_cast<uintptr_t>(rows_.data()), rows_.size() / kFeatureCount, kFeatureCount);
    static constexpr char kConfig[] =
        R"({"type":1,"training":false,"iteration_begin":0,"iteration_end":0,)"
        R"("strict_shape":false,"cache_id":0,"missing":NaN})";
    const bst_ulong* shape = nullptr;
    bst_ulong dims = 0;
    const float* out = nullptr;
    if (XGBoosterPredictFromDense(booster_, values.c_str(), kConfig, nullptr, &shape, &dims,
                                  &out) != 0) {
      return scores;  // the prior still ranks
    }
    for (size_t i = 0; i < programs.size(); ++i) {
      for (size_t r = 0; r < programs[i]->stores.size(); ++r) scores[i] += trust_ * *out++;
    }
    return scores;
  }

  double Microseconds(const ProgramFeatures&, double score) const override {
    return std::max(std::exp(-score), 1e-3);
  }

  Status Update(std::span<const Sample> samples) override {
    samples_.insert(samples_.end(), samples.begin(), samples.end());
    for (const Sample& s : samples) own_ += s.weight >= 1 ? 1 : 0;
    while (samples_.size() > static_cast<size_t>(options_.max_samples)) {
      own_ -= samples_.front().weight >= 1 ? 1 : 0;
      samples_.pop_front();
    }
    fresh_ += samples.size();
    return OkStatus();
  }

  bool WantsTraining() const override {
    // Trees of a loaded model know more than a few samples say.
    size_t least = booster_ || trained_ ? kFirstTraining / 2 : kFirstTraining;
    // Many related samples must not make a young task wait.
    return fresh_ >= std::max(least, own_ / 8);
  }

  Status Train() override {
    if (samples_.size() < kFirstTraining) return OkStatus();
    fresh_ = 0;
    trained_ = true;
    Status status = Grow();
    if (status.ok()) {
      double known = 0;
      for (const Sample& s : samples_) known += std::min(s.weight, 1.0);
      status = Trust(known / (known + kHalfTrust));
    }
    if (!status.ok()) Drop();
    return status;
  }

  std::string Save() const override {
    if (!booster_) return {};
    bst_ulong size = 0;
    const char* bytes = nullptr;
    if (XGBoosterSaveModelToBuffer(booster_, R"({"format":"json"})", &size, &bytes) != 0) return {};
    return SealModel({bytes, size});
  }

  Status Load(const std::string& bytes) override {
    TEMPER_ASSIGN_OR_RETURN(const std::string json, UnsealModel(bytes));
    Drop();
    TEMPER_RETURN_IF_ERROR(Create());
    Status status =
        Check(XGBoosterLoadModelFromBuffer(booster_, json.data(), json.size()), "load a model");
    if (status.ok()) status = SetParameters();
    const char* trust = nullptr;
    int found = 0;
    if (status.ok()) {
      status = Check(XGBoosterGetAttr(booster_, kTrustName, &trust, &found), "read the trust");
    }
    trust_ = status.ok() && found != 0 ? std::strtod(trust, nullptr) : 1;
    if (!status.ok()) Drop();
    return status;
  }

 private:
  Status Trust(double trust) {
    trust_ = trust;
    return Check(XGBoosterSetAttr(booster_, kTrustName, fmt::format("{}", trust).c_str()),
                 "keep the trust");
  }

  void Drop() {
    if (booster_) XGBoosterFree(booster_);
    booster_ = nullptr;
  }

  Status SetParameters() {
    const std::pair<const char*, std::string> parameters[] = {
        {"booster", "gbtree"},
        {"tree_method", "hist"},
        {"max_bin", "32"},
        {"max_depth", "4"},
        {"eta", "0.1"},
        {"colsample_bytree", "0.5"},
        {"lambda", "20"},
        {"base_score", "0"},
        {"num_feature", fmt::format("{}", kFeatureCount)},
        {"nthread", fmt::format("{}", options_.threads)},
        {"seed", fmt::format("{}", options_.seed & 0x7fffffff)},
        {"disable_default_eval_metric", "1"},
        {"verbosity", "0"}};
    for (const auto& [name, value] : parameters) {
      TEMPER_RETURN_IF_ERROR(
          Check(XGBoosterSetParam(booster_, name, value.c_str()), "set a parameter"));
    }
    return OkStatus();
  }

  Status Create() { return Check(XGBoosterCreate(nullptr, 0, &booster_), "make a booster"); }

  Status Grow() {
    Drop();
    TEMPER_RETURN_IF_ERROR(Create());
    TEMPER_RETURN_IF_ERROR(SetParameters());
    std::vector<float> rows;
    std::vector<size_t> row_of;  // the first row of each sample
    for (const Sample& s : samples_) {
      row_of.push_back(rows.size() / kFeatureCount);
      for (const FeatureVector& f : s.features.stores) rows.insert(rows.end(), f.begin(), f.end());
    }
    row_of.push_back(rows.size() / kFeatureCount);
    Matrix matrix;
    TEMPER_RETURN_IF_ERROR(matrix.Create(rows));
    MakePairs();
    std::vector<float> gradient(row_of.back()), curvature(row_of.back());
    for (int i = 0; i < options_.trees; ++i) {
      TEMPER_RETURN_IF_ERROR(Gradients(matrix, row_of, &gradient, &curvature));
      TEMPER_RETURN_IF_ERROR(Check(XGBoosterBoostOneIter(booster_, matrix.get(), gradient.data(),
                                                         curvature.data(), gradient.size()),
                                   "grow a tree"));
    }
    return OkStatus();
  }

  struct Pair {
    size_t better, worse;
    double weight;
  };

  // Pairs of one task, their weight the gap of their logarithms times how near the top they are.
  void MakePairs() {
    pairs_.clear();
    int tasks = 0;
    for (const Sample& s : samples_) tasks = std::max(tasks, s.task + 1);
    std::vector<std::vector<size_t>> of_task(tasks);
    for (size_t i = 0; i < samples_.size(); ++i) of_task[samples_[i].task].push_back(i);
    for (const auto& members : of_task) {
      if (members.size() < 2) continue;
      double best = 0;
      for (size_t i : members) {
        double us = samples_[i].us;
        if (us > 0 && (best == 0 || us < best)) best = us;
      }
      if (best == 0) continue;
      auto quality = [&](size_t i) {
        return samples_[i].us > 0 ? std::max(best / samples_[i].us, kFailedRatio) : kFailedRatio;
      };
      for (size_t i : members) {
        for (int k = 0; k < kPartners; ++k) {
          size_t j = members[rng_.Uniform(members.size())];
          double a = quality(i), b = quality(j);
          if (a == b) continue;
          double gap = std::min(1.0, std::abs(std::log(a / b)));
          double weight = gap * (0.1 + std::max(a, b)) * samples_[i].weight;
          if (samples_[i].us <= 0 || samples_[j].us <= 0) weight *= kFailedWeight;
          pairs_.push_back(a > b ? Pair{i, j, weight} : Pair{j, i, weight});
        }
      }
    }
  }

  Status Gradients(const Matrix& matrix, const std::vector<size_t>& row_of,
                   std::vector<float>* gradient, std::vector<float>* curvature) {
    static constexpr char kConfig[] =
        R"({"type":1,"training":true,"iteration_begin":0,"iteration_end":0,"strict_shape":false})";
    const bst_ulong* shape = nullptr;
    bst_ulong dims = 0;
    const float* margin = nullptr;
    TEMPER_RETURN_IF_ERROR(
        Check(XGBoosterPredictFromDMatrix(booster_, matrix.get(), kConfig, &shape, &dims, &margin),
              "predict"));
    size_t n = samples_.size();
    std::vector<double> score(n), g(n, 0), h(n, 0);
    for (size_t i = 0; i < n; ++i) {
      score[i] = BaseScore(samples_[i].features);
      for (size_t r = row_of[i]; r < row_of[i + 1]; ++r) score[i] += margin[r];
    }
    for (const Pair& pair : pairs_) {
      double lead = kSteepness * (score[pair.better] - score[pair.worse]);
      double p = 1 / (1 + std::exp(std::clamp(lead, -50.0, 50.0)));
      g[pair.better] -= pair.weight * p;
      g[pair.worse] += pair.weight * p;
      double c = kSteepness * pair.weight * p * (1 - p);
      h[pair.better] += c;
      h[pair.worse] += c;
    }
    for (size_t i = 0; i < n; ++i) {
      if (samples_[i].us > 0) {
        double weight = kSquareWeight * samples_[i].weight;
        g[i] += weight * (score[i] + std::log(samples_[i].us));
        h[i] += weight;
      }
      auto rows = static_cast<double>(row_of[i + 1] - row_of[i]);
      for (size_t r = row_of[i]; r < row_of[i + 1]; ++r) {
        (*gradient)[r] = static_cast<float>(g[i]);
        (*curvature)[r] = static_cast<float>(std::max(h[i] * rows, 1e-6));
      }
    }
    return OkStatus();
  }

  BoostedOptions options_;
  Rng rng_;
  BoosterHandle booster_ = nullptr;
  bool trained_ = false;
  double trust_ = 1;  // in the trees, 0 to 1
  std::deque<Sample> samples_;
  std::vector<Pair> pairs_;
  size_t fresh_ = 0;                 // since the last training
  size_t own_ = 0;                   // of samples_, those of full weight
  mutable std::vector<float> rows_;  // of Predict, kept to save allocations
};

}  // namespace

std::unique_ptr<CostModel> MakeBoostedModel(const BoostedOptions& options) {
  return std::make_unique<BoostedModel>(options);
}

}  // namespace temper::costmodel
