/* A compiled model written by hand, as the compiler's output looks to the runtime.
 *   y = 2 x + b   float32 (3, 5), by a parallel loop
 *   n             int64 scalar: runs made with this arena so far, this one included
 *   picked        int32 (-1 of at most 4): the first k of 0, 10, 20, 30
 * Inputs: x float32 (3, 5), b float32 (5), k int32 (1). k < 0 makes step 1 fail with code 7. */
#include <stdint.h>
#include <string.h>

#include "deploy/runtime/abi.h"

#ifndef TOY_ABI_VERSION
#define TOY_ABI_VERSION TEMPER_ABI_VERSION
#endif
#ifndef TOY_FEATURES
#define TOY_FEATURES 0
#endif
#ifndef TOY_X_RANK
#define TOY_X_RANK 2
#endif
#ifndef TOY_FACTOR
#define TOY_FACTOR 2
#endif

typedef struct {
  int64_t runs;
  int64_t picked;
} toy_arena;

typedef struct {
  const char* x;
  const char* b;
  char* y;
} toy_closure;

/* Byte copies: the runtime passes on pointers of any alignment. */
static void Rows(void* closure, int64_t begin, int64_t end) {
  const toy_closure* c = closure;
  for (int64_t i = begin * 5; i < end * 5; ++i) {
    float x, b, y;
    memcpy(&x, c->x + i * 4, 4);
    memcpy(&b, c->b + i % 5 * 4, 4);
    y = TOY_FACTOR * x + b;
    memcpy(c->y + i * 4, &y, 4);
  }
}

static int RunStep(temper_context* context, int32_t step, const void* const* inputs,
                   void* const* outputs, void* arena) {
  toy_arena* state = arena;
  if (step == 0) {
    toy_closure c = {inputs[0], inputs[1], outputs[0]};
    context->parallel_for(context, Rows, &c, 3);
    ++state->runs;
    memcpy(outputs[1], &state->runs, 8);
    return 0;
  }
  int32_t k;
  memcpy(&k, inputs[2], 4);
  if (k < 0) return 7;
  state->picked = k < 4 ? k : 4;
  for (int32_t i = 0; i < state->picked; ++i) {
    const int32_t value = 10 * i;
    memcpy((char*)outputs[2] + i * 4, &value, 4);
  }
  return 0;
}

static int Run(temper_context* context, const void* const* inputs, void* const* outputs,
               void* arena) {
  const int code = RunStep(context, 0, inputs, outputs, arena);
  return code ? code : RunStep(context, 1, inputs, outputs, arena);
}

static void OutputShape(int32_t output, const void* arena, int64_t* shape) {
  if (output == 2) shape[0] = ((const toy_arena*)arena)->picked;
}

static const temper_value_info kInputs[] = {
    {"x", 0, TOY_X_RANK, {3, 5}, {3, 5}},
    {"b", 0, 1, {5}, {5}},
    {"k", 6, 1, {1}, {1}},
};
static const temper_value_info kOutputs[] = {
    {"y", 0, 2, {3, 5}, {3, 5}},
    {"n", 7, 0, {0}, {0}},
    {"picked", 6, 1, {-1}, {4}},
};
static const temper_step_info kSteps[] = {
    {"scale,shift", "00ff", "exact", "split", 1.5, 30, 140},
    {"pick", "0a", "prior", "", 0, 0, 16},
};

__attribute__((visibility("default"))) const temper_module_info temper_module = {
    .abi_version = TOY_ABI_VERSION,
    .threads = 2,
    .target = "x86-64-v9",
    .producer = "by hand",
    .input_count = 3,
    .output_count = 3,
    .inputs = kInputs,
    .outputs = kOutputs,
    .arena_bytes = sizeof(toy_arena),
    .weight_bytes = 20,
    .step_count = 2,
    .steps = kSteps,
    .run_step = RunStep,
    .run = Run,
    .required_features = TOY_FEATURES,
    .output_shape = OutputShape,
};

static const temper_workload_info kWorkloads[] = {{"0123", "Toy 3x5", "a program"}};
extern const temper_workload_table temper_workloads;
__attribute__((visibility("default"))) const temper_workload_table temper_workloads = {
    .count = 1,
    .workloads = kWorkloads,
};
