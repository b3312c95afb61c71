#include "compiler/tir/verify.h"

#include <fmt/format.h>

#include "base/checked.h"

namespace temper::tir {
namespace {

Status Bad(std::string message) { return InvalidArgument(std::move(message)); }

std::string TypeText(Type t) {
  std::string out(Name(t.dtype));
  return t.lanes == 1 ? out : out + "x" + std::to_string(t.lanes);
}

bool Fits(DType dtype, int64_t value) {
  if (dtype == DType::kBool) return value == 0 || value == 1;
  const int bits = ByteSize(dtype) * 8;
  if (bits == 64) return true;  // uint64 is held as its bit pattern
  if (IsSignedInt(dtype)) {
    return value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1);
  }
  return value >= 0 && value < int64_t{1} << bits;
}

class ExprVerifier {
 public:
  explicit ExprVerifier(const std::vector<Buffer>* buffers) : buffers_(buffers) {}
  virtual ~ExprVerifier() = default;

  Status Check(const Expr& e, int depth = 0) {
    if (!e) return Bad("a null expression");
    if (depth > kMaxExprDepth) {
      return Bad(fmt::format("an expression nests deeper than {}", kMaxExprDepth));
    }
    if (++nodes_ > kMaxNodes) return Bad(fmt::format("more than {} nodes", kMaxNodes));
    if (e->lanes() < 1 || e->lanes() > kMaxLanes) {
      return Bad(fmt::format("{} lanes; at most {}", e->lanes(), kMaxLanes));
    }
    TEMPER_RETURN_IF_ERROR(CheckCount(*e));
    for (const Expr& o : e->operands()) TEMPER_RETURN_IF_ERROR(Check(o, depth + 1));
    return CheckNode(*e);
  }

 protected:
  virtual Status OnVar(const ExprNode&) { return OkStatus(); }
  virtual Status OnLoad(const ExprNode&) { return OkStatus(); }

  Status CheckIndices(std::span<const Expr> indices, int buffer) {
    if (!buffers_) return OkStatus();
    if (buffer < 0 || buffer >= static_cast<int>(buffers_->size())) {
      return Bad(fmt::format("buffer {} of a table of {}", buffer, buffers_->size()));
    }
    const Buffer& b = (*buffers_)[buffer];
    if (indices.size() != b.shape.size()) {
      return Bad(fmt::format("{} indices into buffer {} of rank {}", indices.size(), b.name,
                             b.shape.size()));
    }
    return OkStatus();
  }

  const std::vector<Buffer>* buffers_;
  int64_t nodes_ = 0;

 private:
  static Status CheckCount(const ExprNode& e) {
    size_t want = 2;
    switch (e.kind()) {
      case ExprKind::kIntImm:
      case ExprKind::kFloatImm:
      case ExprKind::kVar:
        want = 0;
        break;
      case ExprKind::kNot:
      case ExprKind::kCast:
      case ExprKind::kRamp:
      case ExprKind::kBroadcast:
      case ExprKind::kReduceLanes:
        want = 1;
        break;
      case ExprKind::kSelect:
        want = 3;
        break;
      case ExprKind::kCall:
        if (static_cast<int>(e.intrinsic()) >= kIntrinsicCount) return Bad("an unknown intrinsic");
        want = e.intrinsic() == Intrinsic::kPow || e.intrinsic() == Intrinsic::kFmod ? 2 : 1;
        break;
      case ExprKind::kLoad:
        want = e.operands().size();
        if (e.has_predicate() && want == 0) return Bad("a load without its predicate");
        break;
      default:
        break;
    }
    if (e.operands().size() == want) return OkStatus();
    return Bad(fmt::format("{} operands where {} belong", e.operands().size(), want));
  }

  static Status SameTypes(const ExprNode& e, Type want) {
    for (const Expr& o : e.operands()) {
      if (o->type() != want) {
        return Bad(fmt::format("an operand of type {} where {} belongs", TypeText(o->type()),
                               TypeText(want)));
      }
    }
    return OkStatus();
  }

  Status CheckNode(const ExprNode& e) {
    const Type t = e.type();
    const bool boolean = t.dtype == DType::kBool;
    switch (e.kind()) {
      case ExprKind::kIntImm:
        if (t.lanes != 1 || IsFloat(t.dtype)) return Bad("an integer immediate of another type");
        if (!Fits(t.dtype, e.int_value())) {
          return Bad(fmt::format("immediate {} does not fit {}", e.int_value(), Name(t.dtype)));
        }
        return OkStatus();
      case ExprKind::kFloatImm:
        return t.lanes == 1 && IsFloat(t.dtype) ? OkStatus()
                                                : Bad("a float immediate of another type");
      case ExprKind::kVar:
        if (t.lanes != 1) return Bad("a variable with several lanes");
        return OnVar(e);
      case ExprKind::kAdd:
      case ExprKind::kSub:
      case ExprKind::kMul:
      case ExprKind::kDiv:
        if (boolean) return Bad("arithmetic on bool");
        return SameTypes(e, t);
      case ExprKind::kMin:
      case ExprKind::kMax:
        return SameTypes(e, t);
      case ExprKind::kMod:
      case ExprKind::kFloorDiv:
      case ExprKind::kFloorMod:
      case ExprKind::kShl:
      case ExprKind::kShr:
        if (!IsInt(t.dtype)) return Bad("an integer operation on another type");
        return SameTypes(e, t);
      case ExprKind::kAnd:
      case ExprKind::kOr:
      case ExprKind::kXor:
      case ExprKind::kNot:
        if (IsFloat(t.dtype)) return Bad("a logical operation on floats");
        return SameTypes(e, t);
      case ExprKind::kEq:
      case ExprKind::kNe:
      case ExprKind::kLt:
      case ExprKind::kLe:
        if (!boolean) return Bad("a comparison that is no bool");
        return SameTypes(e, e.operand(0)->type().WithLanes(t.lanes));
      case ExprKind::kSelect:
        if (e.operand(0)->type() != Type{DType::kBool, t.lanes}) {
          return Bad("a select whose condition is no bool of its lanes");
        }
        if (e.operand(1)->type() != t || e.operand(2)->type() != t) {
          return Bad("a select whose sides have another type");
        }
        return OkStatus();
      case ExprKind::kCast:
        return e.operand(0)->lanes() == t.lanes ? OkStatus() : Bad("a cast that changes lanes");
      case ExprKind::kCall:
        return CheckCall(e);
      case ExprKind::kLoad:
        return CheckLoad(e);
      case ExprKind::kRamp:
        if (!IsInt(t.dtype) || t.lanes < 2) return Bad("a ramp that is no vector of integers");
        return SameTypes(e, t.WithLanes(1));
      case ExprKind::kBroadcast:
        if (t.lanes < 2) return Bad("a broadcast to one lane");
        return SameTypes(e, t.WithLanes(1));
      case ExprKind::kReduceLanes:
        return CheckReduceLanes(e);
    }
    return Bad("an unknown kind of expression");
  }

  static Status CheckReduceLanes(const ExprNode& e) {
    const int lanes = e.operand(0)->lanes();
    if (lanes < 2 || (lanes & (lanes - 1)) != 0) {
      return Bad(fmt::format("{} lanes to combine, which is no power of two", lanes));
    }
    const ExprKind k = e.combiner();
    if (k != ExprKind::kAdd && k != ExprKind::kMul && k != ExprKind::kMin && k != ExprKind::kMax) {
      return Bad("lanes combined by what is no sum, product, minimum or maximum");
    }
    if (e.type().dtype == DType::kBool) return Bad("combined lanes of bool");
    if (e.type().lanes != 1) return Bad("combined lanes that are a vector");
    return SameTypes(e, e.type().WithLanes(lanes));
  }

  static Status CheckCall(const ExprNode& e) {
    const Intrinsic f = e.intrinsic();
    const Type argument = e.operand(0)->type();
    const bool of_integers = f == Intrinsic::kAbs || f == Intrinsic::kPow;
    if (argument.dtype == DType::kBool || (!IsFloat(argument.dtype) && !of_integers)) {
      return Bad(fmt::format("{} of {}", Name(f), TypeText(argument)));
    }
    TEMPER_RETURN_IF_ERROR(SameTypes(e, argument));
    Type want = argument;
    if (f == Intrinsic::kIsNan || f == Intrinsic::kIsInf) want.dtype = DType::kBool;
    return e.type() == want ? OkStatus() : Bad(fmt::format("{} of a wrong type", Name(f)));
  }

  Status CheckLoad(const ExprNode& e) {
    for (const Expr& i : e.indices()) {
      if (i->type() != kIndex.WithLanes(e.lanes())) {
        return Bad(fmt::format("an index of type {} in a load of {} lanes", TypeText(i->type()),
                               e.lanes()));
      }
    }
    if (e.has_predicate() && e.predicate()->type() != kCondition.WithLanes(e.lanes())) {
      return Bad("a load whose predicate is no bool of its lanes");
    }
    TEMPER_RETURN_IF_ERROR(CheckIndices(e.indices(), e.buffer()));
    if (buffers_ && (*buffers_)[e.buffer()].dtype != e.type().dtype) {
      return Bad(fmt::format("a load of {} from buffer {}", TypeText(e.type()),
                             (*buffers_)[e.buffer()].name));
    }
    return OnLoad(e);
  }
};

class FunctionVerifier : public ExprVerifier {
 public:
  FunctionVerifier(const Function& f, bool finished)
      : ExprVerifier(&f.buffers), f_(f), finished_(finished), allocated_(f.buffers.size(), -1) {}

  Status Run() {
    TEMPER_RETURN_IF_ERROR(CheckTable());
    vars_.resize(static_cast<size_t>(f_.next_var));
    if (!f_.body) return Bad("no body");
    return CheckStmt(f_.body, 0);
  }

 protected:
  Status OnVar(const ExprNode& e) override {
    const int id = e.var_id();
    if (id < 0 || id >= f_.next_var) {
      return Bad(fmt::format("variable {} has id {}, not below next_var {}", e.var_name(), id,
                             f_.next_var));
    }
    if (!vars_[id])
      return Bad(fmt::format("variable {} is used before it is defined", e.var_name()));
    if (vars_[id]->type() != e.type()) {
      return Bad(fmt::format("variable {} is used with another type", e.var_name()));
    }
    return OkStatus();
  }

  Status OnLoad(const ExprNode& e) override { return CheckAccess(e.buffer(), e.indices()); }

 private:
  static Status CheckShape(const Buffer& b) {
    if (b.shape.size() > kMaxRank) {
      return Bad(fmt::format("rank {}; at most {}", b.shape.size(), kMaxRank));
    }
    if (b.halo_before.size() != b.halo_after.size() ||
        (!b.halo_before.empty() && b.halo_before.size() != b.shape.size())) {
      return Bad("a halo that has not its rank");
    }
    int64_t count = 1;
    for (size_t d = 0; d < b.shape.size(); ++d) {
      const int64_t before = b.halo_before.empty() ? 0 : b.halo_before[d];
      const int64_t after = b.halo_before.empty() ? 0 : b.halo_after[d];
      if (b.shape[d] < 1 || b.shape[d] > kMaxElements || before < 0 || before > kMaxElements ||
          after < 0 || after > kMaxElements) {
        return Bad(fmt::format("extent or halo of dimension {} out of bounds", d));
      }
      auto next = CheckedMul(count, b.shape[d] + before + after);
      if (!next || *next > kMaxElements) return Bad("too many elements");
      count = *next;
    }
    return OkStatus();
  }

  Status CheckPlace(const Buffer& b) const {
    const int64_t bytes = b.ElementCount() * ByteSize(b.dtype);
    switch (b.scope) {
      case Scope::kParam:
        if (b.param < 0 || b.param >= static_cast<int>(f_.params.size())) {
          return Bad(fmt::format("parameter {} of {}", b.param, f_.params.size()));
        }
        if (&f_.buffers[f_.params[b.param]] != &b) return Bad("params names another buffer");
        return OkStatus();
      case Scope::kWorkspace:
        if (b.workspace_offset < 0 || b.workspace_offset % 64 != 0) {
          return Bad("its workspace offset is not a multiple of 64");
        }
        if (f_.workspace_bytes < bytes || b.workspace_offset > f_.workspace_bytes - bytes) {
          return Bad(fmt::format("it ends past the {} bytes of workspace", f_.workspace_bytes));
        }
        return OkStatus();
      case Scope::kStack:
      case Scope::kRegister:
        if (bytes > kMaxThreadBytes) {
          return Bad(fmt::format("{} bytes of thread memory; at most {}", bytes, kMaxThreadBytes));
        }
        return OkStatus();
    }
    return Bad("an unknown scope");
  }

  Status CheckTable() const {
    if (f_.next_var < 0 || f_.next_var > kMaxNodes) return Bad("next_var out of bounds");
    if (f_.buffers.size() > kMaxBuffers) {
      return Bad(fmt::format("{} buffers; at most {}", f_.buffers.size(), kMaxBuffers));
    }
    for (size_t p = 0; p < f_.params.size(); ++p) {
      const int buffer = f_.params[p];
      if (buffer < 0 || buffer >= static_cast<int>(f_.buffers.size())) {
        return Bad(fmt::format("parameter {} is buffer {} of {}", p, buffer, f_.buffers.size()));
      }
      const Buffer& b = f_.buffers[buffer];
      if (b.scope != Scope::kParam || b.param != static_cast<int>(p)) {
        return Bad(fmt::format("parameter {} is buffer {}, which says otherwise", p, b.name));
      }
    }
    for (const Buffer& b : f_.buffers) {
      Status status = CheckShape(b);
      if (status.ok()) status = CheckPlace(b);
      if (!status.ok()) return status.WithContext("buffer " + b.name);
    }
    return OkStatus();
  }

  Status CheckAccess(int buffer, std::span<const Expr> indices) {
    const Buffer& b = f_.buffers[buffer];
    if (b.scope != Scope::kStack && b.scope != Scope::kRegister) return OkStatus();
    if (allocated_[buffer] < 0) {
      return Bad(fmt::format("buffer {} is used outside its allocation", b.name));
    }
    if (allocated_[buffer] < parallel_) {
      return Bad(fmt::format("buffer {} belongs to the thread outside the parallel loop", b.name));
    }
    if (!finished_ || b.scope != Scope::kRegister) return OkStatus();
    for (const Expr& i : indices) {
      const Expr& base =
          i->kind() == ExprKind::kRamp || i->kind() == ExprKind::kBroadcast ? i->operand(0) : i;
      if (base->kind() != ExprKind::kIntImm) {
        return Bad(fmt::format("register buffer {} has an index that is not constant", b.name));
      }
    }
    return OkStatus();
  }

  Status CheckStoreTarget(const StmtNode& s) {
    TEMPER_RETURN_IF_ERROR(CheckIndices(s.indices, s.buffer));
    for (const Expr& i : s.indices) {
      TEMPER_RETURN_IF_ERROR(Check(i));
      if (i->type().dtype != DType::kInt64) return Bad("an index that is no int64");
    }
    return CheckAccess(s.buffer, s.indices);
  }

  Status CheckStore(const StmtNode& s) {
    TEMPER_RETURN_IF_ERROR(Check(s.value));
    TEMPER_RETURN_IF_ERROR(CheckStoreTarget(s));
    const Type t = s.value->type();
    if (t.dtype != f_.buffers[s.buffer].dtype) {
      return Bad(fmt::format("a value of {} in a buffer of {}", TypeText(t),
                             Name(f_.buffers[s.buffer].dtype)));
    }
    bool vector_index = false;
    for (const Expr& i : s.indices) {
      if (i->lanes() != 1 && i->lanes() != t.lanes) return Bad("an index with other lanes");
      vector_index |= i->lanes() == t.lanes;
    }
    if (t.lanes > 1 && !vector_index) return Bad("a vector stored at a scalar index");
    if (!s.predicate) return OkStatus();
    TEMPER_RETURN_IF_ERROR(Check(s.predicate));
    return s.predicate->type() == kCondition.WithLanes(t.lanes)
               ? OkStatus()
               : Bad("a predicate that is no bool of the value's lanes");
  }

  Status CheckPrefetch(const StmtNode& s) {
    TEMPER_RETURN_IF_ERROR(CheckStoreTarget(s));
    for (const Expr& i : s.indices) {
      if (i->lanes() != 1) return Bad("a vector index");
    }
    if (!s.value || s.value->kind() != ExprKind::kIntImm || s.value->int_value() < 0 ||
        s.value->int_value() > 3) {
      return Bad("a locality that is not 0 to 3");
    }
    return OkStatus();
  }

  // Checks the body with `var` defined.
  Status CheckScope(const StmtNode& s, int depth) {
    const int id = s.var->var_id();
    vars_[id] = s.var;
    Status status = CheckStmt(s.body(), depth + 1);
    vars_[id] = Expr();
    return status;
  }

  Status CheckNewVar(const Expr& var) {
    if (!var || var->kind() != ExprKind::kVar || var->lanes() != 1) return Bad("no variable");
    const int id = var->var_id();
    if (id < 0 || id >= f_.next_var) {
      return Bad(fmt::format("its variable's id {} is not below next_var {}", id, f_.next_var));
    }
    if (vars_[id]) return Bad("its variable is defined already");
    return OkStatus();
  }

  Status CheckFor(const StmtNode& s, int depth) {
    TEMPER_RETURN_IF_ERROR(CheckNewVar(s.var));
    TEMPER_RETURN_IF_ERROR(Check(s.min));
    TEMPER_RETURN_IF_ERROR(Check(s.extent));
    if (!IsInt(s.var->type().dtype) || s.min->type() != s.var->type() ||
        s.extent->type() != s.var->type()) {
      return Bad("min and extent are not scalar integers of the variable's type");
    }
    if (finished_ && (s.bind == Bind::kVector || s.bind == Bind::kUnroll)) {
      return Bad("a vector or unroll loop is left");
    }
    if (s.bind != Bind::kParallel) return CheckScope(s, depth);
    if (parallel_ >= 0) return Bad("a parallel loop inside another");
    parallel_ = depth;
    Status status = CheckScope(s, depth);
    parallel_ = -1;
    return status;
  }

  Status CheckLet(const StmtNode& s, int depth) {
    TEMPER_RETURN_IF_ERROR(CheckNewVar(s.var));
    TEMPER_RETURN_IF_ERROR(Check(s.value));
    if (s.value->type() != s.var->type()) return Bad("a value of another type");
    return CheckScope(s, depth);
  }

  Status CheckIf(const StmtNode& s, int depth) {
    TEMPER_RETURN_IF_ERROR(Check(s.value));
    if (s.value->type() != kCondition) return Bad("a condition that is no scalar bool");
    for (const Stmt& c : s.children) TEMPER_RETURN_IF_ERROR(CheckStmt(c, depth + 1));
    return OkStatus();
  }

  Status CheckAllocate(const StmtNode& s, int depth) {
    if (s.buffer < 0 || s.buffer >= static_cast<int>(f_.buffers.size())) {
      return Bad(fmt::format("buffer {} of a table of {}", s.buffer, f_.buffers.size()));
    }
    const Scope scope = f_.buffers[s.buffer].scope;
    if (scope != Scope::kStack && scope != Scope::kRegister) {
      return Bad("only stack and register buffers are allocated");
    }
    if (allocated_[s.buffer] >= 0) return Bad("it is allocated already");
    allocated_[s.buffer] = depth;
    Status status = CheckStmt(s.body(), depth + 1);
    allocated_[s.buffer] = -1;
    return status;
  }

  std::string Place(const StmtNode& s) const {
    const bool known = s.buffer >= 0 && s.buffer < static_cast<int>(f_.buffers.size());
    const std::string buffer = known ? f_.buffers[s.buffer].name : std::to_string(s.buffer);
    const std::string var = s.var && s.var->kind() == ExprKind::kVar ? s.var->var_name() : "?";
    switch (s.kind) {
      case StmtKind::kFor:
        return "for " + var;
      case StmtKind::kStore:
        return "store to " + buffer;
      case StmtKind::kLet:
        return "let " + var;
      case StmtKind::kIf:
        return "if";
      case StmtKind::kBlock:
        return "block";
      case StmtKind::kAllocate:
        return "alloc " + buffer;
      case StmtKind::kPrefetch:
        return "prefetch of " + buffer;
    }
    return "statement";
  }

  Status CheckStmt(const Stmt& s, int depth) {
    if (!s) return Bad("a null statement");
    if (depth > kMaxStmtDepth) {
      return Bad(fmt::format("statements nest deeper than {}", kMaxStmtDepth));
    }
    if (++nodes_ > kMaxNodes) return Bad(fmt::format("more than {} nodes", kMaxNodes));
    Status status = CheckKind(*s, depth);
    if (status.ok() || s->kind == StmtKind::kBlock) return status;
    return status.WithContext(Place(*s));
  }

  Status CheckKind(const StmtNode& s, int depth) {
    const size_t n = s.children.size();
    const bool one_body =
        s.kind == StmtKind::kFor || s.kind == StmtKind::kLet || s.kind == StmtKind::kAllocate;
    if ((one_body && n != 1) || (s.kind == StmtKind::kIf && n != 1 && n != 2)) {
      return Bad("a wrong number of bodies");
    }
    switch (s.kind) {
      case StmtKind::kFor:
        return CheckFor(s, depth);
      case StmtKind::kStore:
        return CheckStore(s);
      case StmtKind::kLet:
        return CheckLet(s, depth);
      case StmtKind::kIf:
        return CheckIf(s, depth);
      case StmtKind::kBlock:
        for (const Stmt& c : s.children) TEMPER_RETURN_IF_ERROR(CheckStmt(c, depth + 1));
        return OkStatus();
      case StmtKind::kAllocate:
        return CheckAllocate(s, depth);
      case StmtKind::kPrefetch:
        return CheckPrefetch(s);
    }
    return Bad("an unknown kind of statement");
  }

  const Function& f_;
  const bool finished_;
  std::vector<Expr> vars_;      // the definition in scope, by id
  std::vector<int> allocated_;  // depth of the Allocate in scope, by buffer; -1: none
  int parallel_ = -1;           // depth of the parallel loop in scope
};

}  // namespace

Status Verify(const Function& function) {
  return FunctionVerifier(function, false).Run().WithContext(function.name);
}

Status VerifyFinished(const Function& function) {
  return FunctionVerifier(function, true).Run().WithContext(function.name);
}

Status VerifyExpr(const Expr& e, const std::vector<Buffer>* buffers) {
  return ExprVerifier(buffers).Check(e);
}

}  // namespace temper::tir
