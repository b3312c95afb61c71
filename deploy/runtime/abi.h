/* The contract between compiled code and whoever runs it: the compiler's output, the runtime
 * library and the measuring runner all include this file. C11, no dependency. Changed only like
 * a schema: append, and raise TEMPER_ABI_VERSION when an old reader would misread.
 *
 * A kernel is one function over raw buffers. A candidate (one kernel being measured) is a shared
 * object that exports `temper_candidate`; a compiled model is one that exports `temper_module`. */
#ifndef TEMPER_DEPLOY_RUNTIME_ABI_H_
#define TEMPER_DEPLOY_RUNTIME_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEMPER_ABI_VERSION 4
#define TEMPER_MAX_DIMS 12

/* What generated code may ask of the thread that runs it. */
typedef struct temper_context temper_context;

/* args: one pointer a parameter, in the order of the argument table; workspace: scratch memory,
 * 64-byte aligned, of the size the table states. Returns 0, or a code of the operator's own. */
typedef int (*temper_kernel_fn)(temper_context* context, void* const* args, void* workspace);

/* What a model's run returns where a loop would take more trips than it was compiled for, in models
 * before version 4. Operators of the runtime have codes below it. */
#define TEMPER_TOO_MANY_TRIPS 1000
/* From here on: failure `code - TEMPER_FIRST_FAILURE` of the module. */
#define TEMPER_FIRST_FAILURE 1001

/* What run_step returns since version 4 for a step that a branch or loop runs. */
#define TEMPER_STEP_INSIDE (-1)

typedef void (*temper_parallel_body)(void* closure, int64_t begin, int64_t end);
struct temper_context {
  /* Calls body(closure, b, e) over static chunks that cover [0, count), in parallel, and returns
   * when all are done. At most `chunks` calls; chunk i is [count*i/chunks, count*(i+1)/chunks). */
  void (*parallel_for)(temper_context* self, temper_parallel_body body, void* closure,
                       int64_t count);
  /* Since version 2: the runtime's operators, by the numbers of TEMPER_RUNTIME_OPS. */
  const temper_kernel_fn* ops;
  /* Since version 4, may be NULL: called before (end = 0) and behind (end = 1) each step that a
   * branch or loop runs. */
  void (*at_step)(temper_context* self, int32_t step, int32_t end);
  void* watcher; /* of whoever set at_step; generated code does not look at it */
};

/* Operators that no loop nest expresses are functions of the runtime: number, name, function. A
 * number keeps its meaning for ever. */
#define TEMPER_RUNTIME_OPS(F)                              \
  F(0, "CumSum", temper_op_cum_sum)                        \
  F(1, "ScatterElements", temper_op_scatter_elements)      \
  F(2, "ScatterND", temper_op_scatter_nd)                  \
  F(3, "TopK", temper_op_top_k)                            \
  F(4, "NonMaxSuppression", temper_op_non_max_suppression) \
  F(5, "NonZero", temper_op_non_zero)                      \
  F(6, "Compress", temper_op_compress)                     \
  F(7, "Unique", temper_op_unique)                         \
  F(8, "Det", temper_op_det)                               \
  F(9, "MaxUnpool", temper_op_max_unpool)                  \
  F(10, "GridSample", temper_op_grid_sample)               \
  F(11, "RoiAlign", temper_op_roi_align)                   \
  F(12, "RNN", temper_op_rnn)                              \
  F(13, "GRU", temper_op_gru)                              \
  F(14, "LSTM", temper_op_lstm)

/* What such a function is called for: args[0]. args[1 + i] is the data of tensors[i]; that of an
 * absent one must not be looked at. If open_shapes is not 0, args[1 + tensor_count + o] is an array
 * of int64 that receives the extents which output o came to have, its elements being written
 * densely in that shape; tensors[] then holds the largest it may have. */
#define TEMPER_OP_MAX_TENSORS 16
#define TEMPER_OP_MAX_NUMBERS 32
typedef struct {
  int32_t dtype; /* DType; -1: absent */
  int32_t rank;
  int64_t shape[TEMPER_MAX_DIMS];
} temper_op_tensor;
typedef struct {
  int32_t input_count;
  int32_t tensor_count; /* inputs, then outputs */
  int32_t open_shapes;
  int32_t reserved;
  temper_op_tensor tensors[TEMPER_OP_MAX_TENSORS];
  int64_t ints[TEMPER_OP_MAX_NUMBERS]; /* attributes, as each operator says */
  double floats[TEMPER_OP_MAX_NUMBERS];
} temper_op_call;

typedef enum {
  TEMPER_ARG_INPUT = 0,    /* read only; differs from run to run */
  TEMPER_ARG_CONSTANT = 1, /* read only; a weight, packed by `pack` before the first run */
  TEMPER_ARG_OUTPUT = 2    /* written whole, halo included */
} temper_arg_role;

/* Element types have the numbers of base/dtype.h. */

/* How a constant is reordered: dst[i0..] = src[s0..] with s_a = sum over dst dimensions d with
 * axis[d] == a of i_d * step[d]; where some s_a is past the source's extent, dst gets zero.
 * dst is dense, row-major.
 *
 * Where transform_rows is not 0, the source is a float32 convolution kernel k of the shape
 * [O, I, 3, 3], and what is reordered is its Winograd transform u of the shape [R, R, O, I]:
 * u[a, b, o, i] = sum over p, q of transform[a][p] * transform[b][q] * k[o, i, p, q], computed in
 * double; axis[] then counts u's axes. */
typedef struct {
  int32_t element_bytes;
  int32_t src_rank;
  int64_t src_shape[TEMPER_MAX_DIMS];
  int32_t dst_rank;
  int64_t dst_shape[TEMPER_MAX_DIMS];
  int32_t axis[TEMPER_MAX_DIMS];
  int64_t step[TEMPER_MAX_DIMS];
  int32_t transform_rows;  /* R, at most 16 */
  const double* transform; /* R x 3 */
} temper_pack;

typedef struct {
  const char* name;
  int32_t role;  /* temper_arg_role */
  int32_t dtype; /* DType */
  int32_t rank;
  /* The tensor that the kernel is handed, of a packed constant the packed one; the buffer is
   * dense row-major over shape + halo_before + halo_after. The halo holds zeros whenever a kernel
   * reads it; a kernel writes its outputs' halo. The last dimension's is never read nor written. */
  int64_t shape[TEMPER_MAX_DIMS];
  int64_t halo_before[TEMPER_MAX_DIMS];
  int64_t halo_after[TEMPER_MAX_DIMS];
  /* For TEMPER_ARG_CONSTANT: pack->src_shape is the logical shape; NULL: used as it is. */
  const temper_pack* pack;
} temper_arg_info;

typedef struct {
  int32_t abi_version;
  int32_t arg_count;
  const temper_arg_info* args;
  int64_t workspace_bytes;
  temper_kernel_fn kernel;
} temper_candidate_info;

/* A candidate exports: const temper_candidate_info temper_candidate; */
#define TEMPER_CANDIDATE_SYMBOL "temper_candidate"

/* One input or output of a model, in the caller's plain row-major layout. */
typedef struct {
  const char* name;
  int32_t dtype;
  int32_t rank;
  int64_t shape[TEMPER_MAX_DIMS]; /* -1: known after the run */
  int64_t max_shape[TEMPER_MAX_DIMS];
} temper_value_info;

/* One kernel call of the model's main, for profiles and reports. */
typedef struct {
  /* Names of the source model's nodes, comma separated; a comma or backslash that is part of a name
   * has a backslash before it. */
  const char* nodes;
  const char* workload; /* hash, hexadecimal */
  const char* source;   /* exact | similar | model | prior */
  const char* schedule; /* the schedule's text */
  double expected_us;   /* 0: not known */
  double flops;         /* multiply-adds count two */
  int64_t bytes;        /* read and written at least */
} temper_step_info;

/* A distinct computation of the model: what `temper inspect` needs to show a kernel. */
typedef struct {
  const char* hash;    /* the workload of steps with it */
  const char* name;    /* for people, such as "Conv+Relu 1x56x56x64" */
  const char* program; /* its canonical text; "" where that would be long */
} temper_workload_info;

typedef struct {
  int32_t count;
  const temper_workload_info* workloads;
} temper_workload_table;

/* A compiled model may export: const temper_workload_table temper_workloads; */
#define TEMPER_WORKLOADS_SYMBOL "temper_workloads"

/* The x86-64 instructions beyond its baseline (SSE2) that code may need: bit, name, name as LLVM
 * spells it. A bit keeps its meaning for ever; other architectures have lists of their own. */
#define TEMPER_X86_FEATURES(F)              \
  F(0, SSE3, "sse3")                        \
  F(1, SSSE3, "ssse3")                      \
  F(2, SSE41, "sse4.1")                     \
  F(3, SSE42, "sse4.2")                     \
  F(4, POPCNT, "popcnt")                    \
  F(5, CX16, "cx16")                        \
  F(6, LAHF, "sahf")                        \
  F(7, AVX, "avx")                          \
  F(8, F16C, "f16c")                        \
  F(9, FMA, "fma")                          \
  F(10, AVX2, "avx2")                       \
  F(11, BMI, "bmi")                         \
  F(12, BMI2, "bmi2")                       \
  F(13, LZCNT, "lzcnt")                     \
  F(14, MOVBE, "movbe")                     \
  F(15, AVX512F, "avx512f")                 \
  F(16, AVX512BW, "avx512bw")               \
  F(17, AVX512CD, "avx512cd")               \
  F(18, AVX512DQ, "avx512dq")               \
  F(19, AVX512VL, "avx512vl")               \
  F(20, AVX512IFMA, "avx512ifma")           \
  F(21, AVX512VBMI, "avx512vbmi")           \
  F(22, AVX512VBMI2, "avx512vbmi2")         \
  F(23, AVX512VNNI, "avx512vnni")           \
  F(24, AVX512BITALG, "avx512bitalg")       \
  F(25, AVX512VPOPCNTDQ, "avx512vpopcntdq") \
  F(26, AVX512BF16, "avx512bf16")           \
  F(27, AVX512FP16, "avx512fp16")           \
  F(28, AVXVNNI, "avxvnni")                 \
  F(29, GFNI, "gfni")                       \
  F(30, AMX_TILE, "amx-tile")               \
  F(31, AMX_INT8, "amx-int8")               \
  F(32, AMX_BF16, "amx-bf16")               \
  F(33, AVXIFMA, "avxifma")                 \
  F(34, AVXVNNIINT8, "avxvnniint8")         \
  F(35, AVXNECONVERT, "avxneconvert")

/* Why a run ended: `before`, then, unless number_at is -1, the int64 at that place in the arena and
 * `after`. */
typedef struct {
  const char* before;
  int64_t number_at;
  const char* after;
} temper_failure_info;

typedef struct temper_module_info temper_module_info;
struct temper_module_info {
  int32_t abi_version;
  int32_t threads; /* the schedules were chosen for so many */
  const char* target;
  const char* producer; /* name and version of the compiler */
  int32_t input_count;
  int32_t output_count;
  const temper_value_info* inputs;
  const temper_value_info* outputs;
  int64_t arena_bytes; /* scratch memory of one run, 64-byte aligned, zeroed once when made */
  int64_t weight_bytes;
  int32_t step_count;
  const temper_step_info* steps;
  /* Runs step `step` of the model, 0 <= step < step_count. Steps run in order. arena: see above. A
   * branch or loop is a step and runs what is in it; these steps come right behind it, and to run
   * one does nothing. */
  int (*run_step)(temper_context* context, int32_t step, const void* const* inputs,
                  void* const* outputs, void* arena);
  /* Runs all steps in order; returns 0 or the first step's nonzero code. */
  int (*run)(temper_context* context, const void* const* inputs, void* const* outputs, void* arena);
  /* What run needs of the CPU: bits 1 << n of TEMPER_X86_FEATURES; 0 where nothing is. A runtime
   * refuses the model on a CPU that lacks one. */
  uint64_t required_features;
  /* Writes the shape that output `output` had in the run just made with this arena, `rank` numbers.
   * NULL where no output's shape has a -1. */
  void (*output_shape)(int32_t output, const void* arena, int64_t* shape);
  /* Since version 2, which only modules that call the runtime's operators state: these are all
   * below this number. */
  int32_t op_limit;

  /* Since version 3, which only modules that use one of the following state. */

  /* The last so many of `inputs` are optional: a caller that does not give optional input i means
   * the value at defaults[i], 64-byte aligned. */
  int32_t optional_count;
  /* Not 0: the defaults are compiled in. `run` serves only calls that give no optional input, does
   * not look at their pointers, and `defaults` may be NULL. */
  int32_t fixed_defaults;
  const void* const* defaults;
  /* Further specializations of the same model over the same weights, whose own more_count is 0:
   * equal target, features and counts of values; values of equal names, types and ranks; other
   * shapes or another fixed_defaults. Of those that serve a call the first is meant, this one
   * before all. One arena of the largest size serves all, in turns. */
  int32_t more_count;
  const temper_module_info* const* more;

  /* Since version 4, which only modules with branches or loops state. */
  int32_t failure_count;
  const temper_failure_info* failures;
};

/* A compiled model exports: const temper_module_info temper_module; */
#define TEMPER_MODULE_SYMBOL "temper_module"

#ifdef __cplusplus
}
#endif
#endif /* TEMPER_DEPLOY_RUNTIME_ABI_H_ */
