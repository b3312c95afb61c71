/* Runs models that `temper compile` wrote. C11 or C++; link libtemper.so, or
 * libtemper.a with -lm.
 *
 *   temper_model* model;
 *   if (temper_open("model.so", 1, &model)) { puts(temper_error()); exit(1); }
 *   temper_run(model, inputs, outputs);
 *   temper_close(model);
 *
 * Functions that return int return 0 for success; otherwise temper_error() says what is wrong and
 * nothing was changed. Nothing is printed, no signal is handled, no exit is called.
 *
 * Threads. A model may be used by one thread at a time; temper_clone makes another that shares the
 * weights. Different models and clones are independent. What the accessors return is read only,
 * and lives until temper_close of that model.
 *
 * A compiled model is machine code: open only those you would also execute. */
#ifndef TEMPER_DEPLOY_RUNTIME_TEMPER_H_
#define TEMPER_DEPLOY_RUNTIME_TEMPER_H_

#include <stdint.h>

#include "abi.h"
#include "dlpack.h"

#if defined(__GNUC__)
#define TEMPER_API __attribute__((visibility("default")))
#else
#define TEMPER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TEMPER_VERSION "0.1.0"

typedef struct temper_model temper_model;

/* One input or output. Tensors are dense and row-major, in the order of the source model's axes. */
typedef struct {
  const char* name;
  DLDataType dtype;
  int ndim;
  /* -1: of an output, known after the run; of an input, one of several, which
   * temper_specialization lists. */
  const int64_t* shape;
  const int64_t* max_shape;
} temper_tensor_info;

/* The version of the library in use, as TEMPER_VERSION. */
TEMPER_API const char* temper_version(void);

/* Loads a compiled model and allocates what its runs need. threads: how many a run may use, the
 * caller's among them; 0: one per core that this process may use. Fails where the file is missing,
 * is not a compiled model of this architecture, was changed since it was compiled, was made by a
 * newer compiler, needs instructions that this CPU lacks, or memory or threads run out. On failure
 * *out is NULL. */
TEMPER_API int temper_open(const char* path, int threads, temper_model** out);

/* Frees the model; its weights and code go with the last clone. NULL is ignored. */
TEMPER_API void temper_close(temper_model* model);

/* A second model over the same code and weights, with scratch memory and threads of its own, for
 * use by another thread. Independent of `model` from then on. */
TEMPER_API int temper_clone(temper_model* model, temper_model** out);

/* The message of the calling thread's last failed call; "" before any. Valid until the thread's
 * next failing call. */
TEMPER_API const char* temper_error(void);

/* Inputs and outputs in the order that temper_run takes them; NULL where i is out of range. */
TEMPER_API int temper_input_count(const temper_model* model);
TEMPER_API const temper_tensor_info* temper_input(const temper_model* model, int i);
TEMPER_API int temper_output_count(const temper_model* model);
TEMPER_API const temper_tensor_info* temper_output(const temper_model* model, int i);

/* Inputs that a run may leave out, because the model has a default for them: the initializers that
 * an ONNX model of IR version 4 or newer lists among its inputs. They are not among
 * temper_input_count. */
TEMPER_API int temper_optional_count(const temper_model* model);
TEMPER_API const temper_tensor_info* temper_optional(const temper_model* model, int i);

/* Runs the model once. inputs[i] and outputs[i] describe memory of the caller, of any alignment;
 * dtype, ndim and shape must be those of temper_input(i) and temper_output(i), strides NULL or
 * dense, the device the CPU. An output that overlaps an input or another output is an error; so is
 * an input that lies in an output that is lent again.
 *
 * A model compiled for several shapes picks the specialization that the shapes of the inputs fit;
 * inputs that fit none are an error that lists them.
 *
 * An output whose shape has a -1 needs room for max_shape, given as its shape; after the run its
 * shape holds the actual extents.
 *
 * An output whose data is NULL is lent by the library until the model's next run: all fields are
 * filled in; a shape that is not NULL must have room for temper_output(i)->ndim numbers and is
 * written to, a NULL one is lent too. */
TEMPER_API int temper_run(temper_model* model, const DLTensor* const* inputs,
                          DLTensor* const* outputs);

/* As temper_run. optional[i], unless NULL, takes the place of the default of temper_optional(i) in
 * this run; `optional` may be NULL itself. Such runs use kernels of their own, which cannot rely on
 * the values and may be slower. us: NULL, or where to write how long each step took, in
 * microseconds: as many as the specialization in use has. */
TEMPER_API int temper_run_with(temper_model* model, const DLTensor* const* inputs,
                               const DLTensor* const* optional, DLTensor* const* outputs,
                               double* us);

/* One of the sets of shapes that a model was compiled for. */
typedef struct {
  const temper_tensor_info* inputs;   /* temper_input_count of them */
  const temper_tensor_info* optional; /* temper_optional_count */
  const temper_tensor_info* outputs;  /* temper_output_count */
  int fixed_defaults;                 /* not 0: for runs that give no optional input */
  const temper_step_info* steps;      /* the kernel calls that a run of it consists of */
  int step_count;
  int64_t arena_bytes; /* the scratch memory it needs; one serves all */
} temper_specialization_info;

/* At least one; NULL where k is out of range. */
TEMPER_API int temper_specialization_count(const temper_model* model);
TEMPER_API const temper_specialization_info* temper_specialization(const temper_model* model,
                                                                   int k);

/* The specialization that a run with these inputs uses; -1 on failure. `optional` may be NULL. */
TEMPER_API int temper_choose(const temper_model* model, const DLTensor* const* inputs,
                             const DLTensor* const* optional);

/* The kernel calls that a run of the first specialization consists of, in order. NULL where i is
 * out of range. */
TEMPER_API int temper_step_count(const temper_model* model);
TEMPER_API const temper_step_info* temper_step(const temper_model* model, int i);

/* The workload of a step, by the hash that the step states; NULL where the model has none of that
 * hash, or was made without. */
TEMPER_API const temper_workload_info* temper_workload(const temper_model* model, const char* hash);

/* As temper_run_with without optional inputs, and with `us`, which must not be NULL. */
TEMPER_API int temper_run_step_times(temper_model* model, const DLTensor* const* inputs,
                                     DLTensor* const* outputs, double* us);

/* How often the last run that was timed came by step i of its specialization: once, or as branches
 * and loops had it. 0 where none was timed, or i is out of range. */
TEMPER_API int64_t temper_step_runs(const temper_model* model, int i);

/* Threads that a run uses; threads that the schedules were chosen for. */
TEMPER_API int temper_threads(const temper_model* model);
TEMPER_API int temper_compiled_threads(const temper_model* model);

/* The device compiled for, and the compiler: text for people. */
TEMPER_API const char* temper_target(const temper_model* model);
TEMPER_API const char* temper_producer(const temper_model* model);

/* Bytes of scratch memory of each model and clone, and of weights shared by all of them and all
 * specializations. */
TEMPER_API int64_t temper_arena_bytes(const temper_model* model);
TEMPER_API int64_t temper_weight_bytes(const temper_model* model);

#ifdef __cplusplus
}
#endif
#endif /* TEMPER_DEPLOY_RUNTIME_TEMPER_H_ */
