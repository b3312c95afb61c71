/* RNN, GRU and LSTM.
 *
 * x, W, R, B, sequence_lens, initial_h, initial_c (LSTM), P (LSTM); Y, Y_h, Y_c (LSTM), in ONNX's
 * order. ints: hidden size, direction (0 forward, 1 reverse, 2 both), layout, a flag of the
 * operator (LSTM: input_forget, GRU: linear_before_reset), then an activation for each gate of each
 * direction. floats: the activations' alphas, as many betas at 8, the clip at 16 (0: none).
 * Workspace, in doubles: (2 * gates + 4) * hidden size. float32 and float64 only. */
#include <math.h>
#include <string.h>

#include "deploy/runtime/op.h"

enum {
  SIGMOID,
  TANH,
  RELU,
  AFFINE,
  LEAKY,
  THRESHOLDED,
  SCALED_TANH,
  HARD_SIGMOID,
  ELU,
  SOFTSIGN,
  SOFTPLUS
};

static double Activate(int64_t kind, double x, double alpha, double beta) {
  switch (kind) {
    case SIGMOID:
      return 1 / (1 + exp(-x));
    case TANH:
      return tanh(x);
    case RELU:
      return x > 0 ? x : x != x ? x : 0;
    case AFFINE:
      return alpha * x + beta;
    case LEAKY:
      return x < 0 ? alpha * x : x;
    case THRESHOLDED:
      return x > alpha ? x : 0;
    case SCALED_TANH:
      return alpha * tanh(beta * x);
    case HARD_SIGMOID:
      return fmin(fmax(alpha * x + beta, 0), 1);
    case ELU:
      return x < 0 ? alpha * (exp(x) - 1) : x;
    case SOFTSIGN:
      return x / (1 + fabs(x));
    case SOFTPLUS:
      return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    default:
      return x;
  }
}

static double Clip(double x, double limit) { return limit > 0 ? fmin(fmax(x, -limit), limit) : x; }

/* Eight sums side by side. */
static double Dot32(const float* a, const float* b, int64_t n) {
  float s[8] = {0};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int k = 0; k < 8; ++k) s[k] += a[i + k] * b[i + k];
  }
  double sum = 0;
  for (int k = 0; k < 8; ++k) sum += s[k];
  for (; i < n; ++i) sum += (double)a[i] * b[i];
  return sum;
}

static double Dot64(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

/* Row `row` of matrix m, of n columns, times the n elements of v from `at` on. */
static double Row(const temper_operand* m, int64_t row, const temper_operand* v, int64_t at,
                  int64_t n) {
  if (m->dtype == 0) return Dot32((const float*)m->data + row * n, (const float*)v->data + at, n);
  return Dot64((const double*)m->data + row * n, (const double*)v->data + at, n);
}

typedef struct {
  const temper_op_call* call;
  temper_operand x, w, r, b, lengths, h0, c0, p, y, yh, yc;
  int64_t sequence, batch, input, hidden, directions;
  int gates, layout;
  double *from_x, *from_h, *cell; /* gates * hidden, gates * hidden, hidden */
  temper_operand h, rh;           /* state in the type of x, of `hidden` elements each */
} recurrence;

static double Function(const recurrence* s, int64_t d, int gate_function, int functions, double v) {
  const int64_t i = d * functions + gate_function;
  return Activate(s->call->ints[4 + i], v, s->call->floats[i], s->call->floats[8 + i]);
}

static double Bias(const recurrence* s, int64_t d, int64_t i) {
  return s->b.data ? temper_op_load(&s->b, d * 2 * s->gates * s->hidden + i) : 0;
}

/* The sums of gate g for hidden element j, with both biases. */
static double Sum(const recurrence* s, int64_t d, int g, int64_t j) {
  const int64_t i = g * s->hidden + j, all = s->gates * s->hidden;
  return s->from_x[i] + s->from_h[i] + Bias(s, d, i) + Bias(s, d, all + i);
}

static double Peephole(const recurrence* s, int64_t d, int which, int64_t j) {
  return s->p.data ? temper_op_load(&s->p, (d * 3 + which) * s->hidden + j) : 0;
}

static void StepRnn(recurrence* s, int64_t d, double clip) {
  for (int64_t j = 0; j < s->hidden; ++j) {
    temper_op_store(&s->h, j, Function(s, d, 0, 1, Clip(Sum(s, d, 0, j), clip)));
  }
}

/* Gates: update, reset, hidden. */
static void StepGru(recurrence* s, int64_t d, double clip) {
  const int64_t n = s->hidden, all = 3 * n;
  const int linear = s->call->ints[3] != 0;
  for (int64_t j = 0; j < n; ++j) {
    const double reset = Function(s, d, 0, 2, Clip(Sum(s, d, 1, j), clip));
    s->cell[j] = reset;
    temper_op_store(&s->rh, j, reset * temper_op_load(&s->h, j));
  }
  for (int64_t j = 0; j < n; ++j) {
    const int64_t i = 2 * n + j;
    double v = s->from_x[i] + Bias(s, d, i);
    if (linear) {
      v += s->cell[j] * (s->from_h[i] + Bias(s, d, all + i));
    } else {
      v += Row(&s->r, d * all + i, &s->rh, 0, n) + Bias(s, d, all + i);
    }
    s->from_x[i] = Function(s, d, 1, 2, Clip(v, clip));
  }
  for (int64_t j = 0; j < n; ++j) {
    const double z = Function(s, d, 0, 2, Clip(Sum(s, d, 0, j), clip));
    temper_op_store(&s->h, j, (1 - z) * s->from_x[2 * n + j] + z * temper_op_load(&s->h, j));
  }
}

/* Gates: input, output, forget, cell. */
static void StepLstm(recurrence* s, int64_t d, double clip) {
  for (int64_t j = 0; j < s->hidden; ++j) {
    const double before = s->cell[j];
    const double i =
        Function(s, d, 0, 3, Clip(Sum(s, d, 0, j) + Peephole(s, d, 0, j) * before, clip));
    const double f =
        s->call->ints[3]
            ? 1 - i
            : Function(s, d, 0, 3, Clip(Sum(s, d, 2, j) + Peephole(s, d, 2, j) * before, clip));
    const double c = f * before + i * Function(s, d, 1, 3, Clip(Sum(s, d, 3, j), clip));
    const double o = Function(s, d, 0, 3, Clip(Sum(s, d, 1, j) + Peephole(s, d, 1, j) * c, clip));
    s->cell[j] = c;
    temper_op_store(&s->h, j, o * Function(s, d, 2, 3, c));
  }
}

/* Element offset of [time or none, direction, batch] of Y (time >= 0) or Y_h, Y_c. */
static int64_t Place(const recurrence* s, int64_t time, int64_t d, int64_t b) {
  if (time < 0) return (s->layout ? b * s->directions + d : d * s->batch + b) * s->hidden;
  if (s->layout) return ((b * s->sequence + time) * s->directions + d) * s->hidden;
  return ((time * s->directions + d) * s->batch + b) * s->hidden;
}

static int Run(void* const* args, void* workspace, int gates,
               void (*step)(recurrence*, int64_t, double)) {
  const temper_op_call* call = temper_op_call_of(args);
  recurrence s;
  memset(&s, 0, sizeof s);
  s.call = call;
  s.gates = gates;
  s.x = temper_op_input(args, 0), s.w = temper_op_input(args, 1), s.r = temper_op_input(args, 2);
  s.b = temper_op_input(args, 3), s.lengths = temper_op_input(args, 4);
  s.h0 = temper_op_input(args, 5), s.c0 = temper_op_input(args, 6), s.p = temper_op_input(args, 7);
  s.y = temper_op_output(args, 0), s.yh = temper_op_output(args, 1);
  s.yc = temper_op_output(args, 2);
  if (s.x.dtype > 1) return TEMPER_OP_BAD_TYPE;
  s.hidden = call->ints[0];
  s.directions = call->ints[1] == 2 ? 2 : 1;
  s.layout = call->ints[2] != 0;
  s.batch = s.x.shape[s.layout ? 0 : 1];
  s.sequence = s.x.shape[s.layout ? 1 : 0];
  s.input = s.x.shape[2];
  const int64_t n = s.hidden, all = gates * n;
  s.from_x = workspace;
  s.from_h = s.from_x + all;
  s.cell = s.from_h + all;
  s.h = s.rh = (temper_operand){s.x.dtype, 1, &call->ints[0], s.cell + n};
  s.rh.data = s.cell + 2 * n;
  for (int64_t d = 0; d < s.directions; ++d) {
    const int reverse = call->ints[1] == 1 || d == 1;
    for (int64_t b = 0; b < s.batch; ++b) {
      int64_t length = s.lengths.data ? temper_op_load_int(&s.lengths, b) : s.sequence;
      if (length < 0 || length > s.sequence) return TEMPER_OP_BAD_INDEX;
      for (int64_t j = 0; j < n; ++j) {
        const int64_t from = Place(&s, -1, d, b) + j;
        temper_op_store(&s.h, j, s.h0.data ? temper_op_load(&s.h0, from) : 0);
        s.cell[j] = s.c0.data ? temper_op_load(&s.c0, from) : 0;
      }
      for (int64_t t = 0; t < length; ++t) {
        const int64_t time = reverse ? length - 1 - t : t;
        const int64_t at = (s.layout ? b * s.sequence + time : time * s.batch + b) * s.input;
        for (int64_t i = 0; i < all; ++i) {
          s.from_x[i] = Row(&s.w, d * all + i, &s.x, at, s.input);
          s.from_h[i] = Row(&s.r, d * all + i, &s.h, 0, n);
        }
        step(&s, d, call->floats[16]);
        for (int64_t j = 0; j < n && s.y.data; ++j) {
          temper_op_store(&s.y, Place(&s, time, d, b) + j, temper_op_load(&s.h, j));
        }
      }
      for (int64_t time = length; time < s.sequence && s.y.data; ++time) {
        for (int64_t j = 0; j < n; ++j) temper_op_store(&s.y, Place(&s, time, d, b) + j, 0);
      }
      for (int64_t j = 0; j < n; ++j) {
        const int64_t to = Place(&s, -1, d, b) + j;
        if (s.yh.data) temper_op_store(&s.yh, to, temper_op_load(&s.h, j));
        if (s.yc.data) temper_op_store(&s.yc, to, s.cell[j]);
      }
    }
  }
  return 0;
}

int temper_op_rnn(temper_context* context, void* const* args, void* workspace) {
  (void)context;
  return Run(args, workspace, 1, StepRnn);
}

int temper_op_gru(temper_context* context, void* const* args, void* workspace) {
  (void)context;
  return Run(args, workspace, 3, StepGru);
}

int temper_op_lstm(temper_context* context, void* const* args, void* workspace) {
  (void)context;
  return Run(args, workspace, 4, StepLstm);
}
