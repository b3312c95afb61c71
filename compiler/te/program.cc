#include "compiler/te/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace temper::te {
namespace {

using tir::Expr;
using tir::ExprKind;

constexpr int64_t kMaxExtent = int64_t{1} << 40;
constexpr int kMaxDepth = 256;

Status CheckTensor(const Tensor& t, int id) {
  if (t.shape.size() > kMaxRank) {
    return InvalidArgument(fmt::format("tensor {} '{}' has rank {}, more than {}", id, t.name,
                                       t.shape.size(), kMaxRank));
  }
  if (t.halo_before.size() != t.halo_after.size() ||
      (!t.halo_before.empty() && t.halo_before.size() != t.shape.size())) {
    return InvalidArgument(fmt::format("tensor {} '{}' has a halo of another rank", id, t.name));
  }
  int64_t elements = 1;
  for (size_t d = 0; d < t.shape.size(); ++d) {
    int64_t before = t.halo_before.empty() ? 0 : t.halo_before[d];
    int64_t after = t.halo_after.empty() ? 0 : t.halo_after[d];
    if (t.shape[d] < 0 || t.shape[d] > kMaxExtent || before < 0 || after < 0 ||
        before > kMaxExtent || after > kMaxExtent) {
      return InvalidArgument(
          fmt::format("tensor {} '{}': dimension {} is out of range", id, t.name, d));
    }
    // The others must be sane beside an extent of zero too: strides follow from them.
    int64_t extent = std::max<int64_t>(1, t.shape[d] + before + after);
    if (elements > kMaxElements / extent) {
      return InvalidArgument(fmt::format("tensor {} '{}' has more than 2^40 elements", id, t.name));
    }
    elements *= extent;
  }
  return OkStatus();
}

// One stage's body: every variable is an axis of the stage, every load names a tensor that is
// there before the stage, with as many indices as it has dimensions, and nothing is a vector.
class BodyCheck {
 public:
  BodyCheck(const Program& program, const Stage& stage, int number)
      : program_(program), stage_(stage), number_(number) {
    for (int i = 0; i < stage.axis_count(); ++i) vars_.insert(stage.axis(i).var->var_id());
  }

  Status Run() { return Check(stage_.body, 0); }

 private:
  Status Fail(const std::string& what) const {
    return InvalidArgument(fmt::format("stage {} '{}': {}", number_, stage_.name, what));
  }

  Status Check(const Expr& e, int depth) {
    if (depth > kMaxDepth) return Fail("its body is nested too deeply");
    if (!seen_.insert(e.get()).second) return OkStatus();
    if (e->lanes() != 1) return Fail("its body has a vector");
    if (e->kind() == ExprKind::kVar && !vars_.count(e->var_id())) {
      return Fail(fmt::format("its body uses variable {}, which is no axis of it", e->var_id()));
    }
    if (e->kind() == ExprKind::kLoad) TEMPER_RETURN_IF_ERROR(CheckLoad(e));
    for (const Expr& o : e->operands()) TEMPER_RETURN_IF_ERROR(Check(o, depth + 1));
    return OkStatus();
  }

  Status CheckLoad(const Expr& e) const {
    if (e->buffer() < 0 || e->buffer() >= static_cast<int>(program_.tensors.size())) {
      return Fail("its body reads a tensor that does not exist");
    }
    const Tensor& t = program_.tensors[e->buffer()];
    if (t.producer >= number_) return Fail("its body reads a tensor that is computed later");
    if (e->has_predicate()) return Fail("its body has a predicate");
    if (e->indices().size() != t.shape.size()) {
      return Fail(fmt::format("its body reads '{}' with {} indices, not {}", t.name,
                              e->indices().size(), t.shape.size()));
    }
    if (e->type().dtype != t.dtype)
      return Fail(fmt::format("it reads '{}' as another type", t.name));
    for (const Expr& i : e->indices()) {
      if (!IsInt(i->type().dtype)) return Fail("an index is not an integer");
    }
    return OkStatus();
  }

  const Program& program_;
  const Stage& stage_;
  int number_;
  std::unordered_set<int> vars_;
  std::unordered_set<const tir::ExprNode*> seen_;
};

Status CheckAxes(const Program& program, const Stage& stage, int number,
                 std::unordered_set<int>& used) {
  for (int i = 0; i < stage.axis_count(); ++i) {
    const Axis& a = stage.axis(i);
    if (!a.var || a.var->kind() != ExprKind::kVar || a.var->type() != tir::kIndex) {
      return InvalidArgument(
          fmt::format("stage {} '{}': axis {} has no index variable", number, stage.name, i));
    }
    if (a.var->var_id() < 0 || a.var->var_id() >= program.next_var ||
        !used.insert(a.var->var_id()).second) {
      return InvalidArgument(fmt::format("stage {} '{}': variable {} is used twice or unknown",
                                         number, stage.name, a.var->var_id()));
    }
    if (a.extent < 0 || a.extent > kMaxExtent) {
      return InvalidArgument(
          fmt::format("stage {} '{}': axis {} has the extent {}", number, stage.name, i, a.extent));
    }
  }
  return OkStatus();
}

Status CheckStage(const Program& program, int number, std::unordered_set<int>& used) {
  const Stage& stage = program.stages[number];
  auto fail = [&](const char* what) {
    return InvalidArgument(fmt::format("stage {} '{}': {}", number, stage.name, what));
  };
  if (stage.axis_count() > 2 * kMaxRank) return fail("it has too many axes");
  TEMPER_RETURN_IF_ERROR(CheckAxes(program, stage, number, used));
  if (stage.reduce.empty() != (stage.combiner == Combiner::kNone)) {
    return fail("a combiner and reduction axes go together");
  }
  if (!stage.body) return fail("it has no body");
  if (stage.tensor < 0 || stage.tensor >= static_cast<int>(program.tensors.size()) ||
      program.tensors[stage.tensor].producer != number) {
    return fail("it computes no tensor of its own");
  }
  const Tensor& t = program.tensors[stage.tensor];
  if (t.constant) return fail("a constant is computed");
  if (t.dtype != stage.body->type().dtype) return fail("its tensor has another type");
  if (t.shape.size() != stage.spatial.size()) return fail("its tensor has another rank");
  for (size_t d = 0; d < t.shape.size(); ++d) {
    if (t.shape[d] != stage.spatial[d].extent) return fail("its tensor has another shape");
  }
  return BodyCheck(program, stage, number).Run();
}

double CountOps(const Expr& e) {
  double n = 0;
  switch (e->kind()) {
    case ExprKind::kLoad:
      return 0;  // index arithmetic is not counted
    case ExprKind::kCall:
      n = 8;
      break;
    case ExprKind::kAdd:
    case ExprKind::kSub:
    case ExprKind::kMul:
    case ExprKind::kDiv:
    case ExprKind::kMin:
    case ExprKind::kMax:
      n = 1;
      break;
    case ExprKind::kSelect:  // the condition is index arithmetic
      return CountOps(e->operand(1)) + CountOps(e->operand(2));
    default:
      break;
  }
  for (const Expr& o : e->operands()) n += CountOps(o);
  return n;
}

}  // namespace

int Program::AddInput(std::string input_name, DType dtype, std::vector<int64_t> shape,
                      bool constant) {
  int id = static_cast<int>(tensors.size());
  Tensor t;
  t.name = std::move(input_name);
  t.dtype = dtype;
  t.shape = std::move(shape);
  t.constant = constant;
  tensors.push_back(std::move(t));
  inputs.push_back(id);
  return id;
}

int Program::AddStage(Stage stage) {
  int id = static_cast<int>(tensors.size());
  Tensor t;
  t.name = stage.name;
  t.dtype = stage.body->type().dtype;
  for (const Axis& a : stage.spatial) t.shape.push_back(a.extent);
  t.producer = static_cast<int>(stages.size());
  tensors.push_back(std::move(t));
  stage.tensor = id;
  stages.push_back(std::move(stage));
  return id;
}

tir::Expr Identity(Combiner combiner, DType dtype) {
  bool is_float = IsFloat(dtype);
  double infinity = std::numeric_limits<double>::infinity();
  switch (combiner) {
    case Combiner::kProd:
      return tir::Number(dtype, 1);
    case Combiner::kMax:
      if (is_float) return tir::FloatImm(dtype, -infinity);
      if (!IsSignedInt(dtype)) return tir::Number(dtype, 0);
      return tir::IntImm({dtype, 1},
                         std::numeric_limits<int64_t>::min() >> (64 - 8 * ByteSize(dtype)));
    case Combiner::kMin:
      if (is_float) return tir::FloatImm(dtype, infinity);
      if (dtype == DType::kBool) return tir::IntImm({dtype, 1}, 1);
      if (!IsSignedInt(dtype)) {
        return tir::IntImm({dtype, 1},
                           static_cast<int64_t>(~uint64_t{0} >> (64 - 8 * ByteSize(dtype))));
      }
      return tir::IntImm({dtype, 1},
                         std::numeric_limits<int64_t>::max() >> (64 - 8 * ByteSize(dtype)));
    default:
      return tir::Number(dtype, 0);
  }
}

tir::Expr Combine(Combiner combiner, const tir::Expr& a, const tir::Expr& b) {
  switch (combiner) {
    case Combiner::kSum:
      return a + b;
    case Combiner::kProd:
      return a * b;
    case Combiner::kMax:
      return tir::Max(a, b);
    case Combiner::kMin:
      return tir::Min(a, b);
    case Combiner::kNone:
      break;
  }
  return b;
}

Status Verify(const Program& program) {
  if (program.stages.empty()) return InvalidArgument("the program has no stage");
  if (program.stages.size() > kMaxStages) {
    return InvalidArgument(
        fmt::format("the program has {} stages, more than {}", program.stages.size(), kMaxStages));
  }
  if (program.tensors.size() > kMaxTensors) {
    return InvalidArgument(fmt::format("the program has {} tensors, more than {}",
                                       program.tensors.size(), kMaxTensors));
  }
  auto count = static_cast<int>(program.tensors.size());
  for (int i = 0; i < count; ++i) {
    const Tensor& t = program.tensors[i];
    TEMPER_RETURN_IF_ERROR(CheckTensor(t, i));
    if (t.producer < -1 || t.producer >= static_cast<int>(program.stages.size()) ||
        (t.producer >= 0 && program.stages[t.producer].tensor != i)) {
      return InvalidArgument(fmt::format("tensor {} '{}' has no such producer", i, t.name));
    }
  }
  std::unordered_set<int> seen;
  for (int id : program.inputs) {
    if (id < 0 || id >= count || program.tensors[id].producer != -1 || !seen.insert(id).second) {
      return InvalidArgument(fmt::format("input {} is no input tensor, or given twice", id));
    }
  }
  for (int i = 0; i < count; ++i) {
    if (program.tensors[i].producer == -1 && !seen.count(i)) {
      return InvalidArgument(fmt::format("tensor {} is neither an input nor computed", i));
    }
  }
  std::unordered_set<int> used;
  for (size_t s = 0; s < program.stages.size(); ++s) {
    TEMPER_RETURN_IF_ERROR(CheckStage(program, static_cast<int>(s), used));
  }
  if (program.outputs.empty()) return InvalidArgument("the program has no output");
  std::unordered_set<int> out;
  for (int id : program.outputs) {
    if (id < 0 || id >= count || program.tensors[id].producer < 0 || !out.insert(id).second) {
      return InvalidArgument(fmt::format("output {} is not computed, or given twice", id));
    }
  }
  for (int i = 0; i < count; ++i) {
    const Tensor& t = program.tensors[i];
    if (!t.halo_before.empty() && t.producer >= 0 && !out.count(i)) {
      return InvalidArgument(fmt::format("tensor {} '{}' is internal and has a halo", i, t.name));
    }
  }
  return OkStatus();
}

double FlopCount(const Program& program) {
  double total = 0;
  for (const Stage& s : program.stages) {
    double points = 1;
    for (const Axis& a : s.spatial) points *= static_cast<double>(a.extent);
    double steps = 1;
    for (const Axis& a : s.reduce) steps *= static_cast<double>(a.extent);
    double ops = CountOps(s.body) + (s.combiner == Combiner::kNone ? 0 : 1);
    total += points * steps * ops;
  }
  return total;
}

int64_t ByteCount(const Program& program) {
  auto bytes = [&](int id) {
    const Tensor& t = program.tensors[id];
    int64_t n = ByteSize(t.dtype);
    for (int64_t e : t.shape) n *= e;
    return n;
  };
  int64_t total = 0;
  for (int id : program.inputs) total += bytes(id);
  for (int id : program.outputs) total += bytes(id);
  return total;
}

}  // namespace temper::te
