// Bodies are compiled to flat code over a frame of cells a stage; an element of another stage that
// a body reads is evaluated on the spot, and kept.
#include "compiler/te/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "compiler/te/interpret_body.h"
#include "compiler/tir/scalar.h"
#include "compiler/tir/verify.h"

namespace temper::te {
namespace {

using tir::Scalar;

constexpr int64_t kMaxDenseMemo = int64_t{1} << 24;  // elements of one stage

struct Memory {                                        // how a tensor's elements are found
  std::vector<int64_t> shape, before, after, strides;  // strides and offset: elements, with halo
  int64_t offset = 0, count = 1;                       // count: with halo
  int64_t logical = 1;                                 // elements without halo
  DType dtype = DType::kFloat32;
  std::string name;
};

struct Memo {
  std::vector<Scalar> dense;
  std::vector<bool> known;
  std::unordered_map<int64_t, Scalar> sparse;
};

Memory MemoryOf(const Tensor& t) {
  Memory m;
  m.shape = t.shape;
  m.before = t.halo_before;
  m.after = t.halo_after;
  m.before.resize(t.shape.size());
  m.after.resize(t.shape.size());
  m.strides.resize(t.shape.size());
  for (size_t d = t.shape.size(); d-- > 0;) {
    m.strides[d] = m.count;
    m.offset += m.before[d] * m.count;
    m.count *= m.before[d] + t.shape[d] + m.after[d];
    m.logical *= t.shape[d];
  }
  m.dtype = t.dtype;
  m.name = t.name;
  return m;
}

}  // namespace

struct Evaluator::State {
  std::vector<Memory> tensors;
  std::vector<const std::byte*> inputs;  // by tensor; null for a computed one
  std::vector<int> producer;             // by tensor
  std::vector<StageCode> stages;
  std::vector<Memo> memos;  // by stage
  bool native = false;
  int64_t steps_left = 0;

  Status Value(int tensor, int64_t logical, const int64_t* index, Scalar* out);
  Status RunStage(int stage, const int64_t* index, Scalar* out);
  Status RunBody(StageCode& s);
  Status Load(const StageCode& s, const Instr& i, Scalar* cells);
  void Combine(const StageCode& s, Scalar* sum, Scalar value) const;
  double Round(DType dtype, double value) const {
    return native ? tir::RoundFloat(dtype, value) : value;
  }
};

// The element of a computed tensor: from the memo, or computed now.
Status Evaluator::State::Value(int tensor, int64_t logical, const int64_t* index, Scalar* out) {
  const int stage = producer[tensor];
  const bool dense = tensors[tensor].logical <= kMaxDenseMemo;
  if (dense) {
    Memo& memo = memos[stage];
    if (memo.known.empty()) {
      memo.known.resize(static_cast<size_t>(tensors[tensor].logical));
      memo.dense.resize(static_cast<size_t>(tensors[tensor].logical));
    }
    if (memo.known[logical]) {
      *out = memo.dense[logical];
      return OkStatus();
    }
  } else if (auto at = memos[stage].sparse.find(logical); at != memos[stage].sparse.end()) {
    *out = at->second;
    return OkStatus();
  }
  TEMPER_RETURN_IF_ERROR(RunStage(stage, index, out));
  if (dense) {
    memos[stage].known[logical] = true;
    memos[stage].dense[logical] = *out;
  } else {
    memos[stage].sparse.emplace(logical, *out);
  }
  return OkStatus();
}

Status Evaluator::State::RunStage(int stage, const int64_t* index, Scalar* out) {
  StageCode& s = stages[stage];
  for (size_t d = 0; d < s.spatial; ++d) s.cells[d].i = index[d];
  if (s.reduce.empty()) {
    TEMPER_RETURN_IF_ERROR(RunBody(s));
    *out = s.cells[s.result];
    return OkStatus();
  }
  Scalar sum = s.identity;
  *out = sum;
  for (int64_t extent : s.reduce) {
    if (extent == 0) return OkStatus();
  }
  Scalar* at = s.cells.data() + s.spatial;
  for (size_t r = 0; r < s.reduce.size(); ++r) at[r].i = 0;
  for (;;) {
    TEMPER_RETURN_IF_ERROR(RunBody(s));
    Combine(s, &sum, s.cells[s.result]);
    size_t r = s.reduce.size();
    while (r > 0 && ++at[r - 1].i == s.reduce[r - 1]) at[--r].i = 0;
    if (r == 0) break;
  }
  *out = sum;
  return OkStatus();
}

void Evaluator::State::Combine(const StageCode& s, Scalar* sum, Scalar value) const {
  if (IsFloat(s.dtype)) {
    switch (s.combiner) {
      case Combiner::kMax:
        sum->d = tir::MaxNan(sum->d, value.d);
        return;
      case Combiner::kMin:
        sum->d = tir::MinNan(sum->d, value.d);
        return;
      case Combiner::kProd:
        sum->d = Round(s.dtype, sum->d * value.d);
        return;
      default:
        sum->d = Round(s.dtype, sum->d + value.d);
        return;
    }
  }
  const bool less = IsSignedInt(s.dtype)
                        ? value.i < sum->i
                        : static_cast<uint64_t>(value.i) < static_cast<uint64_t>(sum->i);
  switch (s.combiner) {
    case Combiner::kMax:
      if (!less) *sum = value;
      return;
    case Combiner::kMin:
      if (less) *sum = value;
      return;
    case Combiner::kProd:
      sum->i = tir::WrapInteger(s.dtype, tir::MulWrap(sum->i, value.i));
      return;
    default:
      sum->i = tir::WrapInteger(s.dtype, tir::AddWrap(sum->i, value.i));
      return;
  }
}

Status Evaluator::State::RunBody(StageCode& s) {
  if (--steps_left < 0) return ResourceExhausted("too many steps to evaluate the program");
  Scalar* cells = s.cells.data();
  const Instr* pc = s.code.data();
  const Instr* end = pc + s.code.size();
  while (pc != end) {
    const Instr& i = *pc++;
    switch (i.action) {
      case Action::kCompute:
        TEMPER_RETURN_IF_ERROR(Compute(s, i, native, cells));
        break;
      case Action::kMove:
        cells[i.dst] = cells[i.a];
        break;
      case Action::kLoad:
        TEMPER_RETURN_IF_ERROR(Load(s, i, cells));
        break;
      case Action::kJump:
        pc += i.imm;
        break;
      case Action::kJumpIfFalse:
        if (cells[i.a].i == 0) pc += i.imm;
        break;
    }
  }
  return OkStatus();
}

Status Evaluator::State::Load(const StageCode& s, const Instr& i, Scalar* cells) {
  const Memory& m = tensors[i.tensor];
  const bool computed = producer[i.tensor] >= 0;
  int64_t index[kMaxRank];
  int64_t at = m.offset, logical = 0;
  bool in_halo = false;
  for (size_t d = 0; d < m.shape.size(); ++d) {
    index[d] = cells[s.index_cells[i.imm + static_cast<int64_t>(d)]].i;
    if (index[d] < -m.before[d] || index[d] >= m.shape[d] + m.after[d]) {
      return OutOfRange(fmt::format("stage {} reads {} with index {} = {}, outside [{}, {})",
                                    s.name, m.name, d, index[d], -m.before[d],
                                    m.shape[d] + m.after[d]));
    }
    const bool outside = index[d] < 0 || index[d] >= m.shape[d];
    if (outside && d + 1 == m.shape.size()) {
      return OutOfRange(fmt::format("stage {} reads what lies beside {}", s.name, m.name));
    }
    in_halo |= outside;
    at += index[d] * m.strides[d];
    logical = logical * m.shape[d] + index[d];
  }
  if (!computed) {
    cells[i.dst] = tir::ReadScalar(m.dtype, inputs[i.tensor] + at * ByteSize(m.dtype));
    return OkStatus();
  }
  if (in_halo) {
    cells[i.dst].i = 0;  // the bits of 0.0 too
    return OkStatus();
  }
  return Value(i.tensor, logical, index, &cells[i.dst]);
}

Evaluator::Evaluator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator& Evaluator::operator=(Evaluator&&) noexcept = default;

Result<Evaluator> Evaluator::Make(const Program& program, std::span<const void* const> inputs,
                                  const EvaluateOptions& options) {
  TEMPER_RETURN_IF_ERROR(Verify(program));
  if (inputs.size() != program.inputs.size()) {
    return InvalidArgument(
        fmt::format("{} buffers for {} inputs", inputs.size(), program.inputs.size()));
  }
  auto state = std::make_unique<State>();
  state->native = options.precision == Precision::kNative;
  state->steps_left = options.max_steps;
  state->inputs.resize(program.tensors.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) return InvalidArgument(fmt::format("no buffer for input {}", i));
    state->inputs[program.inputs[i]] = static_cast<const std::byte*>(inputs[i]);
  }
  for (const Tensor& t : program.tensors) {
    state->tensors.push_back(MemoryOf(t));
    state->producer.push_back(t.producer);
  }
  for (const Stage& stage : program.stages) {
    TEMPER_RETURN_IF_ERROR(tir::VerifyExpr(stage.body).WithContext("stage " + stage.name));
    StageCode& s = state->stages.emplace_back();
    CompileBody(stage, &s);
    s.spatial = stage.spatial.size();
    for (const Axis& a : stage.reduce) s.reduce.push_back(a.extent);
    s.combiner = stage.combiner;
    s.dtype = stage.body->type().dtype;
    s.name = stage.name;
    const tir::Expr identity = Identity(stage.combiner, s.dtype);
    if (IsFloat(s.dtype)) {
      s.identity.d = identity->float_value();
    } else {
      s.identity.i = identity->int_value();
    }
  }
  state->memos.resize(program.stages.size());
  return Evaluator(std::move(state));
}

Result<double> Evaluator::Element(int tensor, std::span<const int64_t> index) {
  State& s = *state_;
  if (tensor < 0 || tensor >= static_cast<int>(s.tensors.size()) || s.producer[tensor] < 0) {
    return InvalidArgument(fmt::format("tensor {} is not computed", tensor));
  }
  const Memory& m = s.tensors[tensor];
  if (index.size() != m.shape.size()) {
    return InvalidArgument(
        fmt::format("{} indices into {} of rank {}", index.size(), m.name, m.shape.size()));
  }
  int64_t logical = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    if (index[d] < 0 || index[d] >= m.shape[d]) {
      return OutOfRange(
          fmt::format("index {} of {} is {}, outside [0, {})", d, m.name, index[d], m.shape[d]));
    }
    logical = logical * m.shape[d] + index[d];
  }
  Scalar value;
  TEMPER_RETURN_IF_ERROR(s.Value(tensor, logical, index.data(), &value));
  if (IsFloat(m.dtype)) return value.d;
  if (m.dtype == DType::kUInt64) return static_cast<double>(static_cast<uint64_t>(value.i));
  return static_cast<double>(value.i);
}

Status Evaluator::Fill(int tensor, void* out) {
  State& s = *state_;
  if (tensor < 0 || tensor >= static_cast<int>(s.tensors.size()) || s.producer[tensor] < 0) {
    return InvalidArgument(fmt::format("tensor {} is not computed", tensor));
  }
  const Memory& m = s.tensors[tensor];
  auto* bytes = static_cast<std::byte*>(out);
  std::fill(bytes, bytes + m.count * ByteSize(m.dtype), std::byte{0});
  std::vector<int64_t> index(m.shape.size());
  for (int64_t logical = 0; logical < m.logical; ++logical) {
    int64_t rest = logical, at = m.offset;
    for (size_t d = index.size(); d-- > 0;) {
      index[d] = rest % m.shape[d];
      rest /= m.shape[d];
      at += index[d] * m.strides[d];
    }
    Scalar value;
    TEMPER_RETURN_IF_ERROR(s.Value(tensor, logical, index.data(), &value));
    tir::WriteScalar(m.dtype, value, bytes + at * ByteSize(m.dtype));
  }
  return OkStatus();
}

Result<double> EvaluateElement(const Program& program, std::span<const void* const> inputs,
                               int tensor, std::span<const int64_t> index,
                               const EvaluateOptions& options) {
  TEMPER_ASSIGN_OR_RETURN(Evaluator evaluator, Evaluator::Make(program, inputs, options));
  return evaluator.Element(tensor, index);
}

Status EvaluateProgram(const Program& program, std::span<const void* const> inputs,
                       std::span<void* const> outputs, const EvaluateOptions& options) {
  if (outputs.size() != program.outputs.size()) {
    return InvalidArgument(
        fmt::format("{} buffers for {} outputs", outputs.size(), program.outputs.size()));
  }
  TEMPER_ASSIGN_OR_RETURN(Evaluator evaluator, Evaluator::Make(program, inputs, options));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) return InvalidArgument(fmt::format("no buffer for output {}", i));
    TEMPER_RETURN_IF_ERROR(evaluator.Fill(program.outputs[i], outputs[i]));
  }
  return OkStatus();
}

}  // namespace temper::te
