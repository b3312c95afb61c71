// A compiled model of float32 tensors, run step by step.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "deploy/runtime/dlpack.h"
#include "deploy/runtime/temper.h"

namespace temper::bench {

inline double Now() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

inline double Median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : v[v.size() / 2];
}

// Owns a model and its tensors. Not copyable.
class SteppedModel {
 public:
  SteppedModel() = default;
  SteppedModel(const SteppedModel&) = delete;
  SteppedModel& operator=(const SteppedModel&) = delete;
  ~SteppedModel() { temper_close(model_); }

  // What went wrong, or null.
  const char* Open(const char* path, int threads) {
    if (temper_open(path, threads, &model_) != 0) return temper_error();
    for (int i = 0; i < temper_input_count(model_); ++i) {
      if (!in_.Add(*temper_input(model_, i), false)) return "an input is not float32";
    }
    for (int i = 0; i < temper_output_count(model_); ++i) {
      if (!out_.Add(*temper_output(model_, i), true)) return "an output is not float32";
    }
    in_.Point();
    out_.Point();
    us_.resize(steps());
    return nullptr;
  }

  int steps() const { return temper_step_count(model_); }
  const temper_step_info& step(int i) const { return *temper_step(model_, i); }

  // Runs for `seconds`, three times at least; adds each step's median to `times`, and each run's
  // whole time to `whole`. What went wrong, or null.
  const char* Run(double seconds, std::vector<std::vector<double>>* times,
                  std::vector<double>* whole) {
    std::vector<std::vector<double>> run(steps());
    const double end = Now() + seconds;
    for (int n = 0; n < 3 || Now() < end; ++n) {
      if (temper_run_step_times(model_, in_.pointers.data(), out_.pointers.data(), us_.data())) {
        return temper_error();
      }
      double total = 0;
      for (int s = 0; s < steps(); ++s) {
        run[s].push_back(us_[s]);
        total += us_[s];
      }
      whole->push_back(total);
    }
    times->resize(steps());
    for (int s = 0; s < steps(); ++s) (*times)[s].push_back(Median(run[s]));
    return nullptr;
  }

 private:
  struct Tensors {
    std::vector<std::vector<float>> data;
    std::vector<DLTensor> tensors;
    std::vector<DLTensor*> pointers;

    bool Add(const temper_tensor_info& info, bool output) {
      if (info.dtype.code != kDLFloat || info.dtype.bits != 32) return false;
      int64_t count = 1;
      for (int d = 0; d < info.ndim; ++d) count *= info.shape[d];
      auto& v = data.emplace_back(output ? 0 : count);
      for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i % 31) / 31.0f - 0.5f;
      DLTensor t{};
      t.data = output ? nullptr : v.data();
      t.device = {kDLCPU, 0};
      t.ndim = info.ndim;
      t.dtype = info.dtype;
      t.shape = output ? nullptr : const_cast<int64_t*>(info.shape);  // NULL: lent, too
      tensors.push_back(t);
      return true;
    }
    void Point() {
      for (DLTensor& t : tensors) pointers.push_back(&t);
    }
  };

  temper_model* model_ = nullptr;
  Tensors in_, out_;
  std::vector<double> us_;
};

}  // namespace temper::bench
