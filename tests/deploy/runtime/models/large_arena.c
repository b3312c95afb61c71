/* A model whose scratch memory is large: one output, the sum of 8 MB that must all be zero at
 * first and are then filled with ones. With TEST_ABSURD_ARENA it asks for more than there is. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "deploy/runtime/abi.h"

#define BYTES 8000000

static int RunStep(temper_context* context, int32_t step, const void* const* inputs,
                   void* const* outputs, void* arena) {
  (void)context, (void)step, (void)inputs;
  if ((uintptr_t)arena % 64) return 1;
  int64_t sum = 0;
  for (int64_t i = 0; i < BYTES; ++i) sum += ((const unsigned char*)arena)[i];
  memset(arena, 1, BYTES);
  memcpy(outputs[0], &sum, sizeof sum);
  return 0;
}

static int Run(temper_context* context, const void* const* inputs, void* const* outputs,
               void* arena) {
  return RunStep(context, 0, inputs, outputs, arena);
}

static const temper_value_info kOutputs[] = {{"sum", 7, 1, {1}, {1}}};
static const temper_step_info kSteps[] = {{"sum", "", "prior", "", 0, 0, BYTES}};

__attribute__((visibility("default"))) const temper_module_info temper_module = {
    .abi_version = TEMPER_ABI_VERSION,
    .threads = 1,
    .target = "any",
    .producer = "by hand",
    .output_count = 1,
    .outputs = kOutputs,
#ifdef TEST_ABSURD_ARENA
    .arena_bytes = INT64_C(1) << 59,
#else
    .arena_bytes = BYTES,
#endif
    .step_count = 1,
    .steps = kSteps,
    .run_step = RunStep,
    .run = Run,
};
