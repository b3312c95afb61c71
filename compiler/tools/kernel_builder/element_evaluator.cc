#include "compiler/tools/kernel_builder/element_evaluator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <unordered_map>

#include "base/rng.h"
#include "base/seeded_values.h"
#include "compiler/tir/scalar.h"

namespace temper::tools {
namespace {

using tir::Expr;
using tir::ExprKind;
using tir::Intrinsic;

// One of the two, by the expression's type.
struct Value {
  double number = 0;
  int64_t integer = 0;
};
Value Number(double v) { return {v, 0}; }
Value Integer(int64_t v) { return {0, v}; }

// A bool is 0 or 1.
int64_t Wrap(DType dtype, int64_t v) {
  return dtype == DType::kBool ? (v != 0 ? 1 : 0) : tir::WrapInteger(dtype, v);
}

int64_t Wrapped(uint64_t v) { return static_cast<int64_t>(v); }

double CallOf(Intrinsic f, double x, double y) {
  if (f == Intrinsic::kIsNan) return std::isnan(x) ? 1 : 0;
  if (f == Intrinsic::kIsInf) return std::isinf(x) ? 1 : 0;
  return tir::CallFunction(f, x, y);
}

}  // namespace

struct ElementEvaluator::Impl {
  const te::Program& program;
  EvaluatorOptions options;
  std::vector<int64_t> vars;  // by id
  // By tensor, then by row-major position.
  std::vector<std::unordered_map<int64_t, Value>> known;
  std::vector<int> input_position;  // by tensor: which argument it is, or -1
  int64_t nodes = 0;
  Status failure;

  Impl(const te::Program& p, const EvaluatorOptions& o)
      : program(p),
        options(o),
        vars(static_cast<size_t>(std::max(p.next_var, 0))),
        known(p.tensors.size()),
        input_position(p.tensors.size(), -1) {
    for (size_t i = 0; i < p.inputs.size(); ++i) {
      input_position[static_cast<size_t>(p.inputs[i])] = static_cast<int>(i);
    }
  }

  Value Fail(Status status) {
    if (failure.ok()) failure = std::move(status);
    return {};
  }

  Value Input(const te::Tensor& tensor, int argument, int64_t position) {
    double v = SeededValue(tensor.dtype, options.seed, argument, position);
    if (options.absolute) v = std::fabs(v);
    return IsFloat(tensor.dtype) ? Number(v) : Integer(static_cast<int64_t>(v));
  }

  // Indices are most of a body's nodes, and most are a variable, or a sum of two.
  int64_t Index(const Expr& e) {
    switch (e->kind()) {
      case ExprKind::kVar:
        return vars[static_cast<size_t>(e->var_id())];
      case ExprKind::kIntImm:
        return e->int_value();
      case ExprKind::kAdd:
        return Wrapped(static_cast<uint64_t>(Index(e->operand(0))) +
                       static_cast<uint64_t>(Index(e->operand(1))));
      default:
        return Evaluate(e).integer;
    }
  }

  Value Load(const Expr& e) {
    auto id = static_cast<size_t>(e->buffer());
    if (id >= program.tensors.size()) return Fail(Internal("a body reads no such tensor"));
    const te::Tensor& tensor = program.tensors[id];
    int64_t position = 0;
    bool outside = false;
    std::array<int64_t, te::kMaxRank> index;
    auto indices = e->indices();
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      int64_t i = Index(indices[d]);
      outside = outside || i < 0 || i >= tensor.shape[d];
      position = position * tensor.shape[d] + i;
      index[d] = i;
    }
    // The halo's zeros; a program that reads beyond them does not verify, and an unused side of a
    // Select may.
    if (outside) return {};
    if (tensor.producer < 0) return Input(tensor, input_position[id], position);
    return Element(static_cast<int>(id), position, index);
  }

  Value Element(int id, int64_t position, const std::array<int64_t, te::kMaxRank>& index) {
    auto& cache = known[static_cast<size_t>(id)];
    if (auto it = cache.find(position); it != cache.end()) return it->second;
    const te::Tensor& tensor = program.tensors[static_cast<size_t>(id)];
    const te::Stage& stage = program.stages[static_cast<size_t>(tensor.producer)];
    for (size_t d = 0; d < stage.spatial.size(); ++d) {
      vars[static_cast<size_t>(stage.spatial[d].var->var_id())] = index[d];
    }
    Value value = stage.combiner == te::Combiner::kNone ? Evaluate(stage.body) : Reduce(stage);
    if (failure.ok()) cache.emplace(position, value);
    return value;
  }

  Value Reduce(const te::Stage& stage) {
    bool is_float = IsFloat(stage.body->type().dtype);
    Value sum = Evaluate(te::Identity(stage.combiner, stage.body->type().dtype));
    for (const te::Axis& axis : stage.reduce) {
      if (axis.extent <= 0) return sum;
      vars[static_cast<size_t>(axis.var->var_id())] = 0;
    }
    while (failure.ok()) {
      Value v = Evaluate(stage.body);
      switch (stage.combiner) {
        case te::Combiner::kSum:
          sum.number += v.number;
          sum.integer =
              Wrapped(static_cast<uint64_t>(sum.integer) + static_cast<uint64_t>(v.integer));
          break;
        case te::Combiner::kProd:
          sum.number *= v.number;
          sum.integer =
              Wrapped(static_cast<uint64_t>(sum.integer) * static_cast<uint64_t>(v.integer));
          break;
        case te::Combiner::kMax:
          sum = is_float ? Number(tir::MaxNan(sum.number, v.number))
                         : Integer(std::max(sum.integer, v.integer));
          break;
        case te::Combiner::kMin:
          sum = is_float ? Number(tir::MinNan(sum.number, v.number))
                         : Integer(std::min(sum.integer, v.integer));
          break;
        case te::Combiner::kNone:
          break;
      }
      size_t d = stage.reduce.size();
      while (d > 0) {
        auto& at = vars[static_cast<size_t>(stage.reduce[d - 1].var->var_id())];
        if (++at < stage.reduce[d - 1].extent) break;
        at = 0;
        --d;
      }
      if (d == 0) break;
    }
    sum.integer = Wrap(stage.body->type().dtype, sum.integer);
    return sum;
  }

  Value Evaluate(const Expr& e);
  Value Arithmetic(const Expr& e, const Value& a, const Value& b);
  Value Compare(ExprKind kind, bool is_float, const Value& a, const Value& b);
  Value Convert(DType from, DType to, const Value& v);
};

Value ElementEvaluator::Impl::Compare(ExprKind kind, bool is_float, const Value& a,
                                      const Value& b) {
  bool less = is_float ? a.number < b.number : a.integer < b.integer;
  bool equal = is_float ? a.number == b.number : a.integer == b.integer;
  switch (kind) {
    case ExprKind::kEq:
      return Integer(equal);
    case ExprKind::kNe:
      return Integer(!equal);
    case ExprKind::kLt:
      return Integer(less);
    default:
      return Integer(less || equal);
  }
}

Value ElementEvaluator::Impl::Convert(DType from, DType to, const Value& v) {
  if (IsFloat(from) && IsFloat(to)) return v;
  if (IsFloat(to)) {
    return Number(from == DType::kUInt64 ? static_cast<double>(static_cast<uint64_t>(v.integer))
                                         : static_cast<double>(v.integer));
  }
  if (!IsFloat(from)) return Integer(Wrap(to, v.integer));
  if (to == DType::kBool) return Integer(v.number != 0);
  double limited = std::isnan(v.number) ? 0 : std::clamp(v.number, -9.2e18, 9.2e18);
  return Integer(Wrap(to, static_cast<int64_t>(limited)));
}

Value ElementEvaluator::Impl::Arithmetic(const Expr& e, const Value& a, const Value& b) {
  DType dtype = e->type().dtype;
  auto ua = static_cast<uint64_t>(a.integer), ub = static_cast<uint64_t>(b.integer);
  if (IsFloat(dtype)) {
    switch (e->kind()) {
      case ExprKind::kAdd:
        return Number(a.number + b.number);
      case ExprKind::kSub:
        // Differences of absolute values would hide the size of what is subtracted.
        return Number(options.absolute ? std::fabs(a.number) + std::fabs(b.number)
                                       : a.number - b.number);
      case ExprKind::kMul:
        return Number(a.number * b.number);
      case ExprKind::kDiv:
        return Number(a.number / b.number);
      case ExprKind::kMod:
        return Number(std::fmod(a.number, b.number));
      case ExprKind::kMin:
        return Number(tir::MinNan(a.number, b.number));
      case ExprKind::kMax:
        return Number(tir::MaxNan(a.number, b.number));
      default:
        return Fail(Unimplemented("an operation on floats that a body cannot have"));
    }
  }
  bool divides = e->kind() == ExprKind::kDiv || e->kind() == ExprKind::kMod ||
                 e->kind() == ExprKind::kFloorDiv || e->kind() == ExprKind::kFloorMod;
  if (divides && b.integer == 0) return {};  // of a Select's other side
  if (divides && b.integer == -1) {
    bool quotient = e->kind() == ExprKind::kDiv || e->kind() == ExprKind::kFloorDiv;
    return Integer(quotient ? Wrap(dtype, Wrapped(0 - ua)) : 0);
  }
  int64_t q = divides ? a.integer / b.integer : 0, r = divides ? a.integer % b.integer : 0;
  bool down = r != 0 && (r < 0) != (b.integer < 0);
  bool is_unsigned = IsUnsignedInt(dtype);
  switch (e->kind()) {
    case ExprKind::kAdd:
      return Integer(Wrap(dtype, Wrapped(ua + ub)));
    case ExprKind::kSub:
      return Integer(Wrap(dtype, Wrapped(ua - ub)));
    case ExprKind::kMul:
      return Integer(Wrap(dtype, Wrapped(ua * ub)));
    case ExprKind::kDiv:
      return Integer(is_unsigned ? Wrapped(ua / ub) : q);
    case ExprKind::kMod:
      return Integer(is_unsigned ? Wrapped(ua % ub) : r);
    case ExprKind::kFloorDiv:
      return Integer(down ? q - 1 : q);
    case ExprKind::kFloorMod:
      return Integer(down ? r + b.integer : r);
    case ExprKind::kMin:
      return Integer(is_unsigned ? Wrapped(std::min(ua, ub)) : std::min(a.integer, b.integer));
    case ExprKind::kMax:
      return Integer(is_unsigned ? Wrapped(std::max(ua, ub)) : std::max(a.integer, b.integer));
    case ExprKind::kAnd:
      return Integer(a.integer & b.integer);
    case ExprKind::kOr:
      return Integer(a.integer | b.integer);
    case ExprKind::kXor:
      return Integer(a.integer ^ b.integer);
    case ExprKind::kShl:
      return Integer(ub < 64 ? Wrap(dtype, Wrapped(ua << ub)) : 0);
    case ExprKind::kShr:
      if (ub >= 64) return Integer(0);
      return Integer(is_unsigned ? Wrapped(ua >> ub) : a.integer >> ub);
    default:
      return Fail(Unimplemented("an operation on integers that a body cannot have"));
  }
}

Value ElementEvaluator::Impl::Evaluate(const Expr& e) {
  if (!failure.ok()) return {};
  if (++nodes > options.max_nodes) {
    return Fail(ResourceExhausted("the program's elements depend on too much to be checked"));
  }
  switch (e->kind()) {
    case ExprKind::kIntImm:
      return Integer(e->int_value());
    case ExprKind::kFloatImm:
      return Number(options.absolute && std::isfinite(e->float_value())
                        ? std::fabs(e->float_value())
                        : e->float_value());
    case ExprKind::kVar:
      return Integer(vars[static_cast<size_t>(e->var_id())]);
    case ExprKind::kLoad:
      return Load(e);
    case ExprKind::kSelect:
      // Lazily: the other side may read what is not there.
      return Evaluate(e->operand(Evaluate(e->operand(0)).integer != 0 ? 1 : 2));
    case ExprKind::kNot: {
      int64_t v = Evaluate(e->operand(0)).integer;
      return Integer(e->type().dtype == DType::kBool ? v == 0 : Wrap(e->type().dtype, ~v));
    }
    case ExprKind::kCast:
      return Convert(e->operand(0)->type().dtype, e->type().dtype, Evaluate(e->operand(0)));
    case ExprKind::kCall: {
      DType from = e->operand(0)->type().dtype;
      Value x = Evaluate(e->operand(0));
      if (!IsFloat(from) && e->intrinsic() == Intrinsic::kPow) {
        const int64_t exponent = Evaluate(e->operand(1)).integer;
        return Integer(Wrap(from, tir::PowWrap(x.integer, exponent, IsSignedInt(from))));
      }
      if (!IsFloat(from)) return Integer(x.integer < 0 ? -x.integer : x.integer);  // kAbs
      double y = e->operands().size() > 1 ? Evaluate(e->operand(1)).number : 0;
      double v = CallOf(e->intrinsic(), x.number, y);
      return IsFloat(e->type().dtype) ? Number(v) : Integer(v != 0);
    }
    case ExprKind::kEq:
    case ExprKind::kNe:
    case ExprKind::kLt:
    case ExprKind::kLe: {
      Value a = Evaluate(e->operand(0));
      Value b = Evaluate(e->operand(1));
      return Compare(e->kind(), IsFloat(e->operand(0)->type().dtype), a, b);
    }
    case ExprKind::kRamp:
    case ExprKind::kBroadcast:
    case ExprKind::kReduceLanes:
      return Fail(Unimplemented("a vector in a body"));
    default: {
      Value a = Evaluate(e->operand(0));
      return Arithmetic(e, a, Evaluate(e->operand(1)));
    }
  }
}

ElementEvaluator::ElementEvaluator(const te::Program& program, const EvaluatorOptions& options)
    : impl_(std::make_unique<Impl>(program, options)) {}
ElementEvaluator::~ElementEvaluator() = default;

Result<double> ElementEvaluator::Evaluate(int output, int64_t index) {
  if (!impl_->failure.ok()) return impl_->failure;
  const te::Program& program = impl_->program;
  if (output < 0 || static_cast<size_t>(output) >= program.outputs.size()) {
    return InvalidArgument("the program has no output " + std::to_string(output));
  }
  int id = program.outputs[static_cast<size_t>(output)];
  const te::Tensor& tensor = program.tensors[static_cast<size_t>(id)];
  std::array<int64_t, te::kMaxRank> at{};
  int64_t rest = index;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    at[d] = rest % tensor.shape[d];
    rest /= tensor.shape[d];
  }
  if (index < 0 || rest != 0) return InvalidArgument("an element outside its output");
  Value v = impl_->Element(id, index, at);
  if (!impl_->failure.ok()) return impl_->failure;
  return IsFloat(tensor.dtype) ? v.number : static_cast<double>(v.integer);
}

std::vector<int64_t> ProbePositions(const std::vector<int64_t>& shape, int count, uint64_t seed) {
  int64_t total = 1;
  for (int64_t extent : shape) total *= extent;
  std::set<int64_t> chosen;
  if (total <= count) {
    for (int64_t i = 0; i < total; ++i) chosen.insert(i);
    return {chosen.begin(), chosen.end()};
  }
  auto add = [&](auto&& coordinate) {
    int64_t position = 0;
    for (size_t d = 0; d < shape.size(); ++d) position = position * shape[d] + coordinate(d);
    if (static_cast<int>(chosen.size()) < count) chosen.insert(position);
  };
  // Corners of all dimensions, up to a quarter; then one dimension at an end, the others inside.
  size_t rank = std::min<size_t>(shape.size(), 12);
  for (uint32_t corner = 0; corner < (1U << rank) && corner < static_cast<uint32_t>(count) / 4;
       ++corner) {
    // Consecutive corners differ in the last dimensions; the complement gives the far ones.
    uint32_t bits = corner % 2 == 0 ? corner / 2 : ~(corner / 2);
    add([&](size_t d) { return (bits >> (shape.size() - 1 - d)) & 1 ? shape[d] - 1 : 0; });
  }
  Rng rng(seed);
  for (size_t edge = 0; edge < shape.size(); ++edge) {
    for (bool high : {false, true}) {
      add([&](size_t d) {
        if (d == edge) return high ? shape[d] - 1 : int64_t{0};
        return static_cast<int64_t>(rng.Uniform(static_cast<uint64_t>(shape[d])));
      });
    }
  }
  while (static_cast<int>(chosen.size()) < count) {
    chosen.insert(static_cast<int64_t>(rng.Uniform(static_cast<uint64_t>(total))));
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace temper::tools
