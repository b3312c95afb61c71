// The share of the core's multiply-add peak that each kernel of a compiled model reaches, the peak
// loop timed in turns with the model.
//
//   model_share MODEL.so [SECONDS]
//
// One thread. A kernel's time is the median over the runs; its share the median over the turns of
// its rate by the peak of that turn. Over 1 is possible: Winograd and padding skip multiply-adds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "compiler/target/peak_loop.h"
#include "deploy/runtime/dlpack.h"
#include "deploy/runtime/temper.h"

namespace {

double Now() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

double Median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : v[v.size() / 2];
}

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
  DLTensor** Pointers() {
    for (DLTensor& t : tensors) pointers.push_back(&t);
    return pointers.data();
  }
};

int Fail(const char* what) {
  std::fprintf(stderr, "model_share: %s\n", what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return Fail("usage: model_share MODEL.so [SECONDS]");
  double seconds = argc > 2 ? std::atof(argv[2]) : 2;
  temper_model* model = nullptr;
  if (temper_open(argv[1], 1, &model) != 0) return Fail(temper_error());
  Tensors in, out;
  for (int i = 0; i < temper_input_count(model); ++i) {
    if (!in.Add(*temper_input(model, i), false)) return Fail("an input is not float32");
  }
  for (int i = 0; i < temper_output_count(model); ++i) {
    if (!out.Add(*temper_output(model, i), true)) return Fail("an output is not float32");
  }
  DLTensor** inputs = in.Pointers();
  DLTensor** outputs = out.Pointers();
  int steps = temper_step_count(model);
  std::vector<std::vector<double>> times(steps), shares(steps);
  std::vector<double> us(steps), whole, peaks;
  double end = Now() + seconds;
  for (int turn = 0; turn < 3 || Now() < end; ++turn) {
    double peak = temper::PeakGflops(0.005);
    peaks.push_back(peak);
    std::vector<std::vector<double>> run(steps);
    double turn_end = Now() + 0.02;
    for (int n = 0; n < 3 || Now() < turn_end; ++n) {
      if (temper_run_step_times(model, inputs, outputs, us.data()) != 0) {
        return Fail(temper_error());
      }
      double total = 0;
      for (int s = 0; s < steps; ++s) {
        run[s].push_back(us[s]);
        total += us[s];
      }
      whole.push_back(total);
    }
    for (int s = 0; s < steps; ++s) {
      double median = Median(run[s]);
      times[s].push_back(median);
      shares[s].push_back(temper_step(model, s)->flops / (median * 1e3) / peak);
    }
  }
  std::printf("%9s %9s %7s  %s\n", "us", "GFLOP/s", "share", "nodes");
  for (int s = 0; s < steps; ++s) {
    const temper_step_info* info = temper_step(model, s);
    double t = Median(times[s]);
    std::printf("%9.1f %9.1f %6.1f%%  %s\n", t, info->flops / (t * 1e3), 100 * Median(shares[s]),
                info->nodes);
  }
  std::printf("all %.1f us; peak %.1f GFLOP/s, median of %zu turns\n", Median(whole), Median(peaks),
              peaks.size());
  temper_close(model);
  return 0;
}
