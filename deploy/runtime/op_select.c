/* TopK, NonMaxSuppression, NonZero, Compress and Unique. */
#include <string.h>

#include "deploy/runtime/op.h"

static int LessKey(const void* context, int64_t a, int64_t b) {
  const uint64_t* keys = context;
  return keys[a] < keys[b];
}

/* x; values, positions. ints: axis, largest. Ties: the lower position first. Workspace: three
 * int64 an element of the axis. */
int temper_op_top_k(temper_context* context, void* const* args, void* workspace) {
  (void)context;
  const temper_op_call* call = temper_op_call_of(args);
  const temper_operand x = temper_op_input(args, 0);
  const temper_operand values = temper_op_output(args, 0), at = temper_op_output(args, 1);
  const int axis = (int)call->ints[0];
  const int64_t size = x.shape[axis];
  const int64_t k = values.data ? values.shape[axis] : at.shape[axis];
  const int64_t inner = temper_op_count_of(&x, axis + 1, x.rank);
  const int64_t outer = temper_op_count_of(&x, 0, axis);
  const int bytes = temper_op_bytes(x.dtype);
  uint64_t* keys = workspace;
  int64_t* order = (int64_t*)workspace + size;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t j = 0; j < size; ++j) {
        const uint64_t key = temper_op_order_key(&x, (o * size + j) * inner + i);
        keys[j] = call->ints[1] ? ~key : key;
        order[j] = j;
      }
      temper_op_sort(order, order + size, size, LessKey, keys);
      for (int64_t j = 0; j < k; ++j) {
        const int64_t to = (o * k + j) * inner + i, from = (o * size + order[j]) * inner + i;
        if (values.data) {
          memcpy((char*)values.data + to * bytes, (const char*)x.data + from * bytes,
                 (size_t)bytes);
        }
        if (at.data) temper_op_store_int(&at, to, order[j]);
      }
    }
  }
  return 0;
}

typedef struct {
  double low[2], high[2];
} box;

static box BoxOf(const temper_operand* boxes, int64_t i, int centre) {
  double v[4];
  for (int k = 0; k < 4; ++k) v[k] = temper_op_load(boxes, i * 4 + k);
  box b;
  for (int k = 0; k < 2; ++k) {
    double from = v[k], to = v[2 + k];
    if (centre) from = v[k] - v[2 + k] / 2, to = v[k] + v[2 + k] / 2;
    b.low[k] = from < to ? from : to;
    b.high[k] = from < to ? to : from;
  }
  return b;
}

static double Overlap(box a, box b) {
  double common = 1, area_a = 1, area_b = 1;
  for (int k = 0; k < 2; ++k) {
    const double low = a.low[k] > b.low[k] ? a.low[k] : b.low[k];
    const double high = a.high[k] < b.high[k] ? a.high[k] : b.high[k];
    common *= high > low ? high - low : 0;
    area_a *= a.high[k] - a.low[k];
    area_b *= b.high[k] - b.low[k];
  }
  const double together = area_a + area_b - common;
  return area_a <= 0 || area_b <= 0 || together <= 0 ? 0 : common / together;
}

/* boxes [B, N, 4], scores [B, C, N], most boxes of a class, largest overlap, least score.
 * ints: whether boxes are centre and size. Workspace: three int64 a box. */
int temper_op_non_max_suppression(temper_context* context, void* const* args, void* workspace) {
  (void)context;
  const temper_op_call* call = temper_op_call_of(args);
  const temper_operand boxes = temper_op_input(args, 0), scores = temper_op_input(args, 1);
  const temper_operand most = temper_op_input(args, 2), overlap = temper_op_input(args, 3);
  const temper_operand least = temper_op_input(args, 4), y = temper_op_output(args, 0);
  const int64_t limit = most.data ? temper_op_load_int(&most, 0) : 0;
  const double threshold = overlap.data ? temper_op_load(&overlap, 0) : 0;
  const int centre = call->ints[0] != 0;
  const int64_t batches = scores.shape[0], classes = scores.shape[1], count = scores.shape[2];
  uint64_t* keys = workspace;
  int64_t* order = (int64_t*)workspace + count;
  int64_t* out = y.data;
  int64_t found = 0;
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t c = 0; c < classes; ++c) {
      int64_t candidates = 0;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t e = (b * classes + c) * count + i;
        if (least.data && !(temper_op_load(&scores, e) > temper_op_load(&least, 0))) continue;
        keys[i] = ~temper_op_order_key(&scores, e);
        order[candidates++] = i;
      }
      temper_op_sort(order, order + count, candidates, LessKey, keys);
      const int64_t first = found;
      for (int64_t k = 0; k < candidates && found - first < limit; ++k) {
        const box candidate = BoxOf(&boxes, b * count + order[k], centre);
        int keep = 1;
        for (int64_t s = first; s < found && keep; ++s) {
          keep = Overlap(candidate, BoxOf(&boxes, b * count + out[3 * s + 2], centre)) <= threshold;
        }
        if (!keep) continue;
        out[3 * found] = b;
        out[3 * found + 1] = c;
        out[3 * found + 2] = order[k];
        ++found;
      }
    }
  }
  int64_t* extents = temper_op_extents(args, 0);
  if (extents) extents[0] = found, extents[1] = 3;
  return 0;
}

static int IsZero(const temper_operand* x, int64_t i) {
  return temper_op_is_float(x->dtype) ? temper_op_load(x, i) == 0 : temper_op_load_int(x, i) == 0;
}

/* x; positions [rank, count]. */
int temper_op_non_zero(temper_context* context, void* const* args, void* workspace) {
  (void)context;
  (void)workspace;
  const temper_operand x = temper_op_input(args, 0), y = temper_op_output(args, 0);
  const int64_t total = temper_op_count_of(&x, 0, x.rank);
  int64_t count = 0;
  for (int64_t i = 0; i < total; ++i) count += !IsZero(&x, i);
  int64_t* out = y.data;
  int64_t k = 0;
  for (int64_t i = 0; i < total; ++i) {
    if (IsZero(&x, i)) continue;
    int64_t rest = i;
    for (int d = x.rank; d-- > 0; rest /= x.shape[d]) out[d * count + k] = rest % x.shape[d];
    ++k;
  }
  int64_t* extents = temper_op_extents(args, 0);
  if (extents) extents[0] = x.rank, extents[1] = count;
  return 0;
}

/* x, condition. ints: axis, or -1 for the elements in a row. */
int temper_op_compress(temper_context* context, void* const* args, void* workspace) {
  (void)context;
  (void)workspace;
  const temper_op_call* call = temper_op_call_of(args);
  const temper_operand x = temper_op_input(args, 0), keep = temper_op_input(args, 1);
  const temper_operand y = temper_op_output(args, 0);
  const int axis = (int)call->ints[0];
  const int64_t size = axis < 0 ? temper_op_count_of(&x, 0, x.rank) : x.shape[axis];
  const int64_t inner = axis < 0 ? 1 : temper_op_count_of(&x, axis + 1, x.rank);
  const int64_t outer = axis < 0 ? 1 : temper_op_count_of(&x, 0, axis);
  const int64_t asked = keep.shape[0] < size ? keep.shape[0] : size;
  const size_t bytes = (size_t)(inner * temper_op_bytes(x.dtype));
  char* to = y.data;
  int64_t count = 0;
  for (int64_t j = 0; j < asked; ++j) count += temper_op_load_int(&keep, j) != 0;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t j = 0; j < asked; ++j) {
      if (!temper_op_load_int(&keep, j)) continue;
      memcpy(to, (const char*)x.data + (size_t)(o * size + j) * bytes, bytes);
      to += bytes;
    }
  }
  int64_t* extents = temper_op_extents(args, 0);
  if (!extents) return 0;
  for (int d = 0; d < y.rank; ++d) extents[d] = axis < 0 || d == axis ? count : x.shape[d];
  return 0;
}

/* Parts of a tensor along an axis, compared element by element. */
typedef struct {
  temper_operand x;
  int64_t size, inner, outer;
} parts;

static int ComparePart(const parts* p, int64_t a, int64_t b) {
  for (int64_t o = 0; o < p->outer; ++o) {
    for (int64_t i = 0; i < p->inner; ++i) {
      const uint64_t ka = temper_op_order_key(&p->x, (o * p->size + a) * p->inner + i);
      const uint64_t kb = temper_op_order_key(&p->x, (o * p->size + b) * p->inner + i);
      if (ka != kb) return ka < kb ? -1 : 1;
    }
  }
  return 0;
}

static int LessPart(const void* context, int64_t a, int64_t b) {
  return ComparePart(context, a, b) < 0;
}

static int LessIndex(const void* context, int64_t a, int64_t b) {
  const int64_t* first = context;
  return first[a] < first[b];
}

/* x; values, first positions, inverse, counts. ints: axis, or -1 for the elements in a row; sorted.
 * Workspace: six int64 an element of the axis. */
int temper_op_unique(temper_context* context, void* const* args, void* workspace) {
  (void)context;
  const temper_op_call* call = temper_op_call_of(args);
  const temper_operand x = temper_op_input(args, 0), y = temper_op_output(args, 0);
  const int axis = (int)call->ints[0];
  parts p = {x, 0, 1, 1};
  p.size = axis < 0 ? temper_op_count_of(&x, 0, x.rank) : x.shape[axis];
  if (axis >= 0) {
    p.inner = temper_op_count_of(&x, axis + 1, x.rank);
    p.outer = temper_op_count_of(&x, 0, axis);
  }
  int64_t* order = workspace;
  int64_t* scratch = order + p.size;
  int64_t* first = order + 2 * p.size; /* of each group of equal parts */
  int64_t* group = order + 3 * p.size; /* of each part */
  int64_t* place = order + 4 * p.size; /* of each group in the result */
  int64_t* ranked = order + 5 * p.size;
  for (int64_t i = 0; i < p.size; ++i) order[i] = i;
  temper_op_sort(order, scratch, p.size, LessPart, &p);
  int64_t groups = 0;
  for (int64_t i = 0; i < p.size; ++i) {
    if (i == 0 || ComparePart(&p, order[i - 1], order[i]) != 0) first[groups++] = order[i];
    group[order[i]] = groups - 1;
  }
  for (int64_t g = 0; g < groups; ++g) ranked[g] = g;
  if (!call->ints[1]) temper_op_sort(ranked, scratch, groups, LessIndex, first);
  for (int64_t g = 0; g < groups; ++g) place[ranked[g]] = g;
  const size_t bytes = (size_t)(p.inner * temper_op_bytes(x.dtype));
  for (int64_t o = 0; o < p.outer && y.data; ++o) {
    for (int64_t g = 0; g < groups; ++g) {
      memcpy((char*)y.data + (size_t)(o * groups + g) * bytes,
             (const char*)x.data + (size_t)(o * p.size + first[ranked[g]]) * bytes, bytes);
    }
  }
  int64_t* indices = temper_op_output(args, 1).data;
  int64_t* inverse = temper_op_output(args, 2).data;
  int64_t* counts = temper_op_output(args, 3).data;
  for (int64_t g = 0; g < groups; ++g) {
    if (indices) indices[g] = first[ranked[g]];
    if (counts) counts[g] = 0;
  }
  for (int64_t i = 0; i < p.size; ++i) {
    if (inverse) inverse[i] = place[group[i]];
    if (counts) ++counts[place[group[i]]];
  }
  int64_t* extents = temper_op_extents(args, 0);
  if (!extents) return 0;
  for (int d = 0; d < y.rank; ++d) extents[d] = axis < 0 || d == axis ? groups : x.shape[d];
  temper_op_extents(args, 1)[0] = groups;
  temper_op_extents(args, 2)[0] = p.size;
  temper_op_extents(args, 3)[0] = groups;
  return 0;
}
