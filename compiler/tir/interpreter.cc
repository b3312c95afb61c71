#include "compiler/tir/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/narrow_float.h"
#include "compiler/tir/interpreter_code.h"
#include "compiler/tir/scalar.h"

namespace temper::tir {
namespace {

class Machine {
 public:
  explicit Machine(InterpreterCode* code) : code_(*code), cells_(code->cells.data()) {}

  Status Run();

 private:
  // The element of lane `l` that an access touches, or -1 where its predicate is false. False
  // when it is out of bounds; failure_ then says where.
  bool Locate(const Access& a, int l, int64_t* element) {
    if (a.predicate >= 0 && cells_[a.predicate + l].i == 0) {
      *element = -1;
      return true;
    }
    int64_t at = a.offset;
    const AccessDim* dim = code_.dims.data() + a.first_dim;
    for (int d = 0; d < a.dims; ++d, ++dim) {
      const int64_t index = cells_[dim->cell + dim->step * l].i;
      if (index < dim->low || index >= dim->high) {
        failure_ =
            OutOfRange(fmt::format("index {} of buffer {} is {}, outside [{}, {})", d,
                                   code_.buffer_names[a.buffer], index, dim->low, dim->high));
        return false;
      }
      at += index * dim->stride;
    }
    *element = at;
    return true;
  }

  template <typename T, typename F>
  bool LoadLanes(const Instr& i, F&& convert) {
    const Access& a = code_.accesses[i.imm];
    const std::byte* base = code_.bases[a.buffer];
    for (int l = 0; l < i.lanes; ++l) {
      int64_t at;
      if (!Locate(a, l, &at)) return false;
      Cell& cell = cells_[i.dst + l];
      cell.i = 0;
      if (at < 0) continue;
      T value;
      std::memcpy(&value, base + at * static_cast<int64_t>(sizeof(T)), sizeof(T));
      convert(cell, value, a.dtype);
    }
    return true;
  }
  template <typename T>
  bool LoadInts(const Instr& i) {
    return LoadLanes<T>(i, [](Cell& c, T v, DType) { c.i = static_cast<int64_t>(v); });
  }
  bool LoadNarrow(const Instr& i) {
    auto decode = [](Cell& c, auto v, DType t) { c.f = static_cast<float>(DecodeNarrow(t, v)); };
    return ByteSize(code_.accesses[i.imm].dtype) == 2 ? LoadLanes<uint16_t>(i, decode)
                                                      : LoadLanes<uint8_t>(i, decode);
  }

  template <typename T, typename F>
  bool StoreLanes(const Instr& i, F&& convert) {
    const Access& a = code_.accesses[i.imm];
    std::byte* base = code_.bases[a.buffer];
    for (int l = 0; l < i.lanes; ++l) {
      int64_t at;
      if (!Locate(a, l, &at)) return false;
      if (at < 0) continue;
      const T value = convert(cells_[i.a + l], a.dtype);
      std::memcpy(base + at * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
    }
    return true;
  }
  template <typename T>
  bool StoreInts(const Instr& i) {
    return StoreLanes<T>(i, [](Cell c, DType) { return static_cast<T>(c.u); });
  }
  bool StoreNarrow(const Instr& i) {
    if (ByteSize(code_.accesses[i.imm].dtype) == 2) {
      return StoreLanes<uint16_t>(
          i, [](Cell c, DType t) { return static_cast<uint16_t>(EncodeNarrow(t, c.f)); });
    }
    return StoreLanes<uint8_t>(
        i, [](Cell c, DType t) { return static_cast<uint8_t>(EncodeNarrow(t, c.f)); });
  }

  bool HasZero(const Instr& i) {
    for (int l = 0; l < i.lanes; ++l) {
      if (cells_[i.b + l].i != 0) continue;
      failure_ = InvalidArgument("an integer is divided by zero");
      return true;
    }
    return false;
  }
  bool HasWideShift(const Instr& i) {
    for (int l = 0; l < i.lanes; ++l) {
      if (cells_[i.b + l].u < static_cast<uint64_t>(i.imm)) continue;
      failure_ = InvalidArgument(
          fmt::format("a shift by {} of an integer of {} bits", cells_[i.b + l].i, i.imm));
      return true;
    }
    return false;
  }

  template <typename T>
  void Call(const Instr& i, T Cell::* field) {
    const auto f = static_cast<Intrinsic>(i.imm);
    for (int l = 0; l < i.lanes; ++l) {
      const T x = cells_[i.a + l].*field;
      Cell& out = cells_[i.dst + l];
      if (f == Intrinsic::kIsNan) {
        out.i = std::isnan(x);
      } else if (f == Intrinsic::kIsInf) {
        out.i = std::isinf(x);
      } else {
        const bool binary = f == Intrinsic::kPow || f == Intrinsic::kFmod;
        out.*field = CallFunction<T>(f, x, binary ? cells_[i.b + l].*field : T{0});
      }
    }
  }

  InterpreterCode& code_;
  Cell* cells_;
  Status failure_;
};

// One instruction over its lanes; A, B, C and OUT are the lane's cells.
#define LANES(statement)                            \
  for (int l = 0; l < i.lanes; ++l) {               \
    [[maybe_unused]] const Cell A = cells[i.a + l]; \
    [[maybe_unused]] const Cell B = cells[i.b + l]; \
    Cell& OUT = cells[i.dst + l];                   \
    statement;                                      \
  }                                                 \
  break
#define CHECKED(call)           \
  if (!(call)) return failure_; \
  break

// clang-format off: one instruction a line
Status Machine::Run() {
  Cell* const cells = cells_;
  const Instr* pc = code_.code.data();
  int64_t steps = 0;
  for (;;) {
    const Instr& i = *pc++;
    switch (i.op) {
      case Op::kAddF: LANES(OUT.f = A.f + B.f);
      case Op::kAddD: LANES(OUT.d = A.d + B.d);
      case Op::kAddI: LANES(OUT.i = AddWrap(A.i, B.i));
      case Op::kSubF: LANES(OUT.f = A.f - B.f);
      case Op::kSubD: LANES(OUT.d = A.d - B.d);
      case Op::kSubI: LANES(OUT.i = SubWrap(A.i, B.i));
      case Op::kMulF: LANES(OUT.f = A.f * B.f);
      case Op::kMulD: LANES(OUT.d = A.d * B.d);
      case Op::kMulI: LANES(OUT.i = MulWrap(A.i, B.i));
      case Op::kDivF: LANES(OUT.f = A.f / B.f);
      case Op::kDivD: LANES(OUT.d = A.d / B.d);
      case Op::kDivI: if (HasZero(i)) return failure_; LANES(OUT.i = DivWrap(A.i, B.i));
      case Op::kDivU: if (HasZero(i)) return failure_; LANES(OUT.u = A.u / B.u);
      case Op::kModI: if (HasZero(i)) return failure_; LANES(OUT.i = ModWrap(A.i, B.i));
      case Op::kModU: if (HasZero(i)) return failure_; LANES(OUT.u = A.u % B.u);
      case Op::kFloorDivI: if (HasZero(i)) return failure_; LANES(OUT.i = FloorDivWrap(A.i, B.i));
      case Op::kFloorModI: if (HasZero(i)) return failure_; LANES(OUT.i = FloorModWrap(A.i, B.i));
      case Op::kMinF: LANES(OUT.f = MinNan(A.f, B.f));
      case Op::kMinD: LANES(OUT.d = MinNan(A.d, B.d));
      case Op::kMinI: LANES(OUT.i = std::min(A.i, B.i));
      case Op::kMinU: LANES(OUT.u = std::min(A.u, B.u));
      case Op::kMaxF: LANES(OUT.f = MaxNan(A.f, B.f));
      case Op::kMaxD: LANES(OUT.d = MaxNan(A.d, B.d));
      case Op::kMaxI: LANES(OUT.i = std::max(A.i, B.i));
      case Op::kMaxU: LANES(OUT.u = std::max(A.u, B.u));
      case Op::kEqF: LANES(OUT.i = A.f == B.f);
      case Op::kEqD: LANES(OUT.i = A.d == B.d);
      case Op::kEqI: LANES(OUT.i = A.i == B.i);
      case Op::kNeF: LANES(OUT.i = A.f != B.f);
      case Op::kNeD: LANES(OUT.i = A.d != B.d);
      case Op::kNeI: LANES(OUT.i = A.i != B.i);
      case Op::kLtF: LANES(OUT.i = A.f < B.f);
      case Op::kLtD: LANES(OUT.i = A.d < B.d);
      case Op::kLtI: LANES(OUT.i = A.i < B.i);
      case Op::kLtU: LANES(OUT.i = A.u < B.u);
      case Op::kLeF: LANES(OUT.i = A.f <= B.f);
      case Op::kLeD: LANES(OUT.i = A.d <= B.d);
      case Op::kLeI: LANES(OUT.i = A.i <= B.i);
      case Op::kLeU: LANES(OUT.i = A.u <= B.u);
      case Op::kAnd: LANES(OUT.u = A.u & B.u);
      case Op::kOr: LANES(OUT.u = A.u | B.u);
      case Op::kXor: LANES(OUT.u = A.u ^ B.u);
      case Op::kShl: if (HasWideShift(i)) return failure_; LANES(OUT.u = A.u << B.u);
      case Op::kShrI: if (HasWideShift(i)) return failure_; LANES(OUT.i = A.i >> B.i);
      case Op::kShrU: if (HasWideShift(i)) return failure_; LANES(OUT.u = A.u >> B.u);
      case Op::kNot: LANES(OUT.u = ~A.u);
      case Op::kNotBool: LANES(OUT.i = A.i == 0);
      case Op::kSelect: LANES(OUT = cells[i.c + l].i != 0 ? A : B);
      case Op::kWrap: LANES(OUT.i = WrapInteger(static_cast<DType>(i.imm), A.i));
      case Op::kRound:
        LANES(OUT.f = static_cast<float>(DecodeNarrow(
                  static_cast<DType>(i.imm), EncodeNarrow(static_cast<DType>(i.imm), A.f))));
      case Op::kDToNarrow:
        LANES(OUT.f = static_cast<float>(DecodeNarrow(
                  static_cast<DType>(i.imm), EncodeNarrow(static_cast<DType>(i.imm), A.d))));
      case Op::kFToD: LANES(OUT.d = A.f);
      case Op::kDToF: LANES(OUT.f = static_cast<float>(A.d));
      case Op::kIToF: LANES(OUT.f = static_cast<float>(A.i));
      case Op::kIToD: LANES(OUT.d = static_cast<double>(A.i));
      case Op::kUToF: LANES(OUT.f = static_cast<float>(A.u));
      case Op::kUToD: LANES(OUT.d = static_cast<double>(A.u));
      case Op::kFToI: LANES(OUT.i = ToInteger(static_cast<DType>(i.imm), A.f));
      case Op::kDToI: LANES(OUT.i = ToInteger(static_cast<DType>(i.imm), A.d));
      case Op::kFToBool: LANES(OUT.i = A.f != 0);
      case Op::kDToBool: LANES(OUT.i = A.d != 0);
      case Op::kIToBool: LANES(OUT.i = A.i != 0);
      case Op::kCallF: Call(i, &Cell::f); break;
      case Op::kCallD: Call(i, &Cell::d); break;
      case Op::kAbsI: LANES(OUT.i = A.i < 0 ? SubWrap(0, A.i) : A.i);
      case Op::kPowI: LANES(OUT.i = PowWrap(A.i, B.i, true));
      case Op::kPowU: LANES(OUT.i = PowWrap(A.i, B.i, false));
      case Op::kMove: LANES(OUT = A);
      case Op::kRamp: {
        const int64_t base = cells[i.a].i;
        LANES(OUT.i = AddWrap(base, MulWrap(i.imm, l)));
      }
      case Op::kBroadcast: {
        const Cell value = cells[i.a];
        LANES(OUT = value);
      }
      case Op::kLoad8I: CHECKED(LoadInts<int8_t>(i));
      case Op::kLoad8U: CHECKED(LoadInts<uint8_t>(i));
      case Op::kLoad16I: CHECKED(LoadInts<int16_t>(i));
      case Op::kLoad16U: CHECKED(LoadInts<uint16_t>(i));
      case Op::kLoad32I: CHECKED(LoadInts<int32_t>(i));
      case Op::kLoad32U: CHECKED(LoadInts<uint32_t>(i));
      case Op::kLoad64: CHECKED(LoadInts<int64_t>(i));
      case Op::kLoadF: CHECKED(LoadLanes<float>(i, [](Cell& c, float v, DType) { c.f = v; }));
      case Op::kLoadNarrow: CHECKED(LoadNarrow(i));
      case Op::kLoadBool:
        CHECKED(LoadLanes<uint8_t>(i, [](Cell& c, uint8_t v, DType) { c.i = v != 0; }));
      case Op::kStore8: CHECKED(StoreInts<uint8_t>(i));
      case Op::kStore16: CHECKED(StoreInts<uint16_t>(i));
      case Op::kStore32: CHECKED(StoreInts<uint32_t>(i));
      case Op::kStore64: CHECKED(StoreInts<uint64_t>(i));
      case Op::kStoreF: CHECKED(StoreLanes<float>(i, [](Cell c, DType) { return c.f; }));
      case Op::kStoreNarrow: CHECKED(StoreNarrow(i));
      case Op::kStoreBool:
        CHECKED(StoreLanes<uint8_t>(i, [](Cell c, DType) { return uint8_t{c.i != 0}; }));
      case Op::kPoison:
        std::memset(code_.bases[i.imm], 0xff, static_cast<size_t>(code_.buffer_bytes[i.imm]));
        break;
      case Op::kLoopBegin: {
        const int64_t min = cells[i.a].i;
        int64_t end;
        if (__builtin_add_overflow(min, cells[i.b].i, &end)) {
          return InvalidArgument("a loop whose end does not fit an integer");
        }
        cells[i.dst].i = min;
        cells[i.c].i = end;
        if (min >= end) pc += i.imm;
        break;
      }
      case Op::kLoopNext:
        steps += i.imm + 1;
        if (steps > code_.max_steps) {
          return ResourceExhausted(fmt::format("more than {} steps", code_.max_steps));
        }
        if (++cells[i.dst].i < cells[i.c].i) pc -= i.imm + 1;
        break;
      case Op::kJump: pc += i.imm; break;
      case Op::kJumpIfFalse:
        if (cells[i.a].i == 0) pc += i.imm;
        break;
      case Op::kEnd: return OkStatus();
    }
  }
}

// clang-format on

#undef LANES
#undef CHECKED

}  // namespace

Interpreter::Interpreter(std::unique_ptr<InterpreterCode> code) : code_(std::move(code)) {}
Interpreter::~Interpreter() = default;
Interpreter::Interpreter(Interpreter&&) noexcept = default;
Interpreter& Interpreter::operator=(Interpreter&&) noexcept = default;

Result<Interpreter> Interpreter::Compile(const Function& function,
                                         const InterpretOptions& options) {
  TEMPER_ASSIGN_OR_RETURN(auto code, CompileToCode(function, options));
  return Interpreter(std::move(code));
}

Status Interpreter::Run(std::span<void* const> args) {
  InterpreterCode& code = *code_;
  if (args.size() != code.params.size()) {
    return InvalidArgument(
        fmt::format("{} arguments for {} parameters", args.size(), code.params.size()));
  }
  for (size_t p = 0; p < args.size(); ++p) {
    const int buffer = code.params[p];
    if (!args[p]) return InvalidArgument("no memory for argument " + code.buffer_names[buffer]);
    code.bases[buffer] = static_cast<std::byte*>(args[p]);
  }
  std::fill(code.workspace.begin(), code.workspace.end(), std::byte{0xff});
  return Machine(&code).Run();
}

Status Interpret(const Function& function, std::span<void* const> args,
                 const InterpretOptions& options) {
  TEMPER_ASSIGN_OR_RETURN(Interpreter interpreter, Interpreter::Compile(function, options));
  return interpreter.Run(args);
}

}  // namespace temper::tir
