#include "compiler/tir/printer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

namespace temper::tir {
namespace {

// Higher binds tighter.
struct Operator {
  std::string_view text;
  int precedence = 0;  // 0: written as a call
};

Operator OperatorOf(const ExprNode& e) {
  const bool boolean = e.type().dtype == DType::kBool;
  switch (e.kind()) {
    case ExprKind::kAdd:
      return {" + ", 8};
    case ExprKind::kSub:
      return {" - ", 8};
    case ExprKind::kMul:
      return {" * ", 9};
    case ExprKind::kDiv:
      return {" / ", 9};
    case ExprKind::kMod:
      return {" % ", 9};
    case ExprKind::kFloorDiv:
      return {" // ", 9};
    case ExprKind::kFloorMod:
      return {" %% ", 9};
    case ExprKind::kEq:
      return {" == ", 6};
    case ExprKind::kNe:
      return {" != ", 6};
    case ExprKind::kLt:
      return {" < ", 6};
    case ExprKind::kLe:
      return {" <= ", 6};
    case ExprKind::kAnd:
      return boolean ? Operator{" && ", 2} : Operator{" & ", 5};
    case ExprKind::kOr:
      return boolean ? Operator{" || ", 1} : Operator{" | ", 3};
    case ExprKind::kXor:
      return {" ^ ", 4};
    case ExprKind::kShl:
      return {" << ", 7};
    case ExprKind::kShr:
      return {" >> ", 7};
    case ExprKind::kMin:
      return {"min", 0};
    case ExprKind::kMax:
      return {"max", 0};
    case ExprKind::kSelect:
      return {"select", 0};
    default:
      return {};
  }
}

std::string FloatText(DType dtype, double value) {
  std::string out;
  if (std::isnan(value)) {
    out = "nan";
  } else if (std::isinf(value)) {
    out = value < 0 ? "-inf" : "inf";
  } else {
    std::array<char, 64> digits;
    const bool narrow = dtype != DType::kFloat64 && static_cast<float>(value) == value;
    auto end = narrow ? std::to_chars(digits.begin(), digits.end(), static_cast<float>(value)).ptr
                      : std::to_chars(digits.begin(), digits.end(), value).ptr;
    out.assign(digits.data(), end);
  }
  if (dtype == DType::kFloat32) return out + "f";
  if (dtype == DType::kFloat64) return out + "d";
  return out + ":" + std::string(Name(dtype));
}

// Of a kReduceLanes.
std::string_view CombinerName(ExprKind combiner) {
  switch (combiner) {
    case ExprKind::kAdd:
      return "sum";
    case ExprKind::kMul:
      return "product";
    case ExprKind::kMin:
      return "min";
    default:
      return "max";
  }
}

class Printer {
 public:
  explicit Printer(const Function* function) : function_(function) {
    if (!function_) return;
    std::map<std::string, int> names;
    for (const Buffer& b : function_->buffers) ++names[b.name];
    for (size_t i = 0; i < function_->buffers.size(); ++i) {
      const std::string& name = function_->buffers[i].name;
      const bool plain = !name.empty() && names[name] == 1;
      buffer_names_.push_back(plain ? name : name + "#" + std::to_string(i));
    }
    if (function_->body) CollectVars(*function_->body);
  }

  std::string Text(const Expr& e) {
    Print(e, 0);
    return std::move(out_);
  }

  std::string FunctionText() {
    out_ += "func " + function_->name + "(";
    for (size_t i = 0; i < function_->params.size(); ++i) {
      if (i) out_ += ", ";
      Declare(function_->params[i]);
    }
    out_ += ") {\n";
    depth_ = 1;
    if (function_->workspace_bytes) {
      Line("workspace " + std::to_string(function_->workspace_bytes) + " bytes");
    }
    for (size_t i = 0; i < function_->buffers.size(); ++i) {
      const Buffer& b = function_->buffers[i];
      if (b.scope != Scope::kWorkspace) continue;
      Indent();
      Declare(static_cast<int>(i));
      out_ += " workspace at " + std::to_string(b.workspace_offset) + "\n";
    }
    if (function_->body) Print(*function_->body);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  void CollectVars(const StmtNode& s) {
    if (s.var) vars_[s.var->var_name()].insert(s.var->var_id());
    for (const Stmt& c : s.children) CollectVars(*c);
  }

  void Indent() { out_.append(static_cast<size_t>(depth_) * 2, ' '); }
  void Line(const std::string& text) {
    Indent();
    out_ += text + "\n";
  }

  void PutBuffer(int buffer) {
    if (static_cast<size_t>(buffer) < buffer_names_.size()) {
      out_ += buffer_names_[buffer];
    } else {
      out_ += "b" + std::to_string(buffer);
    }
  }

  void PutList(const std::vector<int64_t>& values) {
    out_ += "[";
    for (size_t i = 0; i < values.size(); ++i) {
      out_ += (i ? ", " : "") + std::to_string(values[i]);
    }
    out_ += "]";
  }

  void Declare(int buffer) {
    PutBuffer(buffer);
    if (static_cast<size_t>(buffer) >= function_->buffers.size()) return;
    const Buffer& b = function_->buffers[buffer];
    out_ += ": " + std::string(Name(b.dtype));
    PutList(b.shape);
    if (!b.halo_before.empty()) {
      out_ += " halo ";
      PutList(b.halo_before);
      out_ += "..";
      PutList(b.halo_after);
    }
  }

  void PutVar(const ExprNode& e) {
    const std::string& name = e.var_name();
    if (name.empty()) {
      out_ += "v" + std::to_string(e.var_id());
      return;
    }
    out_ += name;
    auto same = vars_.find(name);
    if (same != vars_.end() && same->second.size() > 1) out_ += "#" + std::to_string(e.var_id());
  }

  void PutAll(std::span<const Expr> list) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (i) out_ += ", ";
      Print(list[i], 0);
    }
  }

  void Print(const Expr& e, int outer) {
    switch (e->kind()) {
      case ExprKind::kIntImm:
        if (e->type().dtype == DType::kBool) {
          out_ += e->int_value() ? "true" : "false";
          return;
        }
        out_ += std::to_string(e->int_value());
        if (e->type().dtype != DType::kInt64) out_ += ":" + std::string(Name(e->type().dtype));
        return;
      case ExprKind::kFloatImm:
        out_ += FloatText(e->type().dtype, e->float_value());
        return;
      case ExprKind::kVar:
        PutVar(*e);
        return;
      case ExprKind::kNot:
        out_ += e->type().dtype == DType::kBool ? "!" : "~";
        Print(e->operand(0), 10);
        return;
      case ExprKind::kCast:
        out_ += std::string(Name(e->type().dtype)) + "(";
        Print(e->operand(0), 0);
        out_ += ")";
        return;
      case ExprKind::kCall:
        out_ += std::string(Name(e->intrinsic())) + "(";
        PutAll(e->operands());
        out_ += ")";
        return;
      case ExprKind::kLoad:
        PutBuffer(e->buffer());
        out_ += "[";
        PutAll(e->indices());
        out_ += "]";
        if (e->has_predicate()) {
          out_ += " where (";
          Print(e->predicate(), 0);
          out_ += ")";
        }
        return;
      case ExprKind::kRamp:
        out_ += "ramp(";
        Print(e->operand(0), 0);
        out_ += ", " + std::to_string(e->stride()) + ", " + std::to_string(e->lanes()) + ")";
        return;
      case ExprKind::kBroadcast:
        out_ += "broadcast(";
        Print(e->operand(0), 0);
        out_ += ", " + std::to_string(e->lanes()) + ")";
        return;
      case ExprKind::kReduceLanes:
        out_ += "lanes_" + std::string(CombinerName(e->combiner())) + "(";
        Print(e->operand(0), 0);
        out_ += ")";
        return;
      default:
        break;
    }
    const Operator op = OperatorOf(*e);
    if (op.precedence == 0) {
      out_ += std::string(op.text) + "(";
      PutAll(e->operands());
      out_ += ")";
      return;
    }
    const bool parentheses = op.precedence < outer;
    if (parentheses) out_ += "(";
    Print(e->operand(0), op.precedence);
    out_ += op.text;
    // Left associative, and nothing is reassociated: an equal operator on the right is bracketed.
    Print(e->operand(1), op.precedence + 1);
    if (parentheses) out_ += ")";
  }

  void PutAccess(const StmtNode& s) {
    PutBuffer(s.buffer);
    out_ += "[";
    PutAll(s.indices);
    out_ += "]";
  }

  void PutBody(const Stmt& s) {
    out_ += " {\n";
    ++depth_;
    Print(*s);
    --depth_;
    Indent();
    out_ += "}";
  }

  void PutRange(const StmtNode& s) {
    Print(s.min, 0);
    out_ += "..";
    Print(s.min + s.extent, 0);
  }

  void Print(const StmtNode& s) {
    static constexpr std::array<std::string_view, 4> kBinds = {"for", "parallel", "vector",
                                                               "unroll"};
    if (s.kind == StmtKind::kBlock) {
      for (const Stmt& c : s.children) Print(*c);
      return;
    }
    Indent();
    switch (s.kind) {
      case StmtKind::kFor:
        out_ += std::string(kBinds[static_cast<size_t>(s.bind)]) + " ";
        Print(s.var, 0);
        out_ += " in ";
        PutRange(s);
        PutBody(s.body());
        out_ += "\n";
        break;
      case StmtKind::kStore:
        PutAccess(s);
        out_ += " = ";
        Print(s.value, 0);
        if (s.predicate) {
          out_ += " where (";
          Print(s.predicate, 0);
          out_ += ")";
        }
        out_ += "\n";
        break;
      case StmtKind::kLet:
        out_ += "let ";
        Print(s.var, 0);
        out_ += " = ";
        Print(s.value, 0);
        out_ += "\n";
        Print(*s.body());
        break;
      case StmtKind::kIf:
        out_ += "if (";
        Print(s.value, 0);
        out_ += ")";
        PutBody(s.body());
        if (s.children.size() > 1) {
          out_ += " else";
          PutBody(s.children[1]);
        }
        out_ += "\n";
        break;
      case StmtKind::kAllocate:
        out_ += "alloc ";
        Declare(s.buffer);
        if (static_cast<size_t>(s.buffer) < function_->buffers.size()) {
          const bool reg = function_->buffers[s.buffer].scope == Scope::kRegister;
          out_ += reg ? " register" : " stack";
        }
        out_ += "\n";
        Print(*s.body());
        break;
      case StmtKind::kPrefetch:
        out_ += "prefetch ";
        PutAccess(s);
        out_ += " locality ";
        Print(s.value, 0);
        out_ += "\n";
        break;
      case StmtKind::kBlock:
        break;
    }
  }

  const Function* function_;
  std::vector<std::string> buffer_names_;
  std::map<std::string, std::set<int>> vars_;  // ids of each name
  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string ToText(const Expr& e, const Function* function) {
  return e ? Printer(function).Text(e) : "null";
}

std::string ToText(const Function& function) { return Printer(&function).FunctionText(); }

}  // namespace temper::tir
