// One kernel of a database or of a model, to be looked at: `temper inspect --kernel`.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/driver/choose.h"
#include "compiler/driver/kernels.h"
#include "compiler/target/target.h"
#include "compiler/te/program.h"
#include "compiler/tools/loaded_model.h"
#include "db/record_store.h"

namespace temper::tools {

struct KernelView {
  std::string hash;  // of the workload, hexadecimal
  std::string name;  // for people
  te::Program program;
  std::string schedule;  // text
  Target target;
  int threads = 1;
  double flops = 0;
  double us = 0;       // measured or expected; 0: not known
  std::string us_are;  // where `us` comes from: "the best of 40 trials", "expected"
};

// What is looked for: the start of a workload's hash, in a database for a target's fingerprint
// ("": any, this machine's first) and a number of threads (0: any).
struct KernelQuery {
  std::string prefix;
  std::string target;
  int threads = 0;
};

// NOT_FOUND where no kernel's hash starts so, INVALID_ARGUMENT where several do, with the list.
Result<KernelView> FindInStore(db::RecordStore& store, const KernelQuery& query);
Result<KernelView> FindInCompiled(const temper_model* model, const KernelQuery& query);
// With the schedule that `source` (may be null) or else `chooser` gives it.
Result<KernelView> FindInModel(const driver::ModelKernels& model, const KernelQuery& query,
                               const Target& target, driver::ScheduleSource* source,
                               const driver::ScheduleChooser& chooser,
                               std::vector<std::string>* warnings);

// The schedule with an item a line; the loop nest before vectors and unrolling; the assembly.
std::string ScheduleOf(const KernelView& kernel);
Result<std::string> LoopNestOf(const KernelView& kernel);
Result<std::string> AssemblyOf(const KernelView& kernel);

}  // namespace temper::tools
