#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "deploy/runtime/arena.h"
#include "deploy/runtime/choose.h"
#include "deploy/runtime/error.h"
#include "deploy/runtime/module.h"
#include "deploy/runtime/op.h"
#include "deploy/runtime/overlap.h"
#include "deploy/runtime/temper.h"
#include "deploy/runtime/tensor_check.h"
#include "deploy/runtime/thread_pool.h"

/* Memory of an output that the library lends. */
typedef struct {
  void* data; /* allocated when first asked for, for the largest specialization */
  int64_t bytes;
  int64_t shape[TEMPER_MAX_DIMS];
} loan;

struct temper_model {
  temper_module_handle* module;
  const temper_signature* all;
  temper_pool* pool;
  void* arena;
  int64_t arena_bytes;     /* the most that a specialization needs */
  const void** input_data; /* what the generated code takes, written anew by each run */
  void** output_data;
  temper_range* ranges; /* memory of inputs and outputs, written anew by each run */
  loan* loans;          /* one an output */
  int64_t* step_runs;   /* of the last run that was timed, one a step; NULL: none was */
  int step_runs_count;
};

/* At least one element, so that NULL means no memory. */
static void* NewArray(int count, size_t size) { return calloc(count ? (size_t)count : 1, size); }

/* Takes over the caller's reference to `module`, also when it fails. */
static int MakeModel(temper_module_handle* module, int threads, temper_model** out) {
  temper_model* model = calloc(1, sizeof *model);
  if (!model) {
    temper_module_release(module);
    return temper_set_error("out of memory.");
  }
  model->module = module;
  model->all = temper_module_signature(module);
  model->input_data =
      NewArray(model->all->input_count + model->all->optional_count, sizeof *model->input_data);
  model->output_data = NewArray(model->all->output_count, sizeof *model->output_data);
  model->loans = NewArray(model->all->output_count, sizeof *model->loans);
  model->ranges =
      NewArray(model->all->input_count + model->all->optional_count + model->all->output_count,
               sizeof *model->ranges);
  if (!model->input_data || !model->output_data || !model->loans || !model->ranges) {
    temper_close(model);
    return temper_set_error("out of memory.");
  }
  for (int k = 0; k < temper_module_count(module); ++k) {
    const int64_t bytes = temper_module_get(module, k)->arena_bytes;
    if (bytes > model->arena_bytes) model->arena_bytes = bytes;
  }
  model->arena = temper_arena_allocate((size_t)model->arena_bytes);
  if (!model->arena) {
    const long long bytes = model->arena_bytes;
    temper_close(model);
    return temper_set_error("cannot allocate %lld bytes of scratch memory for the model.", bytes);
  }
  model->pool = temper_pool_create(threads);
  if (!model->pool) {
    const int error = errno;
    temper_close(model);
    return temper_set_error("cannot start %d threads: %s.", threads, strerror(error));
  }
  *out = model;
  return 0;
}

int temper_open(const char* path, int threads, temper_model** out) {
  if (!out) return temper_set_error("temper_open: `out` is NULL.");
  *out = NULL;
  if (!path) return temper_set_error("temper_open: `path` is NULL.");
  if (threads < 0 || threads > TEMPER_MAX_THREADS) {
    return temper_set_error("%d threads: must be 1 to %d, or 0 for one per core.", threads,
                            TEMPER_MAX_THREADS);
  }
  temper_module_handle* module = temper_module_load(path);
  return module ? MakeModel(module, threads, out) : -1;
}

int temper_clone(temper_model* model, temper_model** out) {
  if (!out) return temper_set_error("temper_clone: `out` is NULL.");
  *out = NULL;
  if (!model) return temper_set_error("temper_clone: the model is NULL.");
  temper_module_retain(model->module);
  return MakeModel(model->module, temper_pool_threads(model->pool), out);
}

void temper_close(temper_model* model) {
  if (!model) return;
  temper_pool_destroy(model->pool);
  for (int i = 0; model->loans && i < model->all->output_count; ++i) {
    temper_arena_free(model->loans[i].data, (size_t)model->loans[i].bytes);
  }
  temper_arena_free(model->arena, (size_t)model->arena_bytes);
  free(model->input_data);
  free(model->output_data);
  free(model->loans);
  free(model->ranges);
  free(model->step_runs);
  temper_module_release(model->module);
  free(model);
}

static char* DataOf(const DLTensor* tensor) {
  return tensor->data ? (char*)tensor->data + tensor->byte_offset : NULL;
}

static int64_t LargestBytes(const temper_model* model, int output) {
  int64_t most = 0;
  for (int k = 0; k < temper_module_count(model->module); ++k) {
    const int64_t bytes =
        temper_tensor_max_bytes(&temper_module_describe(model->module, k)->outputs[output]);
    if (bytes > most) most = bytes;
  }
  return most;
}

/* Makes the memory to lend for output i ready; nothing of the caller's is changed yet. */
static int PrepareLoan(temper_model* model, int i, const DLTensor* tensor) {
  const temper_tensor_info* want = &model->all->outputs[i];
  loan* lent = &model->loans[i];
  if (tensor->shape && tensor->ndim < want->ndim) {
    return temper_set_error(
        "output %s is to be lent and has room for %d extents; it has %d. Set ndim to the length "
        "of shape, or shape to NULL.",
        want->name, (int)tensor->ndim, want->ndim);
  }
  if (!lent->data) {
    lent->bytes = LargestBytes(model, i);
    lent->data = temper_arena_allocate((size_t)lent->bytes);
    if (!lent->data) {
      return temper_set_error("cannot allocate %lld bytes for output %s.", (long long)lent->bytes,
                              want->name);
    }
  }
  model->output_data[i] = lent->data;
  return 0;
}

/* Whether the caller gave room for whatever specialization the inputs choose. */
static int IsRoom(const temper_model* model, int output, const DLTensor* tensor) {
  const temper_tensor_info* all = &model->all->outputs[output];
  return tensor && temper_tensor_has_shape(tensor, all->ndim, all->max_shape);
}

static int CheckLists(const temper_model* model, const DLTensor* const* inputs,
                      DLTensor* const* outputs) {
  const temper_signature* all = model->all;
  if ((inputs || !all->input_count) && (outputs || !all->output_count)) return 0;
  return temper_set_error("temper_run: the list of %s is NULL.",
                          inputs || !all->input_count ? "outputs" : "inputs");
}

/* Describes memory of the call that is in place already. */
static temper_range RangeOf(const temper_tensor_info* info, const void* data, int written) {
  return (temper_range){data, temper_tensor_max_bytes(info), info->name, written};
}

static int CheckMemory(temper_model* model, const temper_specialization_info* s,
                       const DLTensor* const* optional) {
  const temper_signature* all = model->all;
  int count = 0;
  for (int i = 0; i < all->input_count; ++i) {
    model->ranges[count++] = RangeOf(&s->inputs[i], model->input_data[i], 0);
  }
  for (int i = 0; optional && i < all->optional_count; ++i) {
    if (!optional[i]) continue;
    const void* data = model->input_data[all->input_count + i];
    model->ranges[count++] = RangeOf(&s->optional[i], data, 0);
  }
  for (int i = 0; i < all->output_count; ++i) {
    model->ranges[count++] = RangeOf(&s->outputs[i], model->output_data[i], 1);
  }
  return temper_check_overlap(model->ranges, count);
}

/* The specialization to run, with the data of the call in place; -1 on failure. */
static int Prepare(temper_model* model, const DLTensor* const* inputs,
                   const DLTensor* const* optional, DLTensor* const* outputs) {
  if (CheckLists(model, inputs, outputs)) return -1;
  const int chosen = temper_choose(model, inputs, optional);
  if (chosen < 0) return -1;
  const temper_signature* all = model->all;
  const temper_module_info* info = temper_module_get(model->module, chosen);
  const temper_specialization_info* s = temper_module_describe(model->module, chosen);
  for (int i = 0; i < all->input_count; ++i) {
    if (temper_tensor_check("input", &s->inputs[i], inputs[i])) return -1;
    model->input_data[i] = DataOf(inputs[i]);
  }
  for (int i = 0; i < all->optional_count && !s->fixed_defaults; ++i) {
    const DLTensor* given = optional ? optional[i] : NULL;
    if (given && temper_tensor_check("input", &s->optional[i], given)) return -1;
    model->input_data[all->input_count + i] = given ? DataOf(given) : info->defaults[i];
  }
  for (int i = 0; i < all->output_count; ++i) {
    if (outputs[i] && !outputs[i]->data) {
      if (PrepareLoan(model, i, outputs[i])) return -1;
    } else {
      const int room = IsRoom(model, i, outputs[i]);
      const temper_tensor_info* want = room ? &all->outputs[i] : &s->outputs[i];
      if (temper_tensor_check("output", want, outputs[i])) return -1;
      model->output_data[i] = DataOf(outputs[i]);
    }
  }
  return CheckMemory(model, s, optional) ? -1 : chosen;
}

/* After a run: shapes that only it could know, and the fields of outputs that are lent. */
static void DescribeOutputs(temper_model* model, int chosen, DLTensor* const* outputs) {
  const temper_module_info* info = temper_module_get(model->module, chosen);
  for (int i = 0; i < model->all->output_count; ++i) {
    DLTensor* tensor = outputs[i];
    const temper_tensor_info* actual = &temper_module_describe(model->module, chosen)->outputs[i];
    if (!tensor->data) {
      tensor->data = model->loans[i].data;
      tensor->device = (DLDevice){kDLCPU, 0};
      tensor->ndim = actual->ndim;
      tensor->dtype = actual->dtype;
      if (!tensor->shape) tensor->shape = model->loans[i].shape;
      tensor->strides = NULL;
      tensor->byte_offset = 0;
    }
    for (int d = 0; d < actual->ndim; ++d) tensor->shape[d] = actual->max_shape[d];
    if (info->output_shape) info->output_shape(i, model->arena, tensor->shape);
  }
}

/* What an operator's code means; empty for those of compiled kernels. */
static const char* Meaning(int code) {
  if (code == TEMPER_OP_BAD_INDEX) return ": an index is outside its tensor";
  if (code == TEMPER_OP_BAD_TYPE) return ": an element type that the operator does not take";
  if (code == TEMPER_TOO_MANY_TRIPS) {
    return ": a loop would take more trips than the model was compiled for. Compile it with a "
           "larger "
           "--max-trips";
  }
  return "";
}

/* Sets the error of a module's own failure. */
static int FailedOwn(const temper_model* model, const temper_module_info* info, int code) {
  const temper_failure_info* f = &info->failures[code - TEMPER_FIRST_FAILURE];
  if (f->number_at < 0) return temper_set_error("%s.", f->before);
  long long number = 0;
  memcpy(&number, (const char*)model->arena + f->number_at, sizeof number);
  return temper_set_error("%s%lld%s.", f->before, number, f->after);
}

static int IsOwn(const temper_module_info* info, int code) {
  return info->abi_version >= 4 && code >= TEMPER_FIRST_FAILURE &&
         code - TEMPER_FIRST_FAILURE < info->failure_count;
}

static int Failed(const temper_model* model, const temper_module_info* info, int code) {
  if (IsOwn(info, code)) return FailedOwn(model, info, code);
  return temper_set_error("running the model failed with code %d%s.", code, Meaning(code));
}

static double Microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* Time goes to the innermost step that runs. */
typedef struct {
  double* us;
  double since;
  int64_t* runs;
  int step;   /* that runs */
  int* outer; /* by step: the one that ran when it began */
} step_clock;

static void Switch(step_clock* clock, int step) {
  const double now = Microseconds();
  clock->us[clock->step] += now - clock->since;
  clock->since = now;
  clock->step = step;
}

static void AtStep(temper_context* context, int32_t step, int32_t end) {
  step_clock* clock = context->watcher;
  if (!end) {
    clock->outer[step] = clock->step;
    ++clock->runs[step];
  }
  Switch(clock, end ? clock->outer[step] : step);
}

/* Runs step i, and adds its time and that of the steps that it runs to theirs. */
static int RunStep(temper_model* model, const temper_module_info* info, int i, step_clock* clock) {
  temper_context* context = temper_pool_context(model->pool);
  clock->step = i;
  clock->since = Microseconds();
  context->watcher = clock;
  context->at_step = AtStep;
  const int code = info->run_step(context, i, model->input_data, model->output_data, model->arena);
  context->at_step = NULL;
  if (code == TEMPER_STEP_INSIDE) return 0;
  ++clock->runs[i];
  Switch(clock, i);
  return code;
}

static int RunSteps(temper_model* model, const temper_module_info* info, double* us) {
  int64_t* runs = NewArray(info->step_count, sizeof *runs);
  step_clock clock = {us, 0, runs, 0, NewArray(info->step_count, sizeof(int))};
  if (!clock.outer || !runs) {
    free(clock.outer);
    free(runs);
    return temper_set_error("out of memory.");
  }
  free(model->step_runs);
  model->step_runs = runs;
  model->step_runs_count = info->step_count;
  for (int i = 0; i < info->step_count; ++i) us[i] = 0;
  int code = 0, i = 0;
  for (; i < info->step_count; ++i) {
    code = RunStep(model, info, i, &clock);
    if (code) break;
  }
  free(clock.outer);
  if (IsOwn(info, code)) return FailedOwn(model, info, code);
  if (code) {
    const char* nodes = info->steps[i].nodes;
    return temper_set_error("step %d (%s) failed with code %d%s.", i, nodes ? nodes : "", code,
                            Meaning(code));
  }
  return 0;
}

int temper_run_with(temper_model* model, const DLTensor* const* inputs,
                    const DLTensor* const* optional, DLTensor* const* outputs, double* us) {
  if (!model) return temper_set_error("temper_run: the model is NULL.");
  const int chosen = Prepare(model, inputs, optional, outputs);
  if (chosen < 0) return -1;
  const temper_module_info* info = temper_module_get(model->module, chosen);
  if (us) {
    if (RunSteps(model, info, us)) return -1;
  } else {
    const int code = info->run(temper_pool_context(model->pool), model->input_data,
                               model->output_data, model->arena);
    if (code) return Failed(model, info, code);
  }
  DescribeOutputs(model, chosen, outputs);
  return 0;
}

int temper_run(temper_model* model, const DLTensor* const* inputs, DLTensor* const* outputs) {
  return temper_run_with(model, inputs, NULL, outputs, NULL);
}

int temper_run_step_times(temper_model* model, const DLTensor* const* inputs,
                          DLTensor* const* outputs, double* us) {
  if (!model) return temper_set_error("temper_run_step_times: the model is NULL.");
  if (!us) return temper_set_error("temper_run_step_times: `us` is NULL.");
  return temper_run_with(model, inputs, NULL, outputs, us);
}

int temper_choose(const temper_model* model, const DLTensor* const* inputs,
                  const DLTensor* const* optional) {
  if (!model) return temper_set_error("temper_choose: the model is NULL.");
  if (!inputs && model->all->input_count) {
    return temper_set_error("temper_choose: the list of inputs is NULL.");
  }
  return temper_module_choose(model->module, inputs, optional);
}

int temper_specialization_count(const temper_model* model) {
  return temper_module_count(model->module);
}

const temper_specialization_info* temper_specialization(const temper_model* model, int k) {
  return k >= 0 && k < temper_module_count(model->module) ? temper_module_describe(model->module, k)
                                                          : NULL;
}

const char* temper_version(void) { return TEMPER_VERSION; }

int temper_input_count(const temper_model* model) { return model->all->input_count; }

const temper_tensor_info* temper_input(const temper_model* model, int i) {
  return i >= 0 && i < model->all->input_count ? &model->all->inputs[i] : NULL;
}

int temper_optional_count(const temper_model* model) { return model->all->optional_count; }

const temper_tensor_info* temper_optional(const temper_model* model, int i) {
  return i >= 0 && i < model->all->optional_count ? &model->all->inputs[model->all->input_count + i]
                                                  : NULL;
}

int temper_output_count(const temper_model* model) { return model->all->output_count; }

const temper_tensor_info* temper_output(const temper_model* model, int i) {
  return i >= 0 && i < model->all->output_count ? &model->all->outputs[i] : NULL;
}

static const temper_module_info* First(const temper_model* model) {
  return temper_module_get(model->module, 0);
}

int64_t temper_step_runs(const temper_model* model, int i) {
  return i >= 0 && i < model->step_runs_count ? model->step_runs[i] : 0;
}

int temper_step_count(const temper_model* model) { return First(model)->step_count; }

const temper_step_info* temper_step(const temper_model* model, int i) {
  return i >= 0 && i < First(model)->step_count ? &First(model)->steps[i] : NULL;
}

const temper_workload_info* temper_workload(const temper_model* model, const char* hash) {
  const temper_workload_table* table = temper_module_workloads(model->module);
  for (int32_t i = 0; table && hash && i < table->count; ++i) {
    if (!strcmp(table->workloads[i].hash, hash)) return &table->workloads[i];
  }
  return NULL;
}

int temper_threads(const temper_model* model) { return temper_pool_threads(model->pool); }

int temper_compiled_threads(const temper_model* model) { return First(model)->threads; }

const char* temper_target(const temper_model* model) { return First(model)->target; }

const char* temper_producer(const temper_model* model) { return First(model)->producer; }

int64_t temper_arena_bytes(const temper_model* model) { return model->arena_bytes; }

int64_t temper_weight_bytes(const temper_model* model) { return First(model)->weight_bytes; }
