#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "deploy/runtime/arena.h"
#include "deploy/runtime/error.h"
#include "deploy/runtime/module.h"
#include "deploy/runtime/op.h"
#include "deploy/runtime/temper.h"
#include "deploy/runtime/tensor_check.h"
#include "deploy/runtime/thread_pool.h"

/* Memory of an output that the library lends. */
typedef struct {
  void* data; /* allocated when first asked for */
  int64_t bytes;
  int64_t shape[TEMPER_MAX_DIMS];
} loan;

struct temper_model {
  temper_module_handle* module;
  const temper_module_info* info;
  const temper_tensor_info* inputs;
  const temper_tensor_info* outputs;
  temper_pool* pool;
  void* arena;
  const void** input_data; /* what the generated code takes, written anew by each run */
  void** output_data;
  loan* loans; /* one an output */
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
  model->info = temper_module_get(module);
  model->inputs = temper_module_inputs(module);
  model->outputs = temper_module_outputs(module);
  model->input_data = NewArray(model->info->input_count, sizeof *model->input_data);
  model->output_data = NewArray(model->info->output_count, sizeof *model->output_data);
  model->loans = NewArray(model->info->output_count, sizeof *model->loans);
  if (!model->input_data || !model->output_data || !model->loans) {
    temper_close(model);
    return temper_set_error("out of memory.");
  }
  model->arena = temper_arena_allocate((size_t)model->info->arena_bytes);
  if (!model->arena) {
    const long long bytes = model->info->arena_bytes;
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
  for (int i = 0; model->loans && i < model->info->output_count; ++i) {
    temper_arena_free(model->loans[i].data, (size_t)model->loans[i].bytes);
  }
  temper_arena_free(model->arena, (size_t)model->info->arena_bytes);
  free(model->input_data);
  free(model->output_data);
  free(model->loans);
  temper_module_release(model->module);
  free(model);
}

static char* DataOf(const DLTensor* tensor) {
  return tensor->data ? (char*)tensor->data + tensor->byte_offset : NULL;
}

/* Makes the memory to lend for output i ready; nothing of the caller's is changed yet. */
static int PrepareLoan(temper_model* model, int i, const DLTensor* tensor) {
  const temper_tensor_info* want = &model->outputs[i];
  loan* lent = &model->loans[i];
  if (tensor->shape && tensor->ndim < want->ndim) {
    return temper_set_error(
        "output %s is to be lent and has room for %d extents; it has %d. Set ndim to the length "
        "of shape, or shape to NULL.",
        want->name, (int)tensor->ndim, want->ndim);
  }
  if (!lent->data) {
    lent->bytes = temper_tensor_max_bytes(want);
    lent->data = temper_arena_allocate((size_t)lent->bytes);
    if (!lent->data) {
      return temper_set_error("cannot allocate %lld bytes for output %s.", (long long)lent->bytes,
                              want->name);
    }
  }
  model->output_data[i] = lent->data;
  return 0;
}

static int Prepare(temper_model* model, const DLTensor* const* inputs, DLTensor* const* outputs) {
  const temper_module_info* info = model->info;
  if ((!inputs && info->input_count) || (!outputs && info->output_count)) {
    return temper_set_error("temper_run: the list of %s is NULL.", inputs ? "outputs" : "inputs");
  }
  for (int i = 0; i < info->input_count; ++i) {
    if (temper_tensor_check("input", &model->inputs[i], inputs[i])) return -1;
    model->input_data[i] = DataOf(inputs[i]);
  }
  for (int i = 0; i < info->output_count; ++i) {
    if (outputs[i] && !outputs[i]->data) {
      if (PrepareLoan(model, i, outputs[i])) return -1;
    } else {
      if (temper_tensor_check("output", &model->outputs[i], outputs[i])) return -1;
      model->output_data[i] = DataOf(outputs[i]);
    }
  }
  return 0;
}

/* After a run: shapes that only it could know, and the fields of outputs that are lent. */
static void DescribeOutputs(temper_model* model, DLTensor* const* outputs) {
  for (int i = 0; i < model->info->output_count; ++i) {
    DLTensor* tensor = outputs[i];
    const temper_tensor_info* info = &model->outputs[i];
    if (!tensor->data) {
      tensor->data = model->loans[i].data;
      tensor->device = (DLDevice){kDLCPU, 0};
      tensor->ndim = info->ndim;
      tensor->dtype = info->dtype;
      if (!tensor->shape) tensor->shape = model->loans[i].shape;
      for (int d = 0; d < info->ndim; ++d) tensor->shape[d] = info->max_shape[d];
      tensor->strides = NULL;
      tensor->byte_offset = 0;
    }
    if (model->info->output_shape) model->info->output_shape(i, model->arena, tensor->shape);
  }
}

/* What an operator's code means; empty for those of compiled kernels. */
static const char* Meaning(int code) {
  if (code == TEMPER_OP_BAD_INDEX) return ": an index is outside its tensor";
  if (code == TEMPER_OP_BAD_TYPE) return ": an element type that the operator does not take";
  return "";
}

static int Failed(int code) {
  return temper_set_error("running the model failed with code %d%s.", code, Meaning(code));
}

int temper_run(temper_model* model, const DLTensor* const* inputs, DLTensor* const* outputs) {
  if (!model) return temper_set_error("temper_run: the model is NULL.");
  if (Prepare(model, inputs, outputs)) return -1;
  const int code = model->info->run(temper_pool_context(model->pool), model->input_data,
                                    model->output_data, model->arena);
  if (code) return Failed(code);
  DescribeOutputs(model, outputs);
  return 0;
}

static double Microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

int temper_run_step_times(temper_model* model, const DLTensor* const* inputs,
                          DLTensor* const* outputs, double* us) {
  if (!model) return temper_set_error("temper_run_step_times: the model is NULL.");
  if (!us && model->info->step_count) {
    return temper_set_error("temper_run_step_times: `us` is NULL.");
  }
  if (Prepare(model, inputs, outputs)) return -1;
  double begin = Microseconds();
  for (int i = 0; i < model->info->step_count; ++i) {
    const int code = model->info->run_step(temper_pool_context(model->pool), i, model->input_data,
                                           model->output_data, model->arena);
    const double end = Microseconds();
    if (code) {
      const char* nodes = model->info->steps[i].nodes;
      return temper_set_error("step %d (%s) failed with code %d%s.", i, nodes ? nodes : "", code,
                              Meaning(code));
    }
    us[i] = end - begin;
    begin = end;
  }
  DescribeOutputs(model, outputs);
  return 0;
}

const char* temper_version(void) { return TEMPER_VERSION; }

int temper_input_count(const temper_model* model) { return model->info->input_count; }

const temper_tensor_info* temper_input(const temper_model* model, int i) {
  return i >= 0 && i < model->info->input_count ? &model->inputs[i] : NULL;
}

int temper_output_count(const temper_model* model) { return model->info->output_count; }

const temper_tensor_info* temper_output(const temper_model* model, int i) {
  return i >= 0 && i < model->info->output_count ? &model->outputs[i] : NULL;
}

int temper_step_count(const temper_model* model) { return model->info->step_count; }

const temper_step_info* temper_step(const temper_model* model, int i) {
  return i >= 0 && i < model->info->step_count ? &model->info->steps[i] : NULL;
}

const temper_workload_info* temper_workload(const temper_model* model, const char* hash) {
  const temper_workload_table* table = temper_module_workloads(model->module);
  for (int32_t i = 0; table && hash && i < table->count; ++i) {
    if (!strcmp(table->workloads[i].hash, hash)) return &table->workloads[i];
  }
  return NULL;
}

int temper_threads(const temper_model* model) { return temper_pool_threads(model->pool); }

int temper_compiled_threads(const temper_model* model) { return model->info->threads; }

const char* temper_target(const temper_model* model) { return model->info->target; }

const char* temper_producer(const temper_model* model) { return model->info->producer; }

int64_t temper_arena_bytes(const temper_model* model) { return model->info->arena_bytes; }

int64_t temper_weight_bytes(const temper_model* model) { return model->info->weight_bytes; }
