/* What the runtime's operators share. */
#ifndef TEMPER_DEPLOY_RUNTIME_OP_H_
#define TEMPER_DEPLOY_RUNTIME_OP_H_

#include "deploy/runtime/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Results of operators other than 0. */
enum {
  TEMPER_OP_BAD_INDEX = 1, /* an index is outside its tensor */
  TEMPER_OP_BAD_TYPE = 2   /* an element type that the operator does not take */
};

#define TEMPER_DECLARE_OP(number, name, function) \
  int function(temper_context* context, void* const* args, void* workspace);
TEMPER_RUNTIME_OPS(TEMPER_DECLARE_OP)
#undef TEMPER_DECLARE_OP

/* By the numbers of TEMPER_RUNTIME_OPS. */
extern const temper_kernel_fn temper_op_table[];
extern const int temper_op_count;

/* One operand or result of a call; its data is NULL where it is absent. */
typedef struct {
  int dtype;
  int rank;
  const int64_t* shape;
  void* data;
} temper_operand;

temper_operand temper_op_input(void* const* args, int i);
temper_operand temper_op_output(void* const* args, int i);
/* Where the extents of output i go; NULL where they are known before. */
int64_t* temper_op_extents(void* const* args, int i);
const temper_op_call* temper_op_call_of(void* const* args);

/* Bytes of an element; 0 for an unknown type. */
int temper_op_bytes(int dtype);
int temper_op_is_float(int dtype);
/* Product of the extents [first, last). */
int64_t temper_op_count_of(const temper_operand* x, int first, int last);
/* Element i in row-major order: integers of any type, and bool, as int64 (uint64 by its bits); all
 * numbers as double. Storing rounds once, or wraps. */
int64_t temper_op_load_int(const temper_operand* x, int64_t i);
void temper_op_store_int(const temper_operand* x, int64_t i, int64_t value);
double temper_op_load(const temper_operand* x, int64_t i);
void temper_op_store(const temper_operand* x, int64_t i, double value);

/* A number that orders as element i does: floats with NaN above all, -0 as 0. */
uint64_t temper_op_order_key(const temper_operand* x, int64_t i);

/* Sorts order[0..count) stably; less(context, a, b) compares two of its values. scratch: as many.
 */
void temper_op_sort(int64_t* order, int64_t* scratch, int64_t count,
                    int (*less)(const void* context, int64_t a, int64_t b), const void* context);

#ifdef __cplusplus
}
#endif
#endif /* TEMPER_DEPLOY_RUNTIME_OP_H_ */
