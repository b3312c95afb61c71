#include "deploy/runtime/kernel_transform.h"

#include <string.h>

void temper_kernel_transform(int rows, const double* g, int64_t outputs, int64_t inputs,
                             const void* k, float* u) {
  const char* source = k;
  const int64_t plane = outputs * inputs;
  for (int64_t n = 0; n < plane; ++n) {
    float w[9];
    memcpy(w, source + n * (int64_t)sizeof w, sizeof w);
    double left[TEMPER_MAX_TRANSFORM_ROWS][3];
    for (int a = 0; a < rows; ++a) {
      for (int q = 0; q < 3; ++q) {
        left[a][q] = g[3 * a] * w[q] + g[3 * a + 1] * w[3 + q] + g[3 * a + 2] * w[6 + q];
      }
    }
    for (int a = 0; a < rows; ++a) {
      for (int b = 0; b < rows; ++b) {
        u[(a * rows + b) * plane + n] =
            (float)(left[a][0] * g[3 * b] + left[a][1] * g[3 * b + 1] + left[a][2] * g[3 * b + 2]);
      }
    }
  }
}
