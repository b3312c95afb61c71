// RNN, GRU and LSTM, unrolled over their steps. What the steps' inputs contribute is one matrix
// product before them:
//
//   Y = RNN(X, W, R, B)   x = X * W^T + Wb + Rb;  h1 = Tanh(x[0] + h0 * R^T);  h2 = Tanh(x[1] + ...
//
// Where sequences have lengths of their own, a step past the end keeps the state and gives zeros.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/compose/functions.h"

namespace temper::graph {
namespace {

constexpr int64_t kMaxSteps = 4096;
constexpr size_t kConcatOperands = 32;  // of one kernel

// An activation function with its parameters.
struct Activation {
  std::string op;
  float alpha = 0;
  float beta = 0;
};

struct Default {
  std::string_view name;
  bool has_alpha;
  bool has_beta;
  float alpha;
  float beta;
};
constexpr Default kDefaults[] = {
    {"Affine", true, true, 1, 0},
    {"Elu", true, false, 1, 0},
    {"HardSigmoid", true, true, 0.2f, 0.5f},
    {"LeakyRelu", true, false, 0.01f, 0},
    {"Relu", false, false, 0, 0},
    {"ScaledTanh", true, true, 1, 1},
    {"Sigmoid", false, false, 0, 0},
    {"Softplus", false, false, 0, 0},
    {"Softsign", false, false, 0, 0},
    {"Tanh", false, false, 0, 0},
    {"ThresholdedRelu", true, false, 1, 0},
};

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Joins side by side along `axis`, in groups that a kernel holds.
int Join(Composer& c, std::vector<int> parts, int64_t axis) {
  while (c.ok() && parts.size() > 1) {
    std::vector<int> joined;
    for (size_t i = 0; i < parts.size(); i += kConcatOperands) {
      const size_t end = std::min(parts.size(), i + kConcatOperands);
      joined.push_back(c.Concat({parts.begin() + static_cast<std::ptrdiff_t>(i),
                                 parts.begin() + static_cast<std::ptrdiff_t>(end)},
                                axis));
    }
    parts = std::move(joined);
  }
  return parts.empty() ? kNone : parts[0];
}

class Recurrent {
 public:
  Recurrent(Composer& c, int64_t gates, size_t functions, std::vector<std::string> defaults)
      : c_(c), gates_(gates) {
    const Node& node = c.node();
    batch_first_ = node.Int("layout", 0) != 0;
    x_ = batch_first_ ? c.Transpose(c.In(0), {1, 0, 2}) : c.In(0);
    const Shape x = c.shape(x_), r = c.shape(c.In(2));
    if (!c.ok()) return;
    steps_ = x[0];
    batch_ = x[1];
    hidden_ = r[2];
    directions_ = r[0];
    direction_ = node.String("direction", "forward");
    if (steps_ < 1 || steps_ > kMaxSteps) {
      c.Refuse(fmt::format("it has {} steps; 1 to {} are supported", steps_, kMaxSteps));
    }
    ReadActivations(functions, std::move(defaults));
    clip_ = node.Float("clip", 0);
  }

  // The step function's view: gates of x_t * W^T and of h * R^T, each [batch, gates * hidden].
  struct Step {
    int x = kNone;
    int h = kNone;
    int c = kNone;  // LSTM's cell
    size_t direction = 0;
  };
  struct State {
    int h = kNone;
    int c = kNone;
  };

  template <typename F>
  void Run(bool has_cell, const F& step) {
    std::vector<std::vector<int>> rows(static_cast<size_t>(directions_));
    std::vector<int> last_h, last_c;
    for (int64_t d = 0; d < directions_ && c_.ok(); ++d) {
      State state{Initial(5, d), has_cell ? Initial(6, d) : kNone};
      const int all = Project(d);
      recurrence_ = c_.Transpose(Part(c_.In(2), d), {1, 0});
      rows[d].assign(static_cast<size_t>(steps_), kNone);
      const bool reverse = direction_ == "reverse" || d == 1;
      for (int64_t i = 0; i < steps_ && c_.ok(); ++i) {
        const int64_t t = reverse ? steps_ - 1 - i : i;
        const int x = c_.Reshape(c_.Slice(all, 0, t, t + 1), {batch_, gates_ * hidden_});
        State next = step({x, state.h, state.c, static_cast<size_t>(d)});
        int y = next.h;
        if (c_.Has(4)) {
          const int alive = Alive(t);
          y = c_.Where(alive, next.h, c_.NumberLike(next.h, 0));
          next.h = c_.Where(alive, next.h, state.h);
          if (has_cell) next.c = c_.Where(alive, next.c, state.c);
        }
        rows[d][static_cast<size_t>(t)] = c_.Reshape(y, {1, 1, batch_, hidden_});
        state = next;
      }
      last_h.push_back(c_.Reshape(state.h, {1, batch_, hidden_}));
      if (has_cell) last_c.push_back(c_.Reshape(state.c, {1, batch_, hidden_}));
    }
    if (!c_.ok()) return;
    if (c_.Wants(0)) {
      std::vector<int> sides;
      for (const std::vector<int>& side : rows) sides.push_back(Join(c_, side, 0));
      const int y = Join(c_, sides, 1);
      c_.Replace(0, batch_first_ ? c_.Transpose(y, {2, 0, 1, 3}) : y);
    }
    if (c_.Wants(1)) c_.Replace(1, Outward(Join(c_, last_h, 0)));
    if (has_cell && c_.Wants(2)) c_.Replace(2, Outward(Join(c_, last_c, 0)));
  }

  // h * R^T over all gates, without bias.
  int Recur(int h) { return c_.MatMul(h, recurrence_); }
  // Gate `g` of [batch, gates * hidden].
  int Gate(int all, int64_t g) { return c_.Slice(all, 1, g * hidden_, (g + 1) * hidden_); }
  // Columns of gate `g` of R^T.
  int RecurGate(int h, int64_t g) {
    return c_.MatMul(h, c_.Slice(recurrence_, 1, g * hidden_, (g + 1) * hidden_));
  }
  // The bias of gate `g` in the recurrent half of B, [hidden]; kNone without B.
  int RecurrentBias(size_t d, int64_t g) {
    if (!c_.Has(3)) return kNone;
    const int64_t from = (gates_ + g) * hidden_;
    return c_.Slice(Part(c_.In(3), static_cast<int64_t>(d)), 0, from, from + hidden_);
  }
  // LSTM's peephole `g`, [hidden]; kNone without P.
  int Peephole(size_t d, int64_t g) {
    if (!c_.Has(7)) return kNone;
    return c_.Slice(Part(c_.In(7), static_cast<int64_t>(d)), 0, g * hidden_, (g + 1) * hidden_);
  }

  // Function `f` of direction `d`.
  int Function(int x, size_t d, size_t f) { return Apply(x, activations_[d * functions_ + f]); }
  // The same, after clipping.
  int Activate(int x, size_t d, size_t f) {
    if (clip_ > 0) {
      x = c_.Op("Clip", {x, c_.NumberLike(x, -clip_), c_.NumberLike(x, clip_)});
    }
    return Function(x, d, f);
  }

  int Apply(int x, const Activation& a) {
    if (a.op == "Affine")
      return c_.Add(c_.Mul(x, c_.NumberLike(x, a.alpha)), c_.NumberLike(x, a.beta));
    if (a.op == "ScaledTanh") {
      const int inner = c_.Op("Tanh", {c_.Mul(x, c_.NumberLike(x, a.beta))});
      return c_.Mul(inner, c_.NumberLike(x, a.alpha));
    }
    if (a.op == "HardSigmoid") return c_.Op(a.op, {x}, {{"alpha", a.alpha}, {"beta", a.beta}});
    if (a.op == "LeakyRelu" || a.op == "Elu" || a.op == "ThresholdedRelu") {
      return c_.Op(a.op, {x}, {{"alpha", a.alpha}});
    }
    return c_.Op(a.op, {x});
  }

  // Whether the whole recurrent bias may be added to the inputs' part, before the steps. GRU's
  // linear_before_reset may not: r scales it.
  bool add_recurrent_bias = true;

 private:
  void ReadActivations(size_t functions, std::vector<std::string> defaults) {
    functions_ = functions;
    std::vector<std::string> names;
    if (const auto at = c_.node().attributes.find("activations");
        at != c_.node().attributes.end()) {
      if (const auto* given = std::get_if<std::vector<std::string>>(&at->second)) names = *given;
    }
    if (names.empty()) {
      for (int64_t d = 0; d < directions_; ++d) {
        names.insert(names.end(), defaults.begin(), defaults.end());
      }
    }
    const size_t needed = functions * static_cast<size_t>(directions_);
    if (names.size() != needed) {
      return c_.Refuse(fmt::format("it has {} activations instead of {}", names.size(), needed));
    }
    const std::vector<float> alphas = c_.node().Floats("activation_alpha");
    const std::vector<float> betas = c_.node().Floats("activation_beta");
    size_t alpha = 0, beta = 0;  // taken by those that have one, in order
    for (const std::string& name : names) {
      const auto* known =
          std::find_if(std::begin(kDefaults), std::end(kDefaults),
                       [&](const Default& d) { return Lower(std::string(d.name)) == Lower(name); });
      if (known == std::end(kDefaults)) {
        return c_.Refuse("the activation '" + name + "' is not supported");
      }
      Activation a{std::string(known->name), known->alpha, known->beta};
      if (known->has_alpha && alpha < alphas.size()) a.alpha = alphas[alpha++];
      if (known->has_beta && beta < betas.size()) a.beta = betas[beta++];
      activations_.push_back(a);
    }
  }

  // Row `d` of a value with the directions in front.
  int Part(int value, int64_t d) {
    Shape rest = c_.shape(value);
    if (!c_.ok()) return kNone;
    rest.erase(rest.begin());
    return c_.Reshape(c_.Slice(value, 0, d, d + 1), rest);
  }

  // x * W^T and the biases that all steps share, [steps, batch, gates * hidden].
  int Project(int64_t d) {
    const int64_t width = gates_ * hidden_;
    const int64_t inputs = c_.shape(x_)[2];
    int all = c_.MatMul(c_.Reshape(x_, {steps_ * batch_, inputs}),
                        c_.Transpose(Part(c_.In(1), d), {1, 0}));
    if (c_.Has(3)) {
      const int bias = Part(c_.In(3), d);
      all = c_.Add(all, c_.Slice(bias, 0, 0, width));
      if (add_recurrent_bias) all = c_.Add(all, c_.Slice(bias, 0, width, 2 * width));
    }
    return c_.Reshape(all, {steps_, batch_, width});
  }

  int Initial(size_t input, int64_t d) {
    if (!c_.Has(input)) {
      return c_.Expand(c_.Number(c_.dtype(x_), 0), {batch_, hidden_});
    }
    const int given = c_.In(input);
    return Part(batch_first_ ? c_.Transpose(given, {1, 0, 2}) : given, d);
  }

  // [batch, 1]: whether the sequence has step `t`.
  int Alive(int64_t t) {
    const int lengths = c_.Cast(c_.In(4), DType::kInt64);
    return c_.Reshape(c_.Op("Less", {c_.Ints({t}), lengths}), {batch_, 1});
  }

  int Outward(int state) { return batch_first_ ? c_.Transpose(state, {1, 0, 2}) : state; }

  Composer& c_;
  const int64_t gates_;
  size_t functions_ = 1;
  bool batch_first_ = false;
  int x_ = kNone;
  int recurrence_ = kNone;  // R^T of the direction at hand
  int64_t steps_ = 1, batch_ = 1, hidden_ = 1, directions_ = 1;
  std::string direction_;
  float clip_ = 0;
  std::vector<Activation> activations_;
};

}  // namespace

void ComposeRnn(Composer& c) {
  Recurrent r(c, 1, 1, {"Tanh"});
  if (!c.ok()) return;
  r.Run(false, [&](const Recurrent::Step& s) {
    return Recurrent::State{r.Activate(c.Add(s.x, r.Recur(s.h)), s.direction, 0), kNone};
  });
}

// Gates z, r, h.
void ComposeGru(Composer& c) {
  Recurrent r(c, 3, 2, {"Sigmoid", "Tanh"});
  if (!c.ok()) return;
  const bool linear_before_reset = c.node().Int("linear_before_reset", 0) != 0;
  r.add_recurrent_bias = false;
  r.Run(false, [&](const Recurrent::Step& s) {
    const auto biased = [&](int value, int64_t gate) {
      const int bias = r.RecurrentBias(s.direction, gate);
      return bias == kNone ? value : c.Add(value, bias);
    };
    const auto gate = [&](int64_t g) {
      const int sum = c.Add(r.Gate(s.x, g), biased(r.RecurGate(s.h, g), g));
      return r.Activate(sum, s.direction, 0);
    };
    const int z = gate(0), reset = gate(1);
    const int recurrent = linear_before_reset ? c.Mul(reset, biased(r.RecurGate(s.h, 2), 2))
                                              : biased(r.RecurGate(c.Mul(reset, s.h), 2), 2);
    const int fresh = r.Activate(c.Add(r.Gate(s.x, 2), recurrent), s.direction, 1);
    const int kept = c.Mul(z, s.h);
    const int taken = c.Mul(c.Sub(c.NumberLike(z, 1), z), fresh);
    return Recurrent::State{c.Add(taken, kept), kNone};
  });
}

// Gates i, o, f, c; peepholes i, o, f.
void ComposeLstm(Composer& c) {
  Recurrent r(c, 4, 3, {"Sigmoid", "Tanh", "Tanh"});
  if (!c.ok()) return;
  const bool input_forget = c.node().Int("input_forget", 0) != 0;
  r.Run(true, [&](const Recurrent::Step& s) {
    const int all = c.Add(s.x, r.Recur(s.h));
    const auto peeped = [&](int64_t gate, int cell) {
      const int weight = r.Peephole(s.direction, gate);
      const int value = r.Gate(all, gate);
      return weight == kNone ? value : c.Add(value, c.Mul(weight, cell));
    };
    const int input = r.Activate(peeped(0, s.c), s.direction, 0);
    const int forget = input_forget ? c.Sub(c.NumberLike(input, 1), input)
                                    : r.Activate(peeped(2, s.c), s.direction, 0);
    const int fresh = r.Activate(r.Gate(all, 3), s.direction, 1);
    const int cell = c.Add(c.Mul(forget, s.c), c.Mul(input, fresh));
    const int output = r.Activate(peeped(1, cell), s.direction, 0);
    // The cell's own function is not clipped.
    const int h = c.Mul(output, r.Function(cell, s.direction, 2));
    return Recurrent::State{h, cell};
  });
}

}  // namespace temper::graph
