// A compiled model as lists of kernel calls: what the generated `run` of a temper_module does.
//
// The kernels are hidden symbols of other objects in the same link; the weights are the hidden
// symbol `temper_weights` (elf_weights.h). Every argument is found in one of four places.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace temper::codegen {

enum class Place : uint8_t {
  kArena,    // offset: bytes into the arena
  kWeights,  // offset: bytes into temper_weights
  kInput,    // offset: which input of the model
  kOutput,   // offset: which output of the model
};

struct ModuleArg {
  Place place = Place::kArena;
  int64_t offset = 0;
};

struct ModuleStep {
  std::string symbol;            // of the kernel
  int runtime_op = -1;           // not -1: the runtime's operator of this number is called instead
  std::vector<ModuleArg> args;   // in the order of its argument table
  int64_t workspace_offset = 0;  // bytes into the arena, a multiple of 64
  // temper_step_info.
  std::string nodes, workload, source, schedule;
  double expected_us = 0, flops = 0;
  int64_t bytes = 0;
};

// temper_workload_info.
struct ModuleWorkload {
  std::string hash, name, program;
};

struct ModuleValue {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;  // every dimension known, but for those of an output with a shape_at
  // -1: the shape is known. Else the extents that the run gave, int64, are at this place in the
  // arena, and `open` says which they are; `shape` has the largest.
  int64_t shape_at = -1;
  std::vector<bool> open = {};
};

// The calls for one set of shapes.
struct ModuleSpecialization {
  std::vector<ModuleValue> inputs, outputs;
  std::vector<ModuleStep> steps;
  int64_t arena_bytes = 0;
  // The last so many inputs have defaults: compiled in, or at these places in the weights.
  int optional_count = 0;
  bool fixed_defaults = false;
  std::vector<int64_t> defaults;  // bytes into temper_weights, one each unless fixed
};

struct ModulePlan {
  int threads = 1;
  std::string producer;
  std::vector<ModuleSpecialization> specializations;  // at least one
  std::vector<ModuleWorkload> workloads;              // none: no table of them
  int64_t weight_bytes = 0;                           // 0: temper_weights is not referred to
};

}  // namespace temper::codegen
