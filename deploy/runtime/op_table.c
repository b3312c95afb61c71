#include "deploy/runtime/op.h"

#define ENTRY(number, name, function) [number] = function,
const temper_kernel_fn temper_op_table[] = {TEMPER_RUNTIME_OPS(ENTRY)};
#undef ENTRY

const int temper_op_count = (int)(sizeof temper_op_table / sizeof temper_op_table[0]);
