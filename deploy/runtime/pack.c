#include "deploy/runtime/pack.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/runtime/kernel_transform.h"

#define MAX_BYTES (INT64_C(1) << 60)

/* The description made ready: dimensions of extent 1 dropped, neighbours merged. */
typedef struct {
  int rank;
  int64_t shape[TEMPER_MAX_DIMS];
  int axis[TEMPER_MAX_DIMS];
  int64_t step[TEMPER_MAX_DIMS];       /* in coordinates of the axis */
  int64_t src_stride[TEMPER_MAX_DIMS]; /* bytes of src that one index moves */
  int64_t dst_stride[TEMPER_MAX_DIMS]; /* bytes of dst, likewise */
  int64_t element_bytes;
  int64_t extent[TEMPER_MAX_DIMS]; /* by axis */
  int64_t at[TEMPER_MAX_DIMS];     /* by axis: the coordinate so far, always below its extent */
} plan;

/* Product of the extents and the element's size; -1 where one is negative or it is too large. */
static int64_t Bytes(int64_t element_bytes, int rank, const int64_t* shape) {
  int64_t bytes = element_bytes;
  int empty = 0;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] < 0) return -1;
    if (shape[i] == 0) {
      empty = 1;
    } else {
      if (bytes > MAX_BYTES / shape[i]) return -1;
      bytes *= shape[i];
    }
  }
  return empty ? 0 : bytes;
}

static int IsValid(const temper_pack* p) {
  if (p->element_bytes != 1 && p->element_bytes != 2 && p->element_bytes != 4 &&
      p->element_bytes != 8) {
    return 0;
  }
  if (p->src_rank < 0 || p->src_rank > TEMPER_MAX_DIMS) return 0;
  if (p->dst_rank < 0 || p->dst_rank > TEMPER_MAX_DIMS) return 0;
  if (Bytes(p->element_bytes, p->src_rank, p->src_shape) < 0) return 0;
  if (Bytes(p->element_bytes, p->dst_rank, p->dst_shape) < 0) return 0;
  int64_t reach[TEMPER_MAX_DIMS] = {0};
  for (int d = 0; d < p->dst_rank; ++d) {
    const int a = p->axis[d];
    if (a < 0 || a >= p->src_rank || p->step[d] < 0) return 0;
    if (p->dst_shape[d] <= 1 || p->step[d] == 0) continue;
    if (p->step[d] > MAX_BYTES / (p->dst_shape[d] - 1)) return 0;
    reach[a] += p->step[d] * (p->dst_shape[d] - 1);
    if (reach[a] > MAX_BYTES) return 0;
  }
  return 1;
}

/* The reorder alone, of what the transform makes. Returns 0 where the transform is not one. */
static int Transformed(const temper_pack* p, temper_pack* out) {
  *out = *p;
  out->transform_rows = 0;
  if (p->transform_rows == 0) return 1;
  if (p->transform_rows < 1 || p->transform_rows > TEMPER_MAX_TRANSFORM_ROWS || !p->transform ||
      p->element_bytes != 4 || p->src_rank != 4 || p->src_shape[2] != 3 || p->src_shape[3] != 3) {
    return 0;
  }
  out->src_shape[0] = out->src_shape[1] = p->transform_rows;
  out->src_shape[2] = p->src_shape[0];
  out->src_shape[3] = p->src_shape[1];
  return 1;
}

int64_t temper_pack_src_bytes(const temper_pack* pack) {
  temper_pack plain;
  if (!Transformed(pack, &plain) || !IsValid(&plain)) return -1;
  return Bytes(pack->element_bytes, pack->src_rank, pack->src_shape);
}

int64_t temper_pack_dst_bytes(const temper_pack* pack) {
  temper_pack plain;
  if (!Transformed(pack, &plain)) return -1;
  return IsValid(&plain) ? Bytes(pack->element_bytes, pack->dst_rank, pack->dst_shape) : -1;
}

static void MakePlan(const temper_pack* p, plan* out) {
  int64_t axis_stride[TEMPER_MAX_DIMS];
  int64_t stride = p->element_bytes;
  for (int a = p->src_rank - 1; a >= 0; --a) {
    axis_stride[a] = stride;
    stride *= p->src_shape[a];
    out->extent[a] = p->src_shape[a];
    out->at[a] = 0;
  }
  out->element_bytes = p->element_bytes;
  out->rank = 0;
  for (int d = 0; d < p->dst_rank; ++d) {
    if (p->dst_shape[d] == 1) continue;
    const int last = out->rank - 1;
    if (last >= 0 && out->axis[last] == p->axis[d] &&
        out->step[last] == p->step[d] * p->dst_shape[d]) {
      out->shape[last] *= p->dst_shape[d]; /* the two count on through the same axis */
      out->step[last] = p->step[d];
      continue;
    }
    out->shape[out->rank] = p->dst_shape[d];
    out->axis[out->rank] = p->axis[d];
    out->step[out->rank] = p->step[d];
    ++out->rank;
  }
  int64_t block = p->element_bytes;
  for (int d = out->rank - 1; d >= 0; --d) {
    /* A step past the extent is never taken, so its stride only must not overflow. */
    const int64_t step = out->step[d] < out->extent[out->axis[d]] ? out->step[d] : 0;
    out->src_stride[d] = step * axis_stride[out->axis[d]];
    out->dst_stride[d] = block;
    block *= out->shape[d];
  }
}

/* One strided row; memcpy because neither side need be aligned. */
#define COPY_ROW(type)                      \
  for (int64_t i = 0; i < n; ++i) {         \
    type value;                             \
    memcpy(&value, src, sizeof value);      \
    memcpy(dst, &value, sizeof value);      \
    src += src_stride, dst += sizeof value; \
  }                                         \
  break

static void CopyRow(int64_t n, int64_t element_bytes, int64_t src_stride, const char* src,
                    char* dst) {
  if (src_stride == element_bytes && n * element_bytes >= 64) {
    memcpy(dst, src, (size_t)(n * element_bytes));
    return;
  }
  switch (element_bytes) {
    case 1:
      COPY_ROW(uint8_t);
    case 2:
      COPY_ROW(uint16_t);
    case 4:
      COPY_ROW(uint32_t);
    default:
      COPY_ROW(uint64_t);
  }
}

/* How many indices of dimension d, from 0 on, stay within the source. Steps are not negative, so
 * they are the first ones. */
static int64_t InRange(const plan* p, int d) {
  const int64_t room = p->extent[p->axis[d]] - 1 - p->at[p->axis[d]];
  const int64_t step = p->step[d], shape = p->shape[d];
  if (step * (shape - 1) <= room) return shape;
  return room / step + 1;
}

/* Fills the block of dst that dimensions d, d + 1, ... span. Every coordinate is within its axis
 * on entry, so only the indices that move it need a look. */
static void PackFrom(plan* p, int d, const char* src, char* dst) {
  const int64_t n = InRange(p, d);
  const int64_t dst_stride = p->dst_stride[d], src_stride = p->src_stride[d];
  if (d == p->rank - 1) {
    CopyRow(n, p->element_bytes, src_stride, src, dst);
  } else {
    const int axis = p->axis[d];
    const int64_t at = p->at[axis];
    for (int64_t i = 0; i < n; ++i) {
      PackFrom(p, d + 1, src + i * src_stride, dst + i * dst_stride);
      p->at[axis] += p->step[d];
    }
    p->at[axis] = at;
  }
  if (n < p->shape[d]) memset(dst + n * dst_stride, 0, (size_t)((p->shape[d] - n) * dst_stride));
}

static void Reorder(const temper_pack* pack, const void* src, void* dst) {
  plan p;
  MakePlan(pack, &p);
  if (p.rank == 0) {
    memcpy(dst, src, (size_t)pack->element_bytes);
  } else {
    PackFrom(&p, 0, src, dst);
  }
}

int temper_pack_run(const temper_pack* pack, const void* src, void* dst) {
  const int64_t dst_bytes = temper_pack_dst_bytes(pack);
  if (dst_bytes < 0) return -1;
  if (dst_bytes == 0) return 0;
  if (temper_pack_src_bytes(pack) == 0) {
    memset(dst, 0, (size_t)dst_bytes);
    return 0;
  }
  if (pack->transform_rows == 0) {
    Reorder(pack, src, dst);
    return 0;
  }
  temper_pack plain;
  Transformed(pack, &plain);
  float* transformed = malloc((size_t)Bytes(plain.element_bytes, plain.src_rank, plain.src_shape));
  if (!transformed) return -2;
  temper_kernel_transform(pack->transform_rows, pack->transform, pack->src_shape[0],
                          pack->src_shape[1], src, transformed);
  Reorder(&plain, transformed, dst);
  free(transformed);
  return 0;
}
