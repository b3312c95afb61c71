// A compiled model as lists of kernel calls: what the generated `run` of a temper_module does.
//
// The kernels are hidden symbols of other objects in the same link; the weights are the hidden
// symbol `temper_weights` (elf_weights.h). Every argument is found in one of five places.
//
// An If or Loop is a step too. The steps that it runs come right behind it, `nested` of them, those
// of inner ones among them; the others run in order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace temper::codegen {

enum class Place : uint8_t {
  kArena,    // offset: bytes into the arena
  kWeights,  // offset: bytes into temper_weights
  kInput,    // offset: which input of the model
  kOutput,   // offset: which output of the model
  kPointer,  // offset: bytes into the arena, where a pointer to it lies
};

struct ModuleArg {
  Place place = Place::kArena;
  int64_t offset = 0;
  int64_t within = 0;  // bytes into what is there
};

// Extents that a step leaves at `at` in the arena, int64, for an output whose extents only the run
// knows. -1: the number of trips that the loop took.
struct ModuleExtents {
  int64_t at = 0;
  std::vector<int64_t> extents;
};

// An If: the condition is one bool; the first `then_steps` of the nested steps are run, or the
// others.
struct ModuleIf {
  ModuleArg condition;
  int then_steps = 0;
  std::vector<ModuleExtents> then_extents, else_extents;
  // Which failure ends the run instead of the branch's steps; -1: none.
  int then_failure = -1, else_failure = -1;
};

// A Loop. Offsets are bytes into the arena. It runs while trips and conditions allow:
//   before     counter = 0; in[i] -> initial[i]; out[i] -> buffers[i][0]; row[i] -> base[i]
//   each trip  the nested steps; in[i] = out[i]; out[i] -> the other buffer; row[i] += bytes[i];
//              counter += 1
struct ModuleLoop {
  std::optional<ModuleArg> trips;           // int64; absent: no limit
  std::optional<ModuleArg> condition;       // bool, before the first trip
  std::optional<ModuleArg> next_condition;  // bool, left by each trip
  int64_t max_trips = -1;                   // to begin another is a failure; -1: no limit
  int failure = -1;                         // which one
  int64_t wanted = -1;                      // int64: where that failure leaves `trips`; -1: nowhere
  int64_t counter = 0;                      // int64: the number of the trip; in the end, of trips
  struct Carried {
    ModuleArg initial;
    int64_t in = 0, out = 0;  // pointers
    ModuleArg buffers[2];
  };
  struct Row {
    ModuleArg base;
    int64_t pointer = 0;
    int64_t bytes = 0;
  };
  std::vector<Carried> carried;
  std::vector<Row> rows;
  std::vector<ModuleExtents> extents;
};

// What all steps that call a kernel have in common: its symbol, and temper_step_info.
struct ModuleKernel {
  std::string symbol;
  std::string workload, source, schedule;
  double expected_us = 0, flops = 0;
  int64_t bytes = 0;
};

// One of: a call of a kernel, a call of an operator of the runtime, a branch, a loop. A model may
// have 100,000.
struct ModuleStep {
  int kernel = -1;      // index into ModulePlan::kernels; -1: none
  int runtime_op = -1;  // not -1: the runtime's operator of this number is called
  std::unique_ptr<ModuleIf> branch;
  std::unique_ptr<ModuleLoop> loop;
  int nested = 0;                // steps behind it that it runs
  std::vector<ModuleArg> args;   // in the order of its argument table
  int64_t workspace_offset = 0;  // bytes into the arena, a multiple of 64
  std::string nodes;             // of temper_step_info
  std::string source;            // where it has no kernel
  int64_t bytes = 0;             // where it has no kernel
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

// Why a run ends early: temper_failure_info.
struct ModuleFailure {
  std::string before;
  int64_t number_at = -1;
  std::string after;
};

// The calls for one set of shapes.
struct ModuleSpecialization {
  std::vector<ModuleValue> inputs, outputs;
  std::vector<ModuleStep> steps;
  std::vector<ModuleFailure> failures;
  int64_t arena_bytes = 0;
  // The last so many inputs have defaults: compiled in, or at these places in the weights.
  int optional_count = 0;
  bool fixed_defaults = false;
  std::vector<int64_t> defaults;  // bytes into temper_weights, one each unless fixed
};

struct ModulePlan {
  int threads = 1;
  std::string producer;
  std::vector<ModuleKernel> kernels;                  // that steps call
  std::vector<ModuleSpecialization> specializations;  // at least one
  std::vector<ModuleWorkload> workloads;              // none: no table of them
  int64_t weight_bytes = 0;                           // 0: temper_weights is not referred to
};

}  // namespace temper::codegen
