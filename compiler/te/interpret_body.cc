#include "compiler/te/interpret_body.h"

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

namespace temper::te {
namespace {

using tir::Expr;
using tir::ExprKind;
using tir::ExprNode;
using tir::Scalar;

class BodyCompiler {
 public:
  BodyCompiler(const Stage& stage, StageCode* out) : out_(out) {
    for (int i = 0; i < stage.axis_count(); ++i) {
      vars_[stage.axis(i).var->var_id()] = i;
      NewCell();
    }
    out_->result = Emit(stage.body);
  }

 private:
  int NewCell() {
    out_->cells.push_back({.i = 0});
    return static_cast<int>(out_->cells.size()) - 1;
  }

  int Emit(const Expr& e) {
    if (e->kind() == ExprKind::kVar) return vars_[e->var_id()];
    if (auto at = done_.find(e.get()); at != done_.end()) return at->second;
    const int cell = EmitNew(*e);
    done_[e.get()] = cell;
    return cell;
  }

  int EmitNew(const ExprNode& e) {
    Instr i{.kind = e.kind(), .dtype = e.type().dtype};
    switch (e.kind()) {
      case ExprKind::kIntImm:
      case ExprKind::kFloatImm: {
        const int cell = NewCell();
        if (e.kind() == ExprKind::kIntImm) {
          out_->cells[cell].i = e.int_value();
        } else {
          out_->cells[cell].d = tir::RoundFloat(e.type().dtype, e.float_value());
        }
        return cell;
      }
      case ExprKind::kSelect:
        return EmitSelect(e);
      case ExprKind::kLoad: {
        std::vector<int> cells;
        for (const Expr& index : e.indices()) cells.push_back(Emit(index));
        i.action = Action::kLoad;
        i.imm = static_cast<int64_t>(out_->index_cells.size());
        i.tensor = e.buffer();
        out_->index_cells.insert(out_->index_cells.end(), cells.begin(), cells.end());
        break;
      }
      default:
        i.operand = e.operand(0)->type().dtype;
        i.a = Emit(e.operand(0));
        if (e.operands().size() > 1) i.b = Emit(e.operand(1));
        if (e.kind() == ExprKind::kCall) i.imm = static_cast<int64_t>(e.intrinsic());
    }
    i.dst = NewCell();
    out_->code.push_back(i);
    return i.dst;
  }

  // What one side of a select computed is not there for what follows.
  int EmitSide(const Expr& e, int into) {
    const auto before = done_;
    Instr move{.action = Action::kMove, .dst = into, .a = Emit(e)};
    out_->code.push_back(move);
    done_ = before;
    return static_cast<int>(out_->code.size());
  }

  int EmitSelect(const ExprNode& e) {
    const int condition = Emit(e.operand(0));
    const int result = NewCell();
    const size_t branch = out_->code.size();
    out_->code.push_back({.action = Action::kJumpIfFalse, .a = condition});
    const int yes_end = EmitSide(e.operand(1), result);
    out_->code.push_back({.action = Action::kJump});
    out_->code[branch].imm = static_cast<int64_t>(out_->code.size() - branch - 1);
    const int no_end = EmitSide(e.operand(2), result);
    out_->code[yes_end].imm = no_end - yes_end - 1;
    return result;
  }

  StageCode* out_;
  std::unordered_map<int, int> vars_;
  std::unordered_map<const ExprNode*, int> done_;
};

}  // namespace

void CompileBody(const Stage& stage, StageCode* out) { BodyCompiler(stage, out); }

Status Compute(const StageCode& s, const Instr& i, bool native, Scalar* cells) {
  auto round = [native](DType dtype, double value) {
    return native ? tir::RoundFloat(dtype, value) : value;
  };
  const Scalar a = cells[i.a], b = cells[i.b];
  Scalar& out = cells[i.dst];
  if (IsFloat(i.operand)) {
    switch (i.kind) {
      case ExprKind::kAdd:
        out.d = round(i.dtype, a.d + b.d);
        return OkStatus();
      case ExprKind::kSub:
        out.d = round(i.dtype, a.d - b.d);
        return OkStatus();
      case ExprKind::kMul:
        out.d = round(i.dtype, a.d * b.d);
        return OkStatus();
      case ExprKind::kDiv:
        out.d = round(i.dtype, a.d / b.d);
        return OkStatus();
      case ExprKind::kMin:
        out.d = tir::MinNan(a.d, b.d);
        return OkStatus();
      case ExprKind::kMax:
        out.d = tir::MaxNan(a.d, b.d);
        return OkStatus();
      case ExprKind::kEq:
        out.i = a.d == b.d;
        return OkStatus();
      case ExprKind::kNe:
        out.i = a.d != b.d;
        return OkStatus();
      case ExprKind::kLt:
        out.i = a.d < b.d;
        return OkStatus();
      case ExprKind::kLe:
        out.i = a.d <= b.d;
        return OkStatus();
      case ExprKind::kCast:
        if (i.dtype == DType::kBool) {
          out.i = a.d != 0;
        } else if (IsFloat(i.dtype)) {
          out.d = round(i.dtype, a.d);
        } else {
          out.i = tir::ToInteger(i.dtype, a.d);
        }
        return OkStatus();
      default: {
        const auto f = static_cast<tir::Intrinsic>(i.imm);
        if (f == tir::Intrinsic::kIsNan) {
          out.i = std::isnan(a.d);
        } else if (f == tir::Intrinsic::kIsInf) {
          out.i = std::isinf(a.d);
        } else {
          out.d = round(i.dtype, tir::CallFunction<double>(f, a.d, b.d));
        }
        return OkStatus();
      }
    }
  }
  const bool is_signed = IsSignedInt(i.operand);
  const auto ua = static_cast<uint64_t>(a.i), ub = static_cast<uint64_t>(b.i);
  switch (i.kind) {
    case ExprKind::kAdd:
      out.i = tir::WrapInteger(i.dtype, tir::AddWrap(a.i, b.i));
      return OkStatus();
    case ExprKind::kSub:
      out.i = tir::WrapInteger(i.dtype, tir::SubWrap(a.i, b.i));
      return OkStatus();
    case ExprKind::kMul:
      out.i = tir::WrapInteger(i.dtype, tir::MulWrap(a.i, b.i));
      return OkStatus();
    case ExprKind::kDiv:
    case ExprKind::kMod:
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod: {
      if (b.i == 0) return InvalidArgument("stage " + s.name + " divides an integer by zero");
      const bool quotient = i.kind == ExprKind::kDiv || i.kind == ExprKind::kFloorDiv;
      const bool floor = i.kind == ExprKind::kFloorDiv || i.kind == ExprKind::kFloorMod;
      if (!is_signed) {
        out.i = static_cast<int64_t>(quotient ? ua / ub : ua % ub);
      } else if (quotient) {
        out.i = floor ? tir::FloorDivWrap(a.i, b.i) : tir::DivWrap(a.i, b.i);
      } else {
        out.i = floor ? tir::FloorModWrap(a.i, b.i) : tir::ModWrap(a.i, b.i);
      }
      out.i = tir::WrapInteger(i.dtype, out.i);
      return OkStatus();
    }
    case ExprKind::kMin:
      out.i = (is_signed ? b.i < a.i : ub < ua) ? b.i : a.i;
      return OkStatus();
    case ExprKind::kMax:
      out.i = (is_signed ? a.i < b.i : ua < ub) ? b.i : a.i;
      return OkStatus();
    case ExprKind::kEq:
      out.i = a.i == b.i;
      return OkStatus();
    case ExprKind::kNe:
      out.i = a.i != b.i;
      return OkStatus();
    case ExprKind::kLt:
      out.i = is_signed ? a.i < b.i : ua < ub;
      return OkStatus();
    case ExprKind::kLe:
      out.i = is_signed ? a.i <= b.i : ua <= ub;
      return OkStatus();
    case ExprKind::kAnd:
      out.i = a.i & b.i;
      return OkStatus();
    case ExprKind::kOr:
      out.i = a.i | b.i;
      return OkStatus();
    case ExprKind::kXor:
      out.i = a.i ^ b.i;
      return OkStatus();
    case ExprKind::kShl:
    case ExprKind::kShr:
      if (ub >= static_cast<uint64_t>(ByteSize(i.dtype)) * 8) {
        return InvalidArgument(fmt::format("stage {} shifts an integer by {}", s.name, b.i));
      }
      if (i.kind == ExprKind::kShl) {
        out.i = tir::WrapInteger(i.dtype, static_cast<int64_t>(ua << ub));
      } else {
        out.i = is_signed ? a.i >> b.i : static_cast<int64_t>(ua >> ub);
      }
      return OkStatus();
    case ExprKind::kNot:
      out.i = i.dtype == DType::kBool ? a.i == 0 : tir::WrapInteger(i.dtype, ~a.i);
      return OkStatus();
    case ExprKind::kCast:
      if (i.dtype == DType::kBool) {
        out.i = a.i != 0;
      } else if (IsFloat(i.dtype)) {
        const double wide =
            i.operand == DType::kUInt64 ? static_cast<double>(ua) : static_cast<double>(a.i);
        out.d = round(i.dtype, wide);
      } else {
        out.i = tir::WrapInteger(i.dtype, a.i);
      }
      return OkStatus();
    default:  // kCall: pow or abs
      if (static_cast<tir::Intrinsic>(i.imm) == tir::Intrinsic::kPow) {
        out.i = tir::WrapInteger(i.dtype, tir::PowWrap(a.i, b.i, is_signed));
        return OkStatus();
      }
      out.i = tir::WrapInteger(i.dtype, is_signed && a.i < 0 ? tir::SubWrap(0, a.i) : a.i);
      return OkStatus();
  }
}

}  // namespace temper::te
