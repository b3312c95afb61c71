#include "deploy/runtime/op.h"

#include <math.h>
#include <string.h>

/* The numbers of DType (base/dtype.h). */
enum { F32, F64, F16, BF16, I8, I16, I32, I64, U8, U16, U32, U64, BOOL, F8_FIRST, F8_LAST = 16 };

static const int kBytes[] = {4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1, 1, 1, 1, 1};

const temper_op_call* temper_op_call_of(void* const* args) { return args[0]; }

static temper_operand Operand(void* const* args, int i) {
  const temper_op_call* call = args[0];
  temper_operand x = {-1, 0, NULL, NULL};
  if (i >= call->tensor_count || call->tensors[i].dtype < 0) return x;
  x.dtype = call->tensors[i].dtype;
  x.rank = call->tensors[i].rank;
  x.shape = call->tensors[i].shape;
  x.data = args[1 + i];
  return x;
}

temper_operand temper_op_input(void* const* args, int i) {
  const temper_op_call* call = args[0];
  return Operand(args, i < call->input_count ? i : call->tensor_count);
}

temper_operand temper_op_output(void* const* args, int i) {
  const temper_op_call* call = args[0];
  return Operand(args, call->input_count + i);
}

int64_t* temper_op_extents(void* const* args, int i) {
  const temper_op_call* call = args[0];
  return call->open_shapes ? args[1 + call->tensor_count + i] : NULL;
}

int temper_op_bytes(int dtype) { return dtype >= 0 && dtype <= F8_LAST ? kBytes[dtype] : 0; }

int temper_op_is_float(int dtype) { return dtype >= F32 && dtype <= BF16; }

int64_t temper_op_count_of(const temper_operand* x, int first, int last) {
  int64_t count = 1;
  for (int d = first; d < last; ++d) count *= x->shape[d];
  return count;
}

static const char* At(const temper_operand* x, int64_t i) {
  return (const char*)x->data + i * kBytes[x->dtype];
}

#define LOAD(type)                     \
  {                                    \
    type value;                        \
    memcpy(&value, at, sizeof(value)); \
    return value;                      \
  }

int64_t temper_op_load_int(const temper_operand* x, int64_t i) {
  const char* at = At(x, i);
  switch (x->dtype) {
    case I8:
      LOAD(int8_t)
    case I16:
      LOAD(int16_t)
    case I32:
      LOAD(int32_t)
    case I64:
      LOAD(int64_t)
    case U8:
    case BOOL:
      LOAD(uint8_t)
    case U16:
      LOAD(uint16_t)
    case U32:
      LOAD(uint32_t)
    case U64: {
      uint64_t value;
      memcpy(&value, at, sizeof(value));
      return (int64_t)value;
    }
    default:
      return (int64_t)temper_op_load(x, i);
  }
}

#define STORE(type)             \
  {                             \
    const type v = (type)value; \
    memcpy(at, &v, sizeof(v));  \
    return;                     \
  }

void temper_op_store_int(const temper_operand* x, int64_t i, int64_t value) {
  char* at = (char*)x->data + i * kBytes[x->dtype];
  switch (x->dtype) {
    case I8:
    case U8:
      STORE(uint8_t)
    case I16:
    case U16:
      STORE(uint16_t)
    case I32:
    case U32:
      STORE(uint32_t)
    case I64:
    case U64:
      STORE(uint64_t)
    case BOOL:
      *at = value != 0;
      return;
    default:
      temper_op_store(x, i, (double)value);
  }
}

static double FromHalf(uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  double v;
  if (exponent == 31) {
    v = fraction ? NAN : INFINITY;
  } else if (exponent == 0) {
    v = ldexp(fraction, -24);
  } else {
    v = ldexp(1024 + fraction, exponent - 25);
  }
  return h & 0x8000 ? -v : v;
}

/* Rounds to nearest, ties to even. */
static uint16_t ToHalf(double v) {
  const uint16_t sign = signbit(v) ? 0x8000 : 0;
  v = fabs(v);
  if (isnan(v)) return sign | 0x7e00;
  if (v == 0) return sign;
  if (v >= 65520) return sign | 0x7c00;
  int exponent;
  frexp(v, &exponent); /* v = m * 2^exponent with m in [0.5, 1) */
  if (exponent < -13) exponent = -13;
  const double units = nearbyint(ldexp(v, 11 - exponent)); /* at most 2048 */
  return sign | (uint16_t)((exponent + 13) * 1024 + (int)units);
}

static double FromBrain(uint16_t b) {
  const uint32_t bits = (uint32_t)b << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static uint16_t ToBrain(double v) {
  const float f = (float)v;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  if (f != f) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double temper_op_load(const temper_operand* x, int64_t i) {
  const char* at = At(x, i);
  uint16_t half;
  switch (x->dtype) {
    case F32:
      LOAD(float)
    case F64:
      LOAD(double)
    case F16:
      memcpy(&half, at, sizeof half);
      return FromHalf(half);
    case BF16:
      memcpy(&half, at, sizeof half);
      return FromBrain(half);
    case U64:
      LOAD(uint64_t)
    default:
      return (double)temper_op_load_int(x, i);
  }
}

void temper_op_store(const temper_operand* x, int64_t i, double value) {
  char* at = (char*)x->data + i * kBytes[x->dtype];
  uint16_t half;
  switch (x->dtype) {
    case F32:
      STORE(float)
    case F64:
      STORE(double)
    case F16:
      half = ToHalf(value);
      memcpy(at, &half, sizeof half);
      return;
    case BF16:
      half = ToBrain(value);
      memcpy(at, &half, sizeof half);
      return;
    default:
      temper_op_store_int(x, i, (int64_t)value);
  }
}

uint64_t temper_op_order_key(const temper_operand* x, int64_t i) {
  const uint64_t top = (uint64_t)1 << 63;
  if (!temper_op_is_float(x->dtype)) {
    const uint64_t bits = (uint64_t)temper_op_load_int(x, i);
    return x->dtype == U64 ? bits : bits ^ top;
  }
  const double v = temper_op_load(x, i);
  if (v != v) return ~(uint64_t)0;
  const double clean = v == 0 ? 0 : v;
  uint64_t bits;
  memcpy(&bits, &clean, sizeof bits);
  return bits & top ? ~bits : bits | top;
}

void temper_op_sort(int64_t* order, int64_t* scratch, int64_t count,
                    int (*less)(const void* context, int64_t a, int64_t b), const void* context) {
  int64_t* from = order;
  int64_t* to = scratch;
  for (int64_t width = 1; width < count; width *= 2) {
    for (int64_t begin = 0; begin < count; begin += 2 * width) {
      const int64_t middle = begin + width < count ? begin + width : count;
      const int64_t end = middle + width < count ? middle + width : count;
      int64_t a = begin, b = middle;
      for (int64_t k = begin; k < end; ++k) {
        const int right = a == middle || (b < end && less(context, from[b], from[a]));
        to[k] = right ? from[b++] : from[a++];
      }
    }
    int64_t* swap = from;
    from = to;
    to = swap;
  }
  if (from != order) memcpy(order, from, (size_t)count * sizeof *order);
}
