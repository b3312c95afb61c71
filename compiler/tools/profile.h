// Where a compiled model's time goes, kernel by kernel, against what the machine could do.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/steadiness.h"
#include "compiler/target/machine_rates.h"
#include "compiler/tools/loaded_model.h"

namespace temper::tools {

// One step. The roofline is the longer of two times: of its arithmetic at the machine's peak, where
// an exponential or the like takes ten vector instructions, as many as a polynomial of float32's
// accuracy needs at least; and of copying as many bytes as it reads and writes at least, those of
// its weights from where the whole model's are, the others in a copy of that footprint, timed in
// turns (beyond half of the last cache: at the level's rate). Winograd and
// padding skip multiply-adds that the workload counts, so that shares over 1 are possible.
struct KernelProfile {
  const temper_step_info* step = nullptr;
  std::string name;                           // for people; "" in models of older compilers
  double runs = 0;                            // in a run of the model: of a loop, all its trips
  double us = 0;                              // median, of all of these together
  double share = 0;                           // of all steps' time
  double weight_bytes = 0;                    // of step->bytes
  double operations = 0;                      // step->flops with functions at what they take
  double bound_us = 0;                        // the roofline; 0 where it is not known
  std::string bound_by;                       // "compute", or the level of memory
  double roofline_share = 0, peak_share = 0;  // medians over the turns
};

struct Profile {
  std::vector<KernelProfile> kernels;
  std::vector<double> run_ms;  // of each run
  std::vector<TimedTurn> turns;
  MachineRates machine;       // medians over the turns
  double peak_rss_bytes = 0;  // of this process, before the machine was measured
};

// Runs the specialization that the runner's inputs chose for about `seconds`, in turns with the
// machine's own rates.
Result<Profile> ProfileModel(temper_model* model, Runner& runner, double seconds,
                             const Clock& clock);

// "kernels", "machine" and "memory" of `temper bench --profile --json`.
nlohmann::json ProfileJson(const temper_model* model, const Profile& profile);

// The kernels by their time, then the machine and the memory.
std::string ProfileTable(const temper_model* model, const Profile& profile);

}  // namespace temper::tools
