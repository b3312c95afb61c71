// Compiles a model: from an ONNX file and records to one shared object (docs/architecture.md).
//
//   import -> graph passes -> layout -> partition        kernels.h
//   -> a schedule for each distinct kernel               choose.h
//   -> loop nests -> machine code, weights, memory plan  module_builder.h, weights.h
//   -> one shared object, put in place by a rename
//
// The same model, options, records and compiler give the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "compiler/driver/choose.h"
#include "compiler/driver/kernels.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/target/target.h"

namespace temper::driver {

struct CompileOptions {
  FrontendOptions frontend;
  Target target;
  int threads = 1;                               // the schedules are chosen for so many
  bool require_tuned = false;                    // fail where a kernel has no usable record
  te::Numerics numerics = te::kDefaultNumerics;  // which error the kernels may show
  std::string producer;  // name and version of the compiler, written into the result
  // An own folder for temporary files, on the output's file system, which the caller removes.
  // "": one is made beside the output and removed.
  std::string temporary_folder;
};

// One kernel call of the compiled model, in order.
struct KernelReport {
  int specialization = 0;
  std::vector<std::string> nodes;
  std::string name;      // for people
  std::string workload;  // hash, hexadecimal
  SourceLevel source = SourceLevel::kPrior;
  std::string schedule;
  double expected_us = 0;  // 0: not known
  double flops = 0;
  int64_t bytes = 0;
};

// One set of shapes that the model was compiled for.
struct SpecializationReport {
  std::vector<std::pair<std::string, graph::Shape>> inputs;    // those that must be given
  std::vector<std::pair<std::string, graph::Shape>> optional;  // those with a default
  bool fixed_defaults = false;  // for runs that give none of `optional`
  int64_t arena_bytes = 0;
};

struct CompileReport {
  double seconds = 0;
  int64_t arena_bytes = 0;  // the most of any specialization
  int64_t weight_bytes = 0;
  Constants constants = Constants::kCold;  // where the schedules were chosen to find the weights
  int distinct_kernels = 0;
  std::vector<SpecializationReport> specializations;
  std::vector<KernelReport> kernels;  // of all specializations, one after another
  std::vector<std::string> warnings;
};

// `source` may be null: no records. Writes `output`, and temporary files beside it. On an error
// `output` is as it was. Uses two threads besides the caller's.
Result<CompileReport> Compile(const std::string& model, const std::string& output,
                              const CompileOptions& options, ScheduleSource* source,
                              const ScheduleChooser& chooser, const Clock& clock);

}  // namespace temper::driver
