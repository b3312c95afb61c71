// From the tree to the interpreter's code.
//
// Code is gathered in levels: each loop, branch or let opens one, and its code joins the level
// around it when it ends. A pure expression is emitted into the outermost level that defines all
// its variables, which takes index arithmetic out of inner loops.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/narrow_float.h"
#include "compiler/tir/interpreter_code.h"
#include "compiler/tir/verify.h"

namespace temper::tir {
namespace {

constexpr int32_t kTemporary = 1 << 29;  // cells from here on are of one statement only
constexpr int64_t kMaxCells = kTemporary - 1;

struct Value {
  int32_t cell = 0;
  int level = 0;
  bool temporary = false;
};

struct Level {
  std::vector<Instr> code;
  std::vector<const ExprNode*> cached;
};

bool IsWide(DType d) { return d == DType::kFloat64; }
bool IsNarrow(DType d) { return IsFloat(d) && ByteSize(d) < 4; }

// The operation on d's representation; kind's table is {float, double, signed, unsigned}.
Op Pick(DType d, Op f, Op dbl, Op i, Op u) {
  if (IsFloat(d)) return IsWide(d) ? dbl : f;
  return IsSignedInt(d) ? i : u;
}

Op ArithmeticOp(ExprKind kind, DType d) {
  switch (kind) {
    case ExprKind::kAdd:
      return Pick(d, Op::kAddF, Op::kAddD, Op::kAddI, Op::kAddI);
    case ExprKind::kSub:
      return Pick(d, Op::kSubF, Op::kSubD, Op::kSubI, Op::kSubI);
    case ExprKind::kMul:
      return Pick(d, Op::kMulF, Op::kMulD, Op::kMulI, Op::kMulI);
    case ExprKind::kDiv:
      return Pick(d, Op::kDivF, Op::kDivD, Op::kDivI, Op::kDivU);
    case ExprKind::kMod:
      return IsSignedInt(d) ? Op::kModI : Op::kModU;
    case ExprKind::kFloorDiv:
      return IsSignedInt(d) ? Op::kFloorDivI : Op::kDivU;
    case ExprKind::kFloorMod:
      return IsSignedInt(d) ? Op::kFloorModI : Op::kModU;
    case ExprKind::kMin:
      return Pick(d, Op::kMinF, Op::kMinD, Op::kMinI, Op::kMinU);
    case ExprKind::kMax:
      return Pick(d, Op::kMaxF, Op::kMaxD, Op::kMaxI, Op::kMaxU);
    case ExprKind::kEq:
      return Pick(d, Op::kEqF, Op::kEqD, Op::kEqI, Op::kEqI);
    case ExprKind::kNe:
      return Pick(d, Op::kNeF, Op::kNeD, Op::kNeI, Op::kNeI);
    case ExprKind::kLt:
      return Pick(d, Op::kLtF, Op::kLtD, Op::kLtI, Op::kLtU);
    case ExprKind::kLe:
      return Pick(d, Op::kLeF, Op::kLeD, Op::kLeI, Op::kLeU);
    case ExprKind::kAnd:
      return Op::kAnd;
    case ExprKind::kOr:
      return Op::kOr;
    case ExprKind::kXor:
      return Op::kXor;
    case ExprKind::kShl:
      return Op::kShl;
    default:
      return IsSignedInt(d) ? Op::kShrI : Op::kShrU;
  }
}

Op LoadOp(DType d) {
  if (d == DType::kBool) return Op::kLoadBool;
  if (d == DType::kFloat32) return Op::kLoadF;
  if (IsNarrow(d)) return Op::kLoadNarrow;
  const bool s = IsSignedInt(d);
  switch (ByteSize(d)) {
    case 1:
      return s ? Op::kLoad8I : Op::kLoad8U;
    case 2:
      return s ? Op::kLoad16I : Op::kLoad16U;
    case 4:
      return s ? Op::kLoad32I : Op::kLoad32U;
    default:
      return Op::kLoad64;
  }
}

Op StoreOp(DType d) {
  if (d == DType::kBool) return Op::kStoreBool;
  if (d == DType::kFloat32) return Op::kStoreF;
  if (IsNarrow(d)) return Op::kStoreNarrow;
  switch (ByteSize(d)) {
    case 1:
      return Op::kStore8;
    case 2:
      return Op::kStore16;
    case 4:
      return Op::kStore32;
    default:
      return Op::kStore64;
  }
}

// Whether the node itself can neither fail nor see memory.
bool IsPure(const ExprNode& e) {
  switch (e.kind()) {
    case ExprKind::kLoad:
      return false;
    case ExprKind::kDiv:
    case ExprKind::kMod:
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
    case ExprKind::kShl:
    case ExprKind::kShr: {
      if (IsFloat(e.type().dtype)) return true;
      const ExprNode& right = *e.operand(1);
      const bool shift = e.kind() == ExprKind::kShl || e.kind() == ExprKind::kShr;
      return right.kind() == ExprKind::kIntImm && right.int_value() > 0 &&
             (!shift || right.int_value() < ByteSize(e.type().dtype) * 8);
    }
    default:
      return true;
  }
}

class Compiler {
 public:
  Compiler(const Function& f, InterpreterCode* out)
      : f_(f), out_(out), vars_(static_cast<size_t>(f.next_var)) {}

  Status Run() {
    levels_.emplace_back();
    Emit(*f_.body);
    Append({.op = Op::kEnd});
    if (permanent_ + most_temporary_ > kMaxCells) {
      return ResourceExhausted("the function has too many values to interpret");
    }
    out_->code = std::move(levels_[0].code);
    // An instruction may read, and then ignore, as many cells behind a scalar as it has lanes.
    out_->cells.resize(static_cast<size_t>(permanent_ + most_temporary_ + kMaxLanes), Cell{.i = 0});
    for (Instr& i : out_->code) {
      for (int32_t* cell : {&i.dst, &i.a, &i.b, &i.c}) Place(*cell);
    }
    for (AccessDim& d : out_->dims) Place(d.cell);
    for (Access& a : out_->accesses) {
      if (a.predicate >= 0) Place(a.predicate);
    }
    return OkStatus();
  }

 private:
  void Place(int32_t& cell) const {
    if (cell >= kTemporary) cell = static_cast<int32_t>(cell - kTemporary + permanent_);
  }

  int Top() const { return static_cast<int>(levels_.size()) - 1; }
  void Append(const Instr& i) { levels_.back().code.push_back(i); }

  int32_t NewPermanent(int lanes) {
    const int64_t cell = permanent_;
    permanent_ = std::min<int64_t>(permanent_ + lanes, kTemporary);  // Run refuses what is over
    return static_cast<int32_t>(std::min(cell, kMaxCells));
  }

  int32_t NewTemporary(int lanes) {
    const int64_t cell = temporary_;
    temporary_ = std::min<int64_t>(temporary_ + lanes, kTemporary);
    most_temporary_ = std::max(most_temporary_, temporary_);
    return static_cast<int32_t>(kTemporary + std::min(cell, kMaxCells));
  }

  std::vector<Instr> CloseLevel() {
    for (const ExprNode* n : levels_.back().cached) cache_.erase(n);
    std::vector<Instr> code = std::move(levels_.back().code);
    levels_.pop_back();
    return code;
  }

  void AppendAll(const std::vector<Instr>& code) {
    auto& to = levels_.back().code;
    to.insert(to.end(), code.begin(), code.end());
  }

  // Forgets values of one statement.
  void EndStatement() {
    for (const ExprNode* n : statement_cached_) cache_.erase(n);
    statement_cached_.clear();
    temporary_ = 0;
  }

  int32_t Immediate(Cell value) {
    auto [at, fresh] = immediates_.try_emplace(value.i, 0);
    if (fresh) {
      at->second = NewPermanent(1);
      if (out_->cells.size() <= static_cast<size_t>(at->second)) {
        // An instruction may read, and then ignore, as many cells behind a scalar as it has lanes.
        out_->cells.resize(static_cast<size_t>(at->second) + 1, Cell{.i = 0});
      }
      out_->cells[at->second] = value;
    }
    return at->second;
  }

  static Cell FloatCell(DType dtype, double value) {
    Cell cell{.i = 0};
    if (IsWide(dtype)) {
      cell.d = value;
    } else if (IsNarrow(dtype)) {
      cell.f = static_cast<float>(DecodeNarrow(dtype, EncodeNarrow(dtype, value)));
    } else {
      cell.f = static_cast<float>(value);
    }
    return cell;
  }

  Value Emit(const Expr& e) {
    switch (e->kind()) {
      case ExprKind::kIntImm:
        return {Immediate(Cell{.i = e->int_value()}), 0, false};
      case ExprKind::kFloatImm:
        return {Immediate(FloatCell(e->type().dtype, e->float_value())), 0, false};
      case ExprKind::kVar:
        return vars_[e->var_id()];
      default:
        break;
    }
    if (auto at = cache_.find(e.get()); at != cache_.end()) return at->second;
    std::vector<Value> operands;
    operands.reserve(e->operands().size());
    int level = 0;
    bool temporary = !IsPure(*e);
    for (const Expr& o : e->operands()) {
      operands.push_back(Emit(o));
      level = std::max(level, operands.back().level);
      temporary |= operands.back().temporary;
    }
    if (temporary) level = Top();
    Value out{temporary ? NewTemporary(e->lanes()) : NewPermanent(e->lanes()), level, temporary};
    EmitNode(*e, operands, out, &levels_[level].code);
    cache_.emplace(e.get(), out);
    (temporary ? statement_cached_ : levels_[level].cached).push_back(e.get());
    return out;
  }

  void EmitNode(const ExprNode& e, const std::vector<Value>& operands, const Value& out,
                std::vector<Instr>* code) {
    const DType d = e.type().dtype;
    Instr i{.op = Op::kMove, .lanes = static_cast<uint16_t>(e.lanes()), .dst = out.cell};
    if (!operands.empty()) i.a = operands[0].cell;
    if (operands.size() > 1) i.b = operands[1].cell;
    bool wrap = false;  // whether the result may leave its type
    switch (e.kind()) {
      case ExprKind::kAdd:
      case ExprKind::kSub:
      case ExprKind::kMul:
      case ExprKind::kDiv:
      case ExprKind::kShl:
      case ExprKind::kShr:
        wrap = true;
        i.op = ArithmeticOp(e.kind(), d);
        i.imm = ByteSize(d) * 8;
        break;
      case ExprKind::kNot:
        wrap = d != DType::kBool;
        i.op = wrap ? Op::kNot : Op::kNotBool;
        break;
      case ExprKind::kSelect:
        i.op = Op::kSelect;
        i.c = operands[0].cell;
        i.a = operands[1].cell;
        i.b = operands[2].cell;
        break;
      case ExprKind::kCast:
        EmitCast(e.operand(0)->type().dtype, d, i, code);
        return;
      case ExprKind::kCall:
        wrap = true;
        if (IsFloat(e.operand(0)->type().dtype)) {
          i.op = IsWide(e.operand(0)->type().dtype) ? Op::kCallD : Op::kCallF;
        } else if (e.intrinsic() == Intrinsic::kPow) {
          i.op = IsSignedInt(d) ? Op::kPowI : Op::kPowU;
        } else {
          i.op = IsSignedInt(d) ? Op::kAbsI : Op::kMove;
        }
        i.imm = static_cast<int64_t>(e.intrinsic());
        break;
      case ExprKind::kLoad:
        i.op = LoadOp(d);
        i.imm = MakeAccess(e.buffer(), e.indices(), operands, e.lanes(),
                           e.has_predicate() ? operands.back().cell : -1);
        break;
      case ExprKind::kRamp:
        wrap = true;
        i.op = Op::kRamp;
        i.imm = e.stride();
        break;
      case ExprKind::kBroadcast:
        i.op = Op::kBroadcast;
        break;
      case ExprKind::kReduceLanes:
        EmitReduceLanes(e, out, i, code);
        return;
      default:
        i.op = ArithmeticOp(e.kind(), e.operand(0)->type().dtype);
        break;
    }
    code->push_back(i);
    if (wrap) Normalize(d, i, code);
  }

  // Halves combined with halves, in cells of their own but for the last.
  void EmitReduceLanes(const ExprNode& e, const Value& out, Instr i, std::vector<Instr>* code) {
    const DType d = e.type().dtype;
    int lanes = e.operand(0)->lanes() / 2;
    const int32_t room = out.temporary ? NewTemporary(lanes) : NewPermanent(lanes);
    i.op = ArithmeticOp(e.combiner(), d);
    i.imm = ByteSize(d) * 8;
    for (; lanes > 0; lanes /= 2) {
      i.lanes = static_cast<uint16_t>(lanes);
      i.b = i.a + lanes;
      i.dst = lanes == 1 ? out.cell : room;
      code->push_back(i);
      Normalize(d, i, code);
      i.a = room;
    }
  }

  // The result of `i` brought back into its type.
  static void Normalize(DType d, const Instr& i, std::vector<Instr>* code) {
    Instr n{.op = Op::kWrap, .lanes = i.lanes, .dst = i.dst, .a = i.dst};
    n.imm = static_cast<int64_t>(d);
    if (IsNarrow(d)) {
      n.op = Op::kRound;
    } else if (IsFloat(d) || ByteSize(d) == 8 || d == DType::kBool) {
      return;
    }
    code->push_back(n);
  }

  static void EmitCast(DType from, DType to, Instr i, std::vector<Instr>* code) {
    i.imm = static_cast<int64_t>(to);
    if (to == DType::kBool) {
      i.op = IsFloat(from) ? (IsWide(from) ? Op::kDToBool : Op::kFToBool) : Op::kIToBool;
    } else if (IsFloat(from) && IsFloat(to)) {
      i.op = IsWide(from) == IsWide(to) ? Op::kMove : (IsWide(to) ? Op::kFToD : Op::kDToF);
      if (IsWide(from) && IsNarrow(to)) i.op = Op::kDToNarrow;
    } else if (IsFloat(from)) {
      i.op = IsWide(from) ? Op::kDToI : Op::kFToI;
      code->push_back(i);
      return;
    } else if (IsNarrow(to)) {  // rounded once
      i.op = from == DType::kUInt64 ? Op::kUToD : Op::kIToD;
      code->push_back(i);
      i.op = Op::kDToNarrow;
      i.a = i.dst;
    } else if (IsFloat(to)) {
      const bool u = from == DType::kUInt64;
      i.op = IsWide(to) ? (u ? Op::kUToD : Op::kIToD) : (u ? Op::kUToF : Op::kIToF);
    } else {
      i.op = Op::kMove;
    }
    code->push_back(i);
    if (to != DType::kBool) Normalize(to, i, code);
  }

  int64_t MakeAccess(int buffer, std::span<const Expr> indices, std::span<const Value> values,
                     int lanes, int32_t predicate) {
    const Buffer& b = f_.buffers[buffer];
    const std::vector<int64_t> strides = b.Strides();
    Access access{.buffer = buffer, .predicate = predicate};
    access.first_dim = static_cast<int32_t>(out_->dims.size());
    access.dims = static_cast<int32_t>(indices.size());
    access.offset = b.Offset();
    access.dtype = b.dtype;
    for (size_t d = 0; d < indices.size(); ++d) {
      AccessDim dim;
      dim.cell = values[d].cell;
      dim.step = lanes > 1 && indices[d]->lanes() > 1 ? 1 : 0;
      dim.low = b.halo_before.empty() ? 0 : -b.halo_before[d];
      dim.high = b.shape[d] + (b.halo_before.empty() ? 0 : b.halo_after[d]);
      dim.stride = strides[d];
      out_->dims.push_back(dim);
    }
    out_->accesses.push_back(access);
    return static_cast<int64_t>(out_->accesses.size()) - 1;
  }

  void Emit(const StmtNode& s) {
    switch (s.kind) {
      case StmtKind::kFor: {
        const Value min = Emit(s.min), extent = Emit(s.extent);
        Instr begin{.op = Op::kLoopBegin, .dst = NewPermanent(1), .a = min.cell, .b = extent.cell};
        begin.c = NewPermanent(1);
        levels_.emplace_back();
        vars_[s.var->var_id()] = {begin.dst, Top(), false};
        EndStatement();
        Emit(*s.body());
        const std::vector<Instr> body = CloseLevel();
        const auto length = static_cast<int64_t>(body.size());
        begin.imm = length + 1;
        Append(begin);
        AppendAll(body);
        Append({.op = Op::kLoopNext, .dst = begin.dst, .c = begin.c, .imm = length});
        break;
      }
      case StmtKind::kStore: {
        const Value value = Emit(s.value);
        std::vector<Value> indices;
        for (const Expr& i : s.indices) indices.push_back(Emit(i));
        const int32_t predicate = s.predicate ? Emit(s.predicate).cell : -1;
        Instr i{.op = StoreOp(f_.buffers[s.buffer].dtype),
                .lanes = static_cast<uint16_t>(s.value->lanes()),
                .a = value.cell};
        i.imm = MakeAccess(s.buffer, s.indices, indices, s.value->lanes(), predicate);
        Append(i);
        EndStatement();
        break;
      }
      case StmtKind::kLet: {
        Value value = Emit(s.value);
        if (value.temporary) {
          Instr move{.op = Op::kMove, .dst = NewPermanent(1), .a = value.cell};
          Append(move);
          value.cell = move.dst;
        }
        EndStatement();
        levels_.emplace_back();
        vars_[s.var->var_id()] = {value.cell, value.temporary ? Top() : value.level, false};
        Emit(*s.body());
        AppendAll(CloseLevel());
        break;
      }
      case StmtKind::kIf: {
        const Value condition = Emit(s.value);
        EndStatement();
        levels_.emplace_back();
        Emit(*s.body());
        std::vector<Instr> yes = CloseLevel(), no;
        if (s.children.size() > 1) {
          levels_.emplace_back();
          Emit(*s.children[1]);
          no = CloseLevel();
          yes.push_back({.op = Op::kJump, .imm = static_cast<int64_t>(no.size())});
        }
        Append(
            {.op = Op::kJumpIfFalse, .a = condition.cell, .imm = static_cast<int64_t>(yes.size())});
        AppendAll(yes);
        AppendAll(no);
        break;
      }
      case StmtKind::kBlock:
        for (const Stmt& c : s.children) Emit(*c);
        break;
      case StmtKind::kAllocate:
        Append({.op = Op::kPoison, .imm = s.buffer});
        Emit(*s.body());
        break;
      case StmtKind::kPrefetch:
        break;
    }
  }

  const Function& f_;
  InterpreterCode* out_;
  std::vector<Level> levels_;
  std::vector<Value> vars_;
  std::unordered_map<const ExprNode*, Value> cache_;
  std::vector<const ExprNode*> statement_cached_;
  std::unordered_map<int64_t, int32_t> immediates_;
  int64_t permanent_ = 0;
  int64_t temporary_ = 0, most_temporary_ = 0;
};

}  // namespace

Result<std::unique_ptr<InterpreterCode>> CompileToCode(const Function& function,
                                                       const InterpretOptions& options) {
  TEMPER_RETURN_IF_ERROR(Verify(function));
  auto out = std::make_unique<InterpreterCode>();
  out->max_steps = options.max_steps;
  out->params = function.params;
  int64_t bytes = function.workspace_bytes;
  for (const Buffer& b : function.buffers) {
    out->buffer_names.push_back(b.name);
    out->buffer_bytes.push_back(b.ElementCount() * ByteSize(b.dtype));
    if (b.scope == Scope::kStack || b.scope == Scope::kRegister) bytes += out->buffer_bytes.back();
  }
  if (bytes > options.max_memory_bytes) {
    return ResourceExhausted(
        fmt::format("{}: {} bytes of scratch memory to interpret it", function.name, bytes));
  }
  Compiler compiler(function, out.get());
  TEMPER_RETURN_IF_ERROR(compiler.Run().WithContext(function.name));
  bytes += static_cast<int64_t>(out->cells.size() * sizeof(Cell));
  if (bytes > options.max_memory_bytes) {
    return ResourceExhausted(fmt::format("{}: {} bytes to interpret it", function.name, bytes));
  }
  out->workspace.resize(static_cast<size_t>(function.workspace_bytes));
  out->bases.resize(function.buffers.size());
  out->thread_memory.resize(function.buffers.size());
  for (size_t i = 0; i < function.buffers.size(); ++i) {
    const Buffer& b = function.buffers[i];
    if (b.scope == Scope::kWorkspace) out->bases[i] = out->workspace.data() + b.workspace_offset;
    if (b.scope == Scope::kStack || b.scope == Scope::kRegister) {
      out->thread_memory[i].resize(static_cast<size_t>(out->buffer_bytes[i]));
      out->bases[i] = out->thread_memory[i].data();
    }
  }
  return out;
}

}  // namespace temper::tir
