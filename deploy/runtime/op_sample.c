/* Det, GridSample and RoiAlign. */
#include <math.h>

#include "deploy/runtime/op.h"

/* x [.., m, m]. Workspace: m * m doubles. */
int temper_op_det(temper_context* context, void* const* args, void* workspace) {
  (void)context;
  const temper_operand x = temper_op_input(args, 0), y = temper_op_output(args, 0);
  const int64_t m = x.shape[x.rank - 1];
  const int64_t count = temper_op_count_of(&x, 0, x.rank - 2);
  double* a = workspace;
  for (int64_t n = 0; n < count; ++n) {
    for (int64_t i = 0; i < m * m; ++i) a[i] = temper_op_load(&x, n * m * m + i);
    double det = 1;
    for (int64_t k = 0; k < m; ++k) {
      int64_t pivot = k;
      for (int64_t r = k + 1; r < m; ++r) {
        if (fabs(a[r * m + k]) > fabs(a[pivot * m + k])) pivot = r;
      }
      const double top = a[pivot * m + k];
      det *= pivot == k ? top : -top;
      if (top == 0) break;
      for (int64_t c = 0; c < m; ++c) {
        const double swap = a[k * m + c];
        a[k * m + c] = a[pivot * m + c];
        a[pivot * m + c] = swap;
      }
      for (int64_t r = k + 1; r < m; ++r) {
        const double factor = a[r * m + k] / top;
        for (int64_t c = k; c < m; ++c) a[r * m + c] -= factor * a[k * m + c];
      }
    }
    temper_op_store(&y, n, det);
  }
  return 0;
}

enum { LINEAR, NEAREST, CUBIC };
enum { ZEROS, BORDER, REFLECTION };
#define MAX_SPATIAL 3

static double Reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  if (x >= low && x <= high) return x;
  const double beyond = x < low ? low - x : x - high;
  const double turns = floor(beyond / range), rest = beyond - turns * range;
  const int from_low = (fmod(turns, 2) == 0) == (x < low);
  return from_low ? low + rest : high - rest;
}

static double Clamp(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

/* The position that stands for `i` along an extent; -1 for zero. */
static int64_t Inside(double i, int64_t size, int padding, double low, double high) {
  if (padding == BORDER) i = Clamp(i, 0, (double)(size - 1));
  if (padding == REFLECTION) i = trunc(Reflect(i, low, high));
  return i >= 0 && i < (double)size ? (int64_t)i : -1;
}

/* Weights of the taps around a position: how many, from which one on. */
static int Taps(double x, int mode, double* first, double* weights) {
  *first = floor(x);
  const double t = x - *first;
  if (mode == LINEAR) {
    weights[0] = 1 - t;
    weights[1] = t;
    return 2;
  }
  const double a = -0.75, u = 1 - t;
  *first -= 1;
  weights[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
  weights[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
  weights[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
  weights[3] = ((a * (u + 1) - 5 * a) * (u + 1) + 8 * a) * (u + 1) - 4 * a;
  return 4;
}

/* x [N, C, d..], grid [N, o.., dims]. ints: mode, padding, align_corners. */
int temper_op_grid_sample(temper_context* context, void* const* args, void* workspace) {
  (void)context;
  (void)workspace;
  const temper_op_call* call = temper_op_call_of(args);
  const temper_operand x = temper_op_input(args, 0), grid = temper_op_input(args, 1);
  const temper_operand y = temper_op_output(args, 0);
  const int mode = (int)call->ints[0], padding = (int)call->ints[1];
  const int dims = x.rank - 2;
  const int64_t channels = x.shape[1], pixels = temper_op_count_of(&x, 2, x.rank);
  const int64_t points = temper_op_count_of(&y, 2, y.rank);
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    for (int64_t p = 0; p < points; ++p) {
      double first[MAX_SPATIAL], weights[MAX_SPATIAL][4];
      double low[MAX_SPATIAL], high[MAX_SPATIAL];
      int taps[MAX_SPATIAL], total = 1;
      for (int d = 0; d < dims; ++d) {
        const double size = (double)x.shape[2 + d];
        /* The grid names the innermost dimension first. */
        const double at = temper_op_load(&grid, (n * points + p) * dims + dims - 1 - d);
        double c = call->ints[2] ? (at + 1) / 2 * (size - 1) : ((at + 1) * size - 1) / 2;
        low[d] = call->ints[2] ? 0 : -0.5;
        high[d] = call->ints[2] ? size - 1 : size - 0.5;
        if (mode == NEAREST) c = nearbyint(c);
        if (!(c == c)) c = -1e18;
        c = Clamp(c, -1e18, 1e18);
        if (c < low[d] || c > high[d]) {
          if (padding == BORDER) c = Clamp(c, 0, size - 1);
          if (padding == REFLECTION) c = Reflect(c, low[d], high[d]);
        }
        if (mode == NEAREST) {
          first[d] = trunc(c);
          weights[d][0] = 1;
          taps[d] = 1;
        } else {
          taps[d] = Taps(c, mode, &first[d], weights[d]);
        }
        total *= taps[d];
      }
      for (int64_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (int t = 0; t < total; ++t) {
          int rest = t;
          double weight = 1;
          int64_t offset = 0, stride = 1;
          for (int d = dims; d-- > 0; stride *= x.shape[2 + d]) {
            const int k = rest % taps[d];
            rest /= taps[d];
            weight *= weights[d][k];
            const int64_t i = Inside(first[d] + k, x.shape[2 + d], padding, low[d], high[d]);
            offset = i < 0 || offset < 0 ? -1 : offset + i * stride;
          }
          if (offset >= 0) sum += weight * temper_op_load(&x, (n * channels + c) * pixels + offset);
        }
        temper_op_store(&y, (n * channels + c) * points + p, sum);
      }
    }
  }
  return 0;
}

typedef struct {
  int64_t at[4];
  double weight[4];
} bilinear;

static bilinear Bilinear(double y, double x, int64_t height, int64_t width) {
  bilinear b = {{0, 0, 0, 0}, {0, 0, 0, 0}};
  if (!(y >= -1 && y <= (double)height && x >= -1 && x <= (double)width)) return b;
  y = y < 0 ? 0 : y;
  x = x < 0 ? 0 : x;
  int64_t y0 = (int64_t)y, x0 = (int64_t)x, y1 = y0 + 1, x1 = x0 + 1;
  if (y0 >= height - 1) y0 = y1 = height - 1, y = (double)y0;
  if (x0 >= width - 1) x0 = x1 = width - 1, x = (double)x0;
  const double v = y - (double)y0, u = x - (double)x0;
  b.at[0] = y0 * width + x0, b.weight[0] = (1 - v) * (1 - u);
  b.at[1] = y0 * width + x1, b.weight[1] = (1 - v) * u;
  b.at[2] = y1 * width + x0, b.weight[2] = v * (1 - u);
  b.at[3] = y1 * width + x1, b.weight[3] = v * u;
  return b;
}

/* x [N, C, H, W], rois [R, 4], images [R]. ints: whether the largest, half_pixel, sampling_ratio;
 * floats: spatial_scale. */
int temper_op_roi_align(temper_context* context, void* const* args, void* workspace) {
  (void)context;
  (void)workspace;
  const temper_op_call* call = temper_op_call_of(args);
  const temper_operand x = temper_op_input(args, 0), rois = temper_op_input(args, 1);
  const temper_operand images = temper_op_input(args, 2), y = temper_op_output(args, 0);
  const int largest = call->ints[0] != 0, half = call->ints[1] != 0;
  const int64_t channels = x.shape[1], height = x.shape[2], width = x.shape[3];
  const int64_t rows = y.shape[2], columns = y.shape[3];
  const double scale = call->floats[0], shift = half ? 0.5 : 0;
  for (int64_t r = 0; r < y.shape[0]; ++r) {
    const int64_t image = temper_op_load_int(&images, r);
    if (image < 0 || image >= x.shape[0]) return TEMPER_OP_BAD_INDEX;
    double begin[2], bin[2];
    int64_t steps[2];
    for (int k = 0; k < 2; ++k) { /* 0: down, 1: across */
      begin[k] = temper_op_load(&rois, r * 4 + 1 - k) * scale - shift;
      double extent = temper_op_load(&rois, r * 4 + 3 - k) * scale - shift - begin[k];
      if (!half && extent < 1) extent = 1;
      bin[k] = extent / (double)(k ? columns : rows);
      const double count = ceil(bin[k]);
      steps[k] = call->ints[2] > 0             ? call->ints[2]
                 : count >= 1 && count < 65536 ? (int64_t)count
                                               : 0;
    }
    const double count = steps[0] * steps[1] > 1 ? (double)(steps[0] * steps[1]) : 1;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t base = (image * channels + c) * height * width;
      for (int64_t o = 0; o < rows * columns; ++o) {
        double sum = 0, top = 0;
        for (int64_t s = 0; s < steps[0] * steps[1]; ++s) {
          const double down = (double)(o / columns) * bin[0] +
                              ((double)(s / steps[1]) + 0.5) * bin[0] / (double)steps[0];
          const double across = (double)(o % columns) * bin[1] +
                                ((double)(s % steps[1]) + 0.5) * bin[1] / (double)steps[1];
          const bilinear b = Bilinear(begin[0] + down, begin[1] + across, height, width);
          double most = 0;
          for (int k = 0; k < 4; ++k) {
            const double v = b.weight[k] * temper_op_load(&x, base + b.at[k]);
            sum += v;
            if (k == 0 || v > most) most = v;
          }
          if (s == 0 || most > top) top = most;
        }
        temper_op_store(&y, (r * channels + c) * rows * columns + o, largest ? top : sum / count);
      }
    }
  }
  return 0;
}
