/* A compiled model of two sets of shapes with an optional input, written by hand.
 *   y = s * x    float32 (n, 2), n 1 or 3; s float32 (1), 10 unless it is given
 *   tag          int32 scalar: which specialization ran
 * Specializations: n = 1 and n = 3 with s compiled in, then n = 1 and n = 3 that read it. */
#include <stdint.h>
#include <string.h>

#include "deploy/runtime/abi.h"

static int Compute(int count, int tag, float s, const void* const* inputs, void* const* outputs) {
  for (int i = 0; i < count; ++i) {
    float x;
    memcpy(&x, (const char*)inputs[0] + i * 4, 4);
    x *= s;
    memcpy((char*)outputs[0] + i * 4, &x, 4);
  }
  const int32_t value = tag;
  memcpy(outputs[1], &value, 4);
  return 0;
}

static float Given(const void* const* inputs) {
  float s;
  memcpy(&s, inputs[1], 4);
  return s;
}

#define FUNCTIONS(tag, count, s)                                                                \
  static int Run##tag(temper_context* context, const void* const* inputs, void* const* outputs, \
                      void* arena) {                                                            \
    (void)context, (void)arena;                                                                 \
    return Compute(count, tag, s, inputs, outputs);                                             \
  }                                                                                             \
  static int RunStep##tag(temper_context* context, int32_t step, const void* const* inputs,     \
                          void* const* outputs, void* arena) {                                  \
    (void)step;                                                                                 \
    return Run##tag(context, inputs, outputs, arena);                                           \
  }                                                                                             \
  static const temper_step_info kSteps##tag[] = {{"scale\\,all,s" #tag, "0", "prior", "", 0, 4, 8}};
FUNCTIONS(0, 2, 10)
FUNCTIONS(1, 6, 10)
FUNCTIONS(2, 2, Given(inputs))
FUNCTIONS(3, 6, Given(inputs))

#ifndef SEVERAL_SECOND_NAME
#define SEVERAL_SECOND_NAME "x"
#endif

static const temper_value_info kInputs1[] = {{"x", 0, 2, {1, 2}, {1, 2}}, {"s", 0, 1, {1}, {1}}};
static const temper_value_info kInputs3[] = {{SEVERAL_SECOND_NAME, 0, 2, {3, 2}, {3, 2}},
                                             {"s", 0, 1, {1}, {1}}};
static const temper_value_info kOutputs1[] = {{"y", 0, 2, {1, 2}, {1, 2}}, {"tag", 6, 0, {0}, {0}}};
static const temper_value_info kOutputs3[] = {{"y", 0, 2, {3, 2}, {3, 2}}, {"tag", 6, 0, {0}, {0}}};
static const float kDefault = 10;
static const void* const kDefaults[] = {&kDefault};

#define INFO(tag, n, fixed, arena)                                                             \
  .abi_version = 3, .threads = 1, .target = "x86-64", .producer = "by hand", .input_count = 2, \
  .output_count = 2, .inputs = kInputs##n, .outputs = kOutputs##n, .arena_bytes = arena,       \
  .weight_bytes = 4, .step_count = 1, .steps = kSteps##tag, .run_step = RunStep##tag,          \
  .run = Run##tag, .optional_count = 1, .fixed_defaults = fixed, .defaults = kDefaults

static const temper_module_info kSecond = {INFO(1, 3, 1, 192)};
static const temper_module_info kThird = {INFO(2, 1, 0, 64)};
static const temper_module_info kFourth = {INFO(3, 3, 0, 128)};
static const temper_module_info* const kMore[] = {&kSecond, &kThird, &kFourth};

__attribute__((visibility("default")))
const temper_module_info temper_module = {INFO(0, 1, 1, 64), .more_count = 3, .more = kMore};
