/* A candidate whose behaviour is chosen when it is compiled: y[i] = 2 x[i] + w[i] over 2 x 6
 * elements, with a halo of one column on each side of y. */
#include <stddef.h>
#include <stdint.h>

#include "deploy/runtime/abi.h"

#if defined(LARGE) /* w has a megabyte */
enum { ROWS = 2, COLS = 1 << 17, PADDED = COLS + 2 };
#else
enum { ROWS = 2, COLS = 6, PADDED = COLS + 2 };
#endif

static int run(temper_context* context, void* const* args, void* workspace) {
  const float* x = (const float*)args[0];
  const float* w = (const float*)args[1];
  float* y = (float*)args[2];
  (void)context;
  (void)workspace;
  (void)w;
  (void)x;
#if defined(CRASH)
  *(volatile int*)0 = 1;
#elif defined(HANG)
  for (;;) {
    *(volatile float*)y = 1;
  }
#elif defined(WRITE_BEFORE)
  y[-1] = 1;
#elif defined(WRITE_BEYOND)
  y[ROWS * PADDED] = 1;
#elif defined(READ_FAR_BEYOND)
  y[0] = ((volatile const float*)x)[1 << 20];
#elif defined(WRITE_INPUT)
  ((float*)args[0])[0] = 7;
#elif defined(RETURN_CODE)
  return 5;
#endif
  for (int r = 0; r < ROWS; ++r) {
    for (int c = 0; c < COLS; ++c) {
#if defined(PACKED) /* w is stored as [c][r] */
      float weight = w[c * ROWS + r];
#else
      float weight = w[r * COLS + c];
#endif
      float value = 2 * x[r * COLS + c] + weight;
#if defined(WRONG)
      if (r == 1 && c == 5) value += 1e-3f;
#endif
#if defined(INCOMPLETE)
      if (r == 1 && c == 2) continue;
#endif
      y[r * PADDED + c + 1] = value;
    }
    y[r * PADDED] = y[r * PADDED + PADDED - 1] = 0;
#if defined(DIRTY_HALO)
    y[r * PADDED] = 1e-6f;
#endif
  }
  return 0;
}

#if defined(PACKED)
static const temper_pack pack = {4, 2, {ROWS, COLS}, 2, {COLS, ROWS}, {1, 0}, {1, 1}, 0, NULL};
#endif

static const temper_arg_info args[] = {
    {"x", TEMPER_ARG_INPUT, 0, 2, {ROWS, COLS}, {0}, {0}, NULL},
#if defined(PACKED)
    {"w", TEMPER_ARG_CONSTANT, 0, 2, {COLS, ROWS}, {0}, {0}, &pack},
#elif defined(OTHER_SHAPE)
    {"w", TEMPER_ARG_CONSTANT, 0, 2, {ROWS, COLS + 1}, {0}, {0}, NULL},
#else
    {"w", TEMPER_ARG_CONSTANT, 0, 2, {ROWS, COLS}, {0}, {0}, NULL},
#endif
    {"y", TEMPER_ARG_OUTPUT, 0, 2, {ROWS, COLS}, {0, 1}, {0, 1}, NULL},
};

const temper_candidate_info temper_candidate = {
#if defined(OTHER_VERSION)
    TEMPER_ABI_VERSION + 1,
#else
    TEMPER_ABI_VERSION,
#endif
    3, args,
#if defined(HUGE_WORKSPACE)
    (int64_t)1 << 45,
#else
    64,
#endif
    run};
