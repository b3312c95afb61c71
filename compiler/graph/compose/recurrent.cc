// RNN, GRU and LSTM: a Loop over their steps, or the steps written out where they are few. What the
// steps' inputs contribute is one matrix product before them:
//
//   Y = RNN(X, W, R, B)   x = X * W^T + Wb + Rb;  h1 = Tanh(x[0] + h0 * R^T);  h2 = Tanh(x[1] + ...
//
// Where sequences have lengths of their own, a step past the end keeps the state and gives zeros.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "compiler/graph/compose/functions.h"
#include "compiler/graph/control_flow.h"

namespace temper::graph {
namespace {

// More become a Loop.
constexpr int64_t kWrittenSteps = 8;
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
      : c_(&c), gates_(gates) {
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

  // `step` gives the next state; it uses this object and its composer(), which writes into the
  // graph of a Loop or the one around it.
  template <typename F>
  void Run(bool has_cell, const F& step) {
    std::vector<int> sides, last_h, last_c;
    for (int64_t d = 0; d < directions_ && c_->ok(); ++d) {
      State state{Initial(5, d), has_cell ? Initial(6, d) : kNone};
      const int rows = Rows(step, d, state);
      if (c_->Wants(0)) sides.push_back(c_->Reshape(rows, {steps_, 1, batch_, hidden_}));
      last_h.push_back(c_->Reshape(state.h, {1, batch_, hidden_}));
      if (has_cell) last_c.push_back(c_->Reshape(state.c, {1, batch_, hidden_}));
    }
    if (!c_->ok()) return;
    if (c_->Wants(0)) {
      const int y = Join(*c_, sides, 1);
      c_->Replace(0, batch_first_ ? c_->Transpose(y, {2, 0, 1, 3}) : y);
    }
    if (c_->Wants(1)) c_->Replace(1, Outward(Join(*c_, last_h, 0)));
    if (has_cell && c_->Wants(2)) c_->Replace(2, Outward(Join(*c_, last_c, 0)));
  }

  Composer& composer() { return *c_; }

  // h * R^T over all gates, without bias.
  int Recur(int h) { return c_->MatMul(h, recurrence_); }
  // Gate `g` of [batch, gates * hidden].
  int Gate(int all, int64_t g) { return c_->Slice(all, 1, g * hidden_, (g + 1) * hidden_); }
  // The same over gates [first, end) alone.
  int RecurGates(int h, int64_t first, int64_t end) {
    return c_->MatMul(h, c_->Slice(recurrence_, 1, first * hidden_, end * hidden_));
  }
  // The bias of gate `g` in the recurrent half of B, [hidden]; kNone without B.
  int RecurrentBias(size_t d, int64_t g) {
    if (!c_->Has(3)) return kNone;
    const int64_t from = (gates_ + g) * hidden_;
    return c_->Slice(Part(c_->In(3), static_cast<int64_t>(d)), 0, from, from + hidden_);
  }
  // LSTM's peephole `g`, [hidden]; kNone without P.
  int Peephole(size_t d, int64_t g) {
    if (!c_->Has(7)) return kNone;
    return c_->Slice(Part(c_->In(7), static_cast<int64_t>(d)), 0, g * hidden_, (g + 1) * hidden_);
  }

  // Function `f` of direction `d`.
  int Function(int x, size_t d, size_t f) { return Apply(x, activations_[d * functions_ + f]); }
  // The same, after clipping.
  int Activate(int x, size_t d, size_t f) {
    if (clip_ > 0) {
      x = c_->Op("Clip", {x, c_->NumberLike(x, -clip_), c_->NumberLike(x, clip_)});
    }
    return Function(x, d, f);
  }

  int Apply(int x, const Activation& a) {
    if (a.op == "Affine")
      return c_->Add(c_->Mul(x, c_->NumberLike(x, a.alpha)), c_->NumberLike(x, a.beta));
    if (a.op == "ScaledTanh") {
      const int inner = c_->Op("Tanh", {c_->Mul(x, c_->NumberLike(x, a.beta))});
      return c_->Mul(inner, c_->NumberLike(x, a.alpha));
    }
    if (a.op == "HardSigmoid") return c_->Op(a.op, {x}, {{"alpha", a.alpha}, {"beta", a.beta}});
    if (a.op == "LeakyRelu" || a.op == "Elu" || a.op == "ThresholdedRelu") {
      return c_->Op(a.op, {x}, {{"alpha", a.alpha}});
    }
    return c_->Op(a.op, {x});
  }

  // Whether the whole recurrent bias may be added to the inputs' part, before the steps. GRU's
  // linear_before_reset may not: r scales it.
  bool add_recurrent_bias = true;

 private:
  void ReadActivations(size_t functions, std::vector<std::string> defaults) {
    functions_ = functions;
    std::vector<std::string> names;
    if (const auto at = c_->node().attributes.find("activations");
        at != c_->node().attributes.end()) {
      if (const auto* given = std::get_if<std::vector<std::string>>(&at->second)) names = *given;
    }
    if (names.empty()) {
      for (int64_t d = 0; d < directions_; ++d) {
        names.insert(names.end(), defaults.begin(), defaults.end());
      }
    }
    const size_t needed = functions * static_cast<size_t>(directions_);
    if (names.size() != needed) {
      return c_->Refuse(fmt::format("it has {} activations instead of {}", names.size(), needed));
    }
    const std::vector<float> alphas = c_->node().Floats("activation_alpha");
    const std::vector<float> betas = c_->node().Floats("activation_beta");
    size_t alpha = 0, beta = 0;  // taken by those that have one, in order
    for (const std::string& name : names) {
      const auto* known =
          std::find_if(std::begin(kDefaults), std::end(kDefaults),
                       [&](const Default& d) { return Lower(std::string(d.name)) == Lower(name); });
      if (known == std::end(kDefaults)) {
        return c_->Refuse("the activation '" + name + "' is not supported");
      }
      Activation a{std::string(known->name), known->alpha, known->beta};
      if (known->has_alpha && alpha < alphas.size()) a.alpha = alphas[alpha++];
      if (known->has_beta && beta < betas.size()) a.beta = betas[beta++];
      activations_.push_back(a);
    }
  }

  // One step at `t`, an int64 of one element: the state goes on, and what Y has of it comes back.
  template <typename F>
  int StepAt(const F& step, int x, int t, int64_t d, State& state) {
    State next = step(Step{x, state.h, state.c, static_cast<size_t>(d)});
    int y = next.h;
    if (c_->Has(4)) {
      const int alive = Alive(t);
      y = c_->Where(alive, next.h, c_->NumberLike(next.h, 0));
      next.h = c_->Where(alive, next.h, state.h);
      if (state.c != kNone) next.c = c_->Where(alive, next.c, state.c);
    }
    state = next;
    return y;
  }

  // The rows of Y, [steps, batch, hidden]. Of no steps the state stays what it was, and Y, which
  // has no elements, is a constant by now.
  template <typename F>
  int Rows(const F& step, int64_t d, State& state) {
    if (steps_ == 0) return kNone;
    const int all = Project(d);
    const bool reverse = direction_ == "reverse" || d == 1;
    return steps_ > kWrittenSteps ? Loop(step, all, d, reverse, state)
                                  : WriteOut(step, all, d, reverse, state);
  }

  // All steps one after the other; the rows of Y, [steps, batch, hidden], where it is wanted.
  template <typename F>
  int WriteOut(const F& step, int all, int64_t d, bool reverse, State& state) {
    SetDirection(d);
    std::vector<int> rows(static_cast<size_t>(steps_), kNone);
    for (int64_t i = 0; i < steps_ && c_->ok(); ++i) {
      const int64_t t = reverse ? steps_ - 1 - i : i;
      const int x = c_->Reshape(c_->Slice(all, 0, t, t + 1), {batch_, gates_ * hidden_});
      const int y = StepAt(step, x, c_->Ints({t}), d, state);
      rows[static_cast<size_t>(t)] = c_->Reshape(y, {1, batch_, hidden_});
    }
    return c_->ok() && c_->Wants(0) ? Join(*c_, rows, 0) : kNone;
  }

  // The same as a Loop. Its body has a node like this one, whose operands are those that a step
  // needs, for the composer to write in front of.
  template <typename F>
  int Loop(const F& step, int all, int64_t d, bool reverse, State& state) {
    if (!c_->ok()) return kNone;
    Composer& outer = *c_;
    auto body = std::make_shared<Graph>();
    body->name = "steps";
    const auto like = [&](int value) { return TensorType(outer.dtype(value), outer.shape(value)); };
    std::vector<int> inputs = {outer.Number(DType::kInt64, static_cast<double>(steps_)), kNone,
                               state.h};
    const int trip = body->AddInput("trip", TensorType(DType::kInt64, {}));
    State inner{body->AddInput("h", like(state.h)), kNone};
    if (state.c != kNone) {
      inputs.push_back(state.c);
      inner.c = body->AddInput("c", like(state.c));
    }
    const int64_t carried = state.c == kNone ? 1 : 2;
    const auto capture = [&](int value, const char* name) {
      if (const Tensor* constant = outer.ConstantValue(value)) {
        return body->AddConstant(name, *constant);
      }
      inputs.push_back(value);
      return body->AddInput(name, like(value));
    };
    const int inside = capture(all, "x");
    std::vector<int> operands(8, kNone);
    constexpr std::pair<size_t, const char*> kOfAStep[] = {
        {2, "R"}, {3, "B"}, {4, "lengths"}, {7, "P"}};
    for (const auto& [input, name] : kOfAStep) {
      if (outer.Has(input)) operands[input] = capture(outer.In(input), name);
    }
    const int id = body->AddNode(outer.node().op, operands, {"step"}, {}, outer.node().sources);
    Composer written(*body, id);
    c_ = &written;
    SetDirection(d);
    int t = trip;
    if (reverse) {
      t = written.Sub(written.Number(DType::kInt64, static_cast<double>(steps_ - 1)), trip);
    }
    const int y = StepAt(step, written.Gather(inside, t, 0), written.Reshape(t, {1}), d, inner);
    c_ = &outer;
    if (Status status = written.Finish(); !status.ok()) {
      outer.Refuse(status);
      return kNone;
    }
    body->AddOutput(inner.h, "h");
    if (carried == 2) body->AddOutput(inner.c, "c");
    if (outer.Wants(0)) body->AddOutput(y, "y");
    const int outputs = static_cast<int>(body->outputs().size());
    const std::vector<int> results =
        outer.Ops("Loop", inputs, outputs,
                  {{kBody, std::shared_ptr<const Graph>(std::move(body))}, {"carried", carried}});
    state.h = results[0];
    if (carried == 2) state.c = results[1];
    if (!outer.Wants(0)) return kNone;
    return reverse ? outer.Slice(results.back(), 0, -1, std::numeric_limits<int64_t>::min(), -1)
                   : results.back();
  }

  // For the steps that are written next.
  void SetDirection(int64_t d) { recurrence_ = c_->Transpose(Part(c_->In(2), d), {1, 0}); }

  // Row `d` of a value with the directions in front.
  int Part(int value, int64_t d) {
    Shape rest = c_->shape(value);
    if (!c_->ok()) return kNone;
    rest.erase(rest.begin());
    return c_->Reshape(c_->Slice(value, 0, d, d + 1), rest);
  }

  // x * W^T and the biases that all steps share, [steps, batch, gates * hidden].
  int Project(int64_t d) {
    const int64_t width = gates_ * hidden_;
    const int64_t inputs = c_->shape(x_)[2];
    int all = c_->MatMul(c_->Reshape(x_, {steps_ * batch_, inputs}),
                         c_->Transpose(Part(c_->In(1), d), {1, 0}));
    if (c_->Has(3)) {
      const int bias = Part(c_->In(3), d);
      all = c_->Add(all, c_->Slice(bias, 0, 0, width));
      if (add_recurrent_bias) all = c_->Add(all, c_->Slice(bias, 0, width, 2 * width));
    }
    return c_->Reshape(all, {steps_, batch_, width});
  }

  int Initial(size_t input, int64_t d) {
    if (!c_->Has(input)) {
      return c_->Expand(c_->Number(c_->dtype(x_), 0), {batch_, hidden_});
    }
    const int given = c_->In(input);
    return Part(batch_first_ ? c_->Transpose(given, {1, 0, 2}) : given, d);
  }

  // [batch, 1]: whether the sequence has step `t`.
  int Alive(int t) {
    const int lengths = c_->Cast(c_->In(4), DType::kInt64);
    return c_->Reshape(c_->Op("Less", {t, lengths}), {batch_, 1});
  }

  int Outward(int state) { return batch_first_ ? c_->Transpose(state, {1, 0, 2}) : state; }

  Composer* c_;
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
    const int sum = r.composer().Add(s.x, r.Recur(s.h));
    return Recurrent::State{r.Activate(sum, s.direction, 0), kNone};
  });
}

// Gates z, r, h.
void ComposeGru(Composer& c) {
  Recurrent r(c, 3, 2, {"Sigmoid", "Tanh"});
  if (!c.ok()) return;
  const bool linear_before_reset = c.node().Int("linear_before_reset", 0) != 0;
  r.add_recurrent_bias = false;
  r.Run(false, [&](const Recurrent::Step& s) {
    Composer& w = r.composer();
    const auto biased = [&](int value, int64_t gate) {
      const int bias = r.RecurrentBias(s.direction, gate);
      return bias == kNone ? value : w.Add(value, bias);
    };
    // One product for all gates whose operand is h.
    const int recurrent = r.RecurGates(s.h, 0, linear_before_reset ? 3 : 2);
    const auto gate = [&](int64_t g) {
      const int sum = w.Add(r.Gate(s.x, g), biased(r.Gate(recurrent, g), g));
      return r.Activate(sum, s.direction, 0);
    };
    const int z = gate(0), reset = gate(1);
    const int inner = linear_before_reset ? w.Mul(reset, biased(r.Gate(recurrent, 2), 2))
                                          : biased(r.RecurGates(w.Mul(reset, s.h), 2, 3), 2);
    const int fresh = r.Activate(w.Add(r.Gate(s.x, 2), inner), s.direction, 1);
    const int kept = w.Mul(z, s.h);
    const int taken = w.Mul(w.Sub(w.NumberLike(z, 1), z), fresh);
    return Recurrent::State{w.Add(taken, kept), kNone};
  });
}

// Gates i, o, f, c; peepholes i, o, f.
void ComposeLstm(Composer& c) {
  Recurrent r(c, 4, 3, {"Sigmoid", "Tanh", "Tanh"});
  if (!c.ok()) return;
  const bool input_forget = c.node().Int("input_forget", 0) != 0;
  r.Run(true, [&](const Recurrent::Step& s) {
    Composer& w = r.composer();
    const int all = w.Add(s.x, r.Recur(s.h));
    const auto peeped = [&](int64_t gate, int cell) {
      const int weight = r.Peephole(s.direction, gate);
      const int value = r.Gate(all, gate);
      return weight == kNone ? value : w.Add(value, w.Mul(weight, cell));
    };
    const int input = r.Activate(peeped(0, s.c), s.direction, 0);
    const int forget = input_forget ? w.Sub(w.NumberLike(input, 1), input)
                                    : r.Activate(peeped(2, s.c), s.direction, 0);
    const int fresh = r.Activate(r.Gate(all, 3), s.direction, 1);
    const int cell = w.Add(w.Mul(forget, s.c), w.Mul(input, fresh));
    const int output = r.Activate(peeped(1, cell), s.direction, 0);
    // The cell's own function is not clipped.
    const int h = w.Mul(output, r.Function(cell, s.direction, 2));
    return Recurrent::State{h, cell};
  });
}

}  // namespace temper::graph
