/* CumSum, ScatterElements, ScatterND and MaxUnpool. */
#include <math.h>
#include <string.h>

#include "deploy/runtime/op.h"

/* x, axis (one integer). ints: exclusive, reverse. */
int temper_op_cum_sum(temper_context* context, void* const* args, void* workspace) {
  (void)context;
  (void)workspace;
  const temper_op_call* call = temper_op_call_of(args);
  const temper_operand x = temper_op_input(args, 0), at = temper_op_input(args, 1);
  const temper_operand y = temper_op_output(args, 0);
  int64_t axis = temper_op_load_int(&at, 0);
  if (axis < 0) axis += x.rank;
  if (axis < 0 || axis >= x.rank) return TEMPER_OP_BAD_INDEX;
  const int exclusive = call->ints[0] != 0, reverse = call->ints[1] != 0;
  const int floating = temper_op_is_float(x.dtype);
  const int64_t size = x.shape[axis];
  const int64_t inner = temper_op_count_of(&x, (int)axis + 1, x.rank);
  const int64_t outer = temper_op_count_of(&x, 0, (int)axis);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      double sum = 0;
      uint64_t total = 0;
      for (int64_t k = 0; k < size; ++k) {
        const int64_t e = (o * size + (reverse ? size - 1 - k : k)) * inner + i;
        const double v = floating ? temper_op_load(&x, e) : 0;
        const uint64_t n = floating ? 0 : (uint64_t)temper_op_load_int(&x, e);
        if (!exclusive) sum += v, total += n;
        if (floating) {
          temper_op_store(&y, e, sum);
        } else {
          temper_op_store_int(&y, e, (int64_t)total);
        }
        if (exclusive) sum += v, total += n;
      }
    }
  }
  return 0;
}

enum { NONE, ADD, MUL, MAX, MIN };

/* y[to] becomes its combination with u[from]. */
static void Combine(const temper_operand* y, int64_t to, const temper_operand* u, int64_t from,
                    int64_t how) {
  const int bytes = temper_op_bytes(y->dtype);
  if (how == NONE) {
    memcpy((char*)y->data + to * bytes, (const char*)u->data + from * bytes, (size_t)bytes);
  } else if (temper_op_is_float(y->dtype)) {
    const double a = temper_op_load(y, to), b = temper_op_load(u, from);
    double r = how == ADD ? a + b : a * b;
    if (how == MAX) r = a != a || a > b ? a : b;
    if (how == MIN) r = a != a || a < b ? a : b;
    temper_op_store(y, to, r);
  } else {
    const int64_t a = temper_op_load_int(y, to), b = temper_op_load_int(u, from);
    const int above = temper_op_order_key(y, to) > temper_op_order_key(u, from);
    uint64_t r = how == ADD ? (uint64_t)a + (uint64_t)b : (uint64_t)a * (uint64_t)b;
    if (how == MAX) r = (uint64_t)(above ? a : b);
    if (how == MIN) r = (uint64_t)(above ? b : a);
    temper_op_store_int(y, to, (int64_t)r);
  }
}

static void Copy(const temper_operand* from, const temper_operand* to) {
  const int64_t count = temper_op_count_of(from, 0, from->rank);
  memcpy(to->data, from->data, (size_t)(count * temper_op_bytes(from->dtype)));
}

/* data, indices, updates. ints: axis, reduction (none, add, mul, max, min). */
int temper_op_scatter_elements(temper_context* context, void* const* args, void* workspace) {
  (void)context;
  (void)workspace;
  const temper_op_call* call = temper_op_call_of(args);
  const temper_operand x = temper_op_input(args, 0), at = temper_op_input(args, 1);
  const temper_operand u = temper_op_input(args, 2), y = temper_op_output(args, 0);
  const int axis = (int)call->ints[0];
  Copy(&x, &y);
  const int64_t count = temper_op_count_of(&at, 0, at.rank);
  for (int64_t i = 0; i < count; ++i) {
    int64_t pick = temper_op_load_int(&at, i);
    if (pick < 0) pick += x.shape[axis];
    if (pick < 0 || pick >= x.shape[axis]) return TEMPER_OP_BAD_INDEX;
    int64_t rest = i, to = 0, stride = 1;
    for (int d = at.rank; d-- > 0; rest /= at.shape[d]) {
      to += (d == axis ? pick : rest % at.shape[d]) * stride;
      stride *= x.shape[d];
    }
    Combine(&y, to, &u, i, call->ints[1]);
  }
  return 0;
}

/* data, indices, updates. ints: reduction (none, add, mul, max, min). */
int temper_op_scatter_nd(temper_context* context, void* const* args, void* workspace) {
  (void)context;
  (void)workspace;
  const temper_op_call* call = temper_op_call_of(args);
  const temper_operand x = temper_op_input(args, 0), at = temper_op_input(args, 1);
  const temper_operand u = temper_op_input(args, 2), y = temper_op_output(args, 0);
  Copy(&x, &y);
  const int depth = (int)at.shape[at.rank - 1];
  const int64_t slices = temper_op_count_of(&at, 0, at.rank - 1);
  const int64_t inner = temper_op_count_of(&x, depth, x.rank);
  for (int64_t s = 0; s < slices; ++s) {
    int64_t to = 0;
    for (int d = 0; d < depth; ++d) {
      int64_t pick = temper_op_load_int(&at, s * depth + d);
      if (pick < 0) pick += x.shape[d];
      if (pick < 0 || pick >= x.shape[d]) return TEMPER_OP_BAD_INDEX;
      to = to * x.shape[d] + pick;
    }
    for (int64_t i = 0; i < inner; ++i)
      Combine(&y, to * inner + i, &u, s * inner + i, call->ints[0]);
  }
  return 0;
}

/* x, indices. ints: elements of an image as the indices count it, over all images; or 0 where they
 * count in the result. */
int temper_op_max_unpool(temper_context* context, void* const* args, void* workspace) {
  (void)context;
  (void)workspace;
  const temper_op_call* call = temper_op_call_of(args);
  const temper_operand x = temper_op_input(args, 0), at = temper_op_input(args, 1);
  const temper_operand y = temper_op_output(args, 0);
  const int64_t total = temper_op_count_of(&y, 0, y.rank);
  memset(y.data, 0, (size_t)(total * temper_op_bytes(y.dtype)));
  const int64_t count = temper_op_count_of(&x, 0, x.rank);
  for (int64_t i = 0; i < count; ++i) {
    int64_t pick = temper_op_load_int(&at, i);
    if (pick < 0) return TEMPER_OP_BAD_INDEX;
    if (call->ints[0]) {
      /* Extents ints[1..] of the images that were pooled, in the larger ones of the result. */
      int64_t to = 0, stride = 1;
      for (int d = y.rank; d-- > 0; pick /= call->ints[1 + d]) {
        to += pick % call->ints[1 + d] * stride;
        stride *= y.shape[d];
      }
      if (pick) return TEMPER_OP_BAD_INDEX;
      pick = to;
    }
    if (pick >= total) return TEMPER_OP_BAD_INDEX;
    Combine(&y, pick, &x, i, NONE);
  }
  return 0;
}
