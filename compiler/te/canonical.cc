// The canonical text:
//
//   temper-program 1
//   in float32[1,56,56,64] halo [0,1,1,0] [0,1,1,0]
//   in float32[64] constant
//   stage sum [1,56,56,64] reduce [64] : mul(t0[a0,a1,a2,a4],t1[a4])
//   stage none [1,56,56,64] : max(t2[a0,a1,a2,a3],float32:0000000000000000)
//   out 3
//
// Tensors are numbered as the lines come. aN is axis N of the stage, spatial axes first. An
// immediate is its dtype and value, an int64 the value alone, a float the 16 hexadecimal digits of
// its value as a float64. dtype(x) is a cast. The result's dtype is the body's.
#include "compiler/te/canonical.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "base/narrow_float.h"
#include "compiler/tir/verify.h"

namespace temper::te {
namespace {

using tir::Expr;
using tir::ExprKind;
using tir::ExprNode;

constexpr std::string_view kHeader = "temper-program 1\n";
constexpr size_t kMaxText = size_t{1} << 20;
constexpr std::array<std::string_view, 5> kCombiners = {"none", "sum", "max", "min", "prod"};

struct Operation {
  ExprKind kind;
  std::string_view name;
  int operands;
};
constexpr std::array<Operation, 20> kOperations = {{{ExprKind::kAdd, "add", 2},
                                                    {ExprKind::kSub, "sub", 2},
                                                    {ExprKind::kMul, "mul", 2},
                                                    {ExprKind::kDiv, "div", 2},
                                                    {ExprKind::kMod, "mod", 2},
                                                    {ExprKind::kFloorDiv, "floor_div", 2},
                                                    {ExprKind::kFloorMod, "floor_mod", 2},
                                                    {ExprKind::kMin, "min", 2},
                                                    {ExprKind::kMax, "max", 2},
                                                    {ExprKind::kEq, "eq", 2},
                                                    {ExprKind::kNe, "ne", 2},
                                                    {ExprKind::kLt, "lt", 2},
                                                    {ExprKind::kLe, "le", 2},
                                                    {ExprKind::kAnd, "and", 2},
                                                    {ExprKind::kOr, "or", 2},
                                                    {ExprKind::kXor, "xor", 2},
                                                    {ExprKind::kShl, "shl", 2},
                                                    {ExprKind::kShr, "shr", 2},
                                                    {ExprKind::kNot, "not", 1},
                                                    {ExprKind::kSelect, "select", 3}}};

const Operation* FindOperation(ExprKind kind) {
  for (const Operation& o : kOperations) {
    if (o.kind == kind) return &o;
  }
  return nullptr;
}

bool IsComparison(ExprKind kind) { return kind >= ExprKind::kEq && kind <= ExprKind::kLe; }

// What the type can hold of the value; one NaN.
double Rounded(DType dtype, double value) {
  if (std::isnan(value)) return std::numeric_limits<double>::quiet_NaN();
  if (dtype == DType::kFloat64) return value;
  if (dtype == DType::kFloat32) return static_cast<float>(value);
  return DecodeNarrow(dtype, EncodeNarrow(dtype, value));
}

// Numbers of tensors and stages in canonical order.
struct Order {
  std::vector<int> stages;        // old numbers, in canonical order
  std::vector<int> tensors;       // old ids, in canonical order
  std::vector<int> tensor_index;  // canonical id by old id, -1 for one that no output needs
};

class OrderFinder {
 public:
  explicit OrderFinder(const Program& p) : p_(p) {
    order_.tensor_index.assign(p.tensors.size(), -1);
    for (int id : p.inputs) Add(id);
    for (int id : p.outputs) Reach(id);
  }
  Order Take() { return std::move(order_); }

 private:
  void Add(int id) {
    order_.tensor_index[id] = static_cast<int>(order_.tensors.size());
    order_.tensors.push_back(id);
  }
  void Reach(int id) {
    if (order_.tensor_index[id] >= 0) return;
    const int stage = p_.tensors[id].producer;
    Walk(p_.stages[stage].body);
    order_.stages.push_back(stage);
    Add(id);
  }
  void Walk(const Expr& e) {
    if (e->kind() == ExprKind::kLoad) Reach(e->buffer());
    for (const Expr& o : e->operands()) Walk(o);
  }

  const Program& p_;
  Order order_;
};

// Rewrites a body for other variables and tensors; what is shared stays shared.
struct Renumbering {
  const std::vector<Expr>& vars;
  const std::vector<int>& tensors;
  std::unordered_map<const ExprNode*, Expr> done;

  Expr Apply(const Expr& e) {
    if (e->kind() == ExprKind::kVar) return vars[e->var_id()];
    if (auto at = done.find(e.get()); at != done.end()) return at->second;
    std::vector<Expr> operands;
    operands.reserve(e->operands().size());
    for (const Expr& o : e->operands()) operands.push_back(Apply(o));
    Expr out = e;
    if (e->kind() == ExprKind::kLoad) {
      out = ExprNode::Make(e->kind(), e->type(), operands, tensors[e->buffer()]);
    } else if (!operands.empty()) {
      out = e->WithOperands(operands);
    }
    return done.emplace(e.get(), std::move(out)).first->second;
  }
};

class Writer {
 public:
  explicit Writer(const Program& p) : p_(p), order_(OrderFinder(p).Take()) {
    axis_of_var_.assign(static_cast<size_t>(p.next_var), -1);
    out_.reserve(1024);
  }

  std::string Run() {
    out_ += kHeader;
    for (int id : p_.inputs) {
      const Tensor& t = p_.tensors[id];
      out_ += "in ";
      out_ += Name(t.dtype);
      PutList(t.shape);
      PutHalo(t);
      if (t.constant) out_ += " constant";
      out_ += '\n';
    }
    for (int s : order_.stages) PutStage(p_.stages[s]);
    out_ += "out";
    for (int id : p_.outputs) {
      out_ += ' ';
      Put(order_.tensor_index[id]);
    }
    out_ += '\n';
    return std::move(out_);
  }

 private:
  void Put(int64_t value) {
    std::array<char, 24> digits;
    out_.append(digits.data(), std::to_chars(digits.begin(), digits.end(), value).ptr);
  }
  void PutList(const std::vector<int64_t>& list) {
    out_ += '[';
    for (size_t i = 0; i < list.size(); ++i) {
      if (i) out_ += ',';
      Put(list[i]);
    }
    out_ += ']';
  }
  void PutHalo(const Tensor& t) {
    bool any = false;  // a halo of zero width is none
    for (size_t d = 0; d < t.halo_before.size(); ++d) any |= t.halo_before[d] || t.halo_after[d];
    if (!any) return;
    out_ += " halo ";
    PutList(t.halo_before);
    out_ += ' ';
    PutList(t.halo_after);
  }
  void PutStage(const Stage& s) {
    out_ += "stage ";
    out_ += kCombiners[static_cast<size_t>(s.combiner)];
    out_ += ' ';
    PutList(p_.tensors[s.tensor].shape);
    if (!s.reduce.empty()) {
      out_ += " reduce [";
      for (size_t i = 0; i < s.reduce.size(); ++i) {
        if (i) out_ += ',';
        Put(s.reduce[i].extent);
      }
      out_ += ']';
    }
    PutHalo(p_.tensors[s.tensor]);
    out_ += " : ";
    for (int i = 0; i < s.axis_count(); ++i) axis_of_var_[s.axis(i).var->var_id()] = i;
    PutExpr(s.body);
    out_ += '\n';
  }
  void PutAll(std::span<const Expr> list) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (i) out_ += ',';
      PutExpr(list[i]);
    }
  }
  void PutExpr(const Expr& e) {
    const DType dtype = e->type().dtype;
    switch (e->kind()) {
      case ExprKind::kIntImm:
        if (dtype != DType::kInt64) {
          out_ += Name(dtype);
          out_ += ':';
        }
        Put(e->int_value());
        return;
      case ExprKind::kFloatImm:
        out_ += Name(dtype);
        out_ += ':';
        fmt::format_to(std::back_inserter(out_), "{:016x}",
                       std::bit_cast<uint64_t>(Rounded(dtype, e->float_value())));
        return;
      case ExprKind::kVar:
        out_ += 'a';
        Put(axis_of_var_[e->var_id()]);
        return;
      case ExprKind::kLoad:
        out_ += 't';
        Put(order_.tensor_index[e->buffer()]);
        out_ += '[';
        PutAll(e->indices());
        out_ += ']';
        return;
      case ExprKind::kCast:
        out_ += Name(dtype);
        break;
      case ExprKind::kCall:
        out_ += Name(e->intrinsic());
        break;
      default:
        const Operation* operation = FindOperation(e->kind());
        TEMPER_CHECK(operation != nullptr);  // Verify lets no vector in
        out_ += operation->name;
    }
    out_ += '(';
    PutAll(e->operands());
    out_ += ')';
  }

  const Program& p_;
  const Order order_;
  std::vector<int> axis_of_var_;
  std::string out_;
};

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Result<Program> Run() {
    if (text_.size() > kMaxText) {
      return InvalidArgument(
          fmt::format("a program text of {} bytes; at most {}", text_.size(), kMaxText));
    }
    Status status = ParseAll();
    if (!status.ok()) return status.WithContext(fmt::format("program text, line {}", line_));
    for (const Stage& s : program_.stages) {
      TEMPER_RETURN_IF_ERROR(tir::VerifyExpr(s.body).WithContext(s.name));
    }
    TEMPER_RETURN_IF_ERROR(Verify(program_).WithContext("program text"));
    return std::move(program_);
  }

 private:
  static Status Bad(std::string message) { return InvalidArgument(std::move(message)); }

  Status ParseAll() {
    if (!Eat(kHeader)) return Bad("it does not begin with 'temper-program 1'");
    ++line_;
    while (Eat("in ")) {
      TEMPER_RETURN_IF_ERROR(ParseInput());
      ++line_;
    }
    while (Eat("stage ")) {
      TEMPER_RETURN_IF_ERROR(ParseStage());
      ++line_;
    }
    if (!Eat("out")) return Bad("'in', 'stage' or 'out' belongs here");
    while (Eat(" ")) {
      int64_t id = 0;
      TEMPER_RETURN_IF_ERROR(ParseInt(&id));
      if (id < 0 || id >= static_cast<int64_t>(program_.tensors.size())) {
        return Bad(fmt::format("tensor {} of {}", id, program_.tensors.size()));
      }
      if (program_.outputs.size() >= static_cast<size_t>(kMaxTensors)) {
        return Bad("too many outputs");
      }
      program_.outputs.push_back(static_cast<int>(id));
    }
    TEMPER_RETURN_IF_ERROR(Expect("\n"));
    return at_ == text_.size() ? OkStatus() : Bad("something behind the end");
  }

  bool Eat(std::string_view token) {
    if (std::string_view(text_).substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  Status Expect(std::string_view token) {
    if (Eat(token)) return OkStatus();
    return Bad(fmt::format("{} belongs at character {} of the text",
                           token == "\n" ? "the line's end" : fmt::format("'{}'", token), at_));
  }
  Status ParseInt(int64_t* value) {
    const char* end = text_.data() + text_.size();
    auto [next, error] = std::from_chars(text_.data() + at_, end, *value);
    if (error != std::errc()) return Bad(fmt::format("no integer at character {}", at_));
    at_ = static_cast<size_t>(next - text_.data());
    return OkStatus();
  }
  std::string_view Word() {
    size_t end = at_;
    auto in_word = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    };
    while (end < text_.size() && in_word(text_[end])) ++end;
    std::string_view word = std::string_view(text_).substr(at_, end - at_);
    at_ = end;
    return word;
  }
  Status ParseDTypeWord(DType* dtype) {
    const size_t start = at_;
    auto parsed = ParseDType(Word());
    if (!parsed) return Bad(fmt::format("no element type at character {}", start));
    *dtype = *parsed;
    return OkStatus();
  }
  Status ParseList(std::vector<int64_t>* list) {
    TEMPER_RETURN_IF_ERROR(Expect("["));
    if (Eat("]")) return OkStatus();
    do {
      if (list->size() >= static_cast<size_t>(2 * kMaxRank)) return Bad("too many dimensions");
      TEMPER_RETURN_IF_ERROR(ParseInt(&list->emplace_back()));
      if (list->back() < 0 || list->back() > kMaxElements) return Bad("an extent out of bounds");
    } while (Eat(","));
    return Expect("]");
  }
  Status ParseHalo(Tensor* t) {
    if (!Eat(" halo ")) return OkStatus();
    TEMPER_RETURN_IF_ERROR(ParseList(&t->halo_before));
    TEMPER_RETURN_IF_ERROR(Expect(" "));
    TEMPER_RETURN_IF_ERROR(ParseList(&t->halo_after));
    if (t->halo_before.size() != t->shape.size() || t->halo_after.size() != t->shape.size()) {
      return Bad("the halo has another rank than its tensor");
    }
    return OkStatus();
  }
  Status CheckTensorCount() const {
    return program_.tensors.size() < static_cast<size_t>(kMaxTensors)
               ? OkStatus()
               : Bad(fmt::format("more than {} tensors", kMaxTensors));
  }

  Status ParseInput() {
    TEMPER_RETURN_IF_ERROR(CheckTensorCount());
    Tensor t;
    TEMPER_RETURN_IF_ERROR(ParseDTypeWord(&t.dtype));
    TEMPER_RETURN_IF_ERROR(ParseList(&t.shape));
    TEMPER_RETURN_IF_ERROR(ParseHalo(&t));
    t.constant = Eat(" constant");
    t.name = fmt::format("t{}", program_.tensors.size());
    program_.inputs.push_back(static_cast<int>(program_.tensors.size()));
    program_.tensors.push_back(std::move(t));
    return Expect("\n");
  }

  Status ParseStage() {
    TEMPER_RETURN_IF_ERROR(CheckTensorCount());
    if (program_.stages.size() >= static_cast<size_t>(kMaxStages)) {
      return Bad(fmt::format("more than {} stages", kMaxStages));
    }
    Stage s;
    const std::string_view combiner = Word();
    size_t c = 0;
    while (c < kCombiners.size() && kCombiners[c] != combiner) ++c;
    if (c == kCombiners.size()) return Bad("a stage begins with its combiner");
    s.combiner = static_cast<Combiner>(c);
    TEMPER_RETURN_IF_ERROR(Expect(" "));
    Tensor t;
    TEMPER_RETURN_IF_ERROR(ParseList(&t.shape));
    std::vector<int64_t> reduce;
    if (Eat(" reduce ")) TEMPER_RETURN_IF_ERROR(ParseList(&reduce));
    TEMPER_RETURN_IF_ERROR(ParseHalo(&t));
    axes_.clear();
    for (size_t i = 0; i < t.shape.size() + reduce.size(); ++i) {
      const bool spatial = i < t.shape.size();
      axes_.push_back(program_.NewVar(fmt::format("{}{}", spatial ? 'i' : 'r', i)));
      auto& list = spatial ? s.spatial : s.reduce;
      list.push_back({axes_.back(), spatial ? t.shape[i] : reduce[i - t.shape.size()]});
    }
    TEMPER_RETURN_IF_ERROR(Expect(" : "));
    TEMPER_RETURN_IF_ERROR(ParseExpr(0, &s.body));
    TEMPER_RETURN_IF_ERROR(Expect("\n"));
    s.name = fmt::format("s{}", program_.stages.size());
    s.tensor = static_cast<int>(program_.tensors.size());
    t.name = fmt::format("t{}", s.tensor);
    t.dtype = s.body->type().dtype;
    t.producer = static_cast<int>(program_.stages.size());
    program_.tensors.push_back(std::move(t));
    program_.stages.push_back(std::move(s));
    return OkStatus();
  }

  Status ParseOperands(int depth, std::string_view close, std::vector<Expr>* out) {
    if (Eat(close)) return OkStatus();
    do {
      if (out->size() >= static_cast<size_t>(kMaxRank)) return Bad("too many operands");
      TEMPER_RETURN_IF_ERROR(ParseExpr(depth + 1, &out->emplace_back()));
    } while (Eat(","));
    return Expect(close);
  }

  // The number behind a letter, below `count`.
  static std::optional<int> Numbered(std::string_view word, char letter, size_t count) {
    int number = 0;
    if (word.size() < 2 || word[0] != letter) return std::nullopt;
    auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || number < 0 ||
        static_cast<size_t>(number) >= count) {
      return std::nullopt;
    }
    return number;
  }

  Status ParseExpr(int depth, Expr* out) {
    if (depth > tir::kMaxExprDepth) return Bad("an expression nests too deeply");
    const char first = at_ < text_.size() ? text_[at_] : '\0';
    if (first == '-' || (first >= '0' && first <= '9')) {
      int64_t value = 0;
      TEMPER_RETURN_IF_ERROR(ParseInt(&value));
      *out = tir::Index(value);
      return OkStatus();
    }
    const size_t start = at_;
    const std::string_view word = Word();
    if (auto axis = Numbered(word, 'a', axes_.size())) {
      *out = axes_[*axis];
      return OkStatus();
    }
    if (auto tensor = Numbered(word, 't', program_.tensors.size())) {
      std::vector<Expr> indices;
      TEMPER_RETURN_IF_ERROR(Expect("["));
      TEMPER_RETURN_IF_ERROR(ParseOperands(depth, "]", &indices));
      *out = program_.Read(*tensor, indices);
      return OkStatus();
    }
    if (auto dtype = ParseDType(word); dtype && Eat(":")) return ParseImmediate(*dtype, out);
    std::vector<Expr> operands;
    if (!Eat("(")) return Bad(fmt::format("no expression at character {}", start));
    TEMPER_RETURN_IF_ERROR(ParseOperands(depth, ")", &operands));
    if (operands.empty()) return Bad(fmt::format("no operands at character {}", at_));
    return Build(word, start, operands, out);
  }

  Status ParseImmediate(DType dtype, Expr* out) {
    if (!IsFloat(dtype)) {
      int64_t value = 0;
      TEMPER_RETURN_IF_ERROR(ParseInt(&value));
      *out = ExprNode::Make(ExprKind::kIntImm, {dtype, 1}, {}, value);  // VerifyExpr checks it
      return OkStatus();
    }
    const std::string_view digits = Word();
    uint64_t bits = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
    if (digits.size() != 16 || error != std::errc() || end != digits.data() + 16) {
      return Bad(fmt::format("16 hexadecimal digits belong before character {}", at_));
    }
    *out = tir::FloatImm(dtype, std::bit_cast<double>(bits));
    return OkStatus();
  }

  Status Build(std::string_view word, size_t start, const std::vector<Expr>& operands, Expr* out) {
    auto count = [&](size_t want) {
      return operands.size() == want
                 ? OkStatus()
                 : Bad(fmt::format("{} takes {} operands, not {}", word, want, operands.size()));
    };
    tir::Type type = operands[0]->type();
    if (auto dtype = ParseDType(word)) {
      TEMPER_RETURN_IF_ERROR(count(1));
      *out = ExprNode::Make(ExprKind::kCast, {*dtype, 1}, operands);
      return OkStatus();
    }
    for (const Operation& o : kOperations) {
      if (o.name != word) continue;
      TEMPER_RETURN_IF_ERROR(count(static_cast<size_t>(o.operands)));
      if (IsComparison(o.kind)) type.dtype = DType::kBool;
      if (o.kind == ExprKind::kSelect) type = operands[1]->type();
      *out = ExprNode::Make(o.kind, type, operands);
      return OkStatus();
    }
    for (int i = 0; i < tir::kIntrinsicCount; ++i) {
      const auto f = static_cast<tir::Intrinsic>(i);
      if (Name(f) != word) continue;
      if (f == tir::Intrinsic::kIsNan || f == tir::Intrinsic::kIsInf) type.dtype = DType::kBool;
      *out = ExprNode::Make(ExprKind::kCall, type, operands, 0, static_cast<uint8_t>(i));
      return OkStatus();
    }
    return Bad(fmt::format("no operation of that name at character {}", start));
  }

  const std::string& text_;
  size_t at_ = 0;
  int line_ = 1;
  Program program_;
  std::vector<Expr> axes_;  // of the stage being read
};

}  // namespace

std::string CanonicalText(const Program& program) { return Writer(program).Run(); }

Hash WorkloadHash(const Program& program) { return Sha256(CanonicalText(program)); }

Result<Program> ParseProgram(const std::string& text) { return Parser(text).Run(); }

Program Canonicalize(const Program& program) {
  const Order order = OrderFinder(program).Take();
  Program out;
  out.name = program.name;
  for (int id : order.tensors) {
    out.tensors.push_back(program.tensors[id]);
    out.tensors.back().producer = -1;
  }
  for (size_t i = 0; i < program.inputs.size(); ++i) out.inputs.push_back(static_cast<int>(i));
  std::vector<Expr> vars(static_cast<size_t>(program.next_var));
  for (int number : order.stages) {
    Stage s = program.stages[number];
    s.tensor = order.tensor_index[s.tensor];
    out.tensors[s.tensor].producer = static_cast<int>(out.stages.size());
    for (auto* axes : {&s.spatial, &s.reduce}) {
      for (Axis& a : *axes) {
        const int old = a.var->var_id();
        a.var = out.NewVar(a.var->var_name());
        vars[old] = a.var;
      }
    }
    s.body = Renumbering{vars, order.tensor_index, {}}.Apply(s.body);
    out.stages.push_back(std::move(s));
  }
  for (int id : program.outputs) out.outputs.push_back(order.tensor_index[id]);
  return out;
}

}  // namespace temper::te
