#include "tuner/space/analysis.h"

#include <algorithm>

namespace temper::tuner {
namespace {

using tir::Expr;
using tir::ExprKind;

// Adds `factor` times the expression to `dim`.
void AddTo(const Expr& e, int64_t factor, const std::vector<int>& axis_of_var, IndexDim& dim) {
  switch (e->kind()) {
    case ExprKind::kIntImm:
      dim.constant += factor * e->int_value();
      return;
    case ExprKind::kVar: {
      auto id = static_cast<size_t>(e->var_id());
      if (id < axis_of_var.size() && axis_of_var[id] >= 0) {
        dim.coefficients[axis_of_var[id]] += factor;
        return;
      }
      break;
    }
    case ExprKind::kAdd:
    case ExprKind::kSub:
      AddTo(e->operand(0), factor, axis_of_var, dim);
      AddTo(e->operand(1), e->kind() == ExprKind::kAdd ? factor : -factor, axis_of_var, dim);
      return;
    case ExprKind::kMul:
      for (int i = 0; i < 2; ++i) {
        if (e->operand(i)->kind() == ExprKind::kIntImm) {
          AddTo(e->operand(1 - i), factor * e->operand(i)->int_value(), axis_of_var, dim);
          return;
        }
      }
      break;
    default:
      break;
  }
  dim.affine = false;
  // The axes in it still matter: mark them.
  tir::Visit(e, [&](const Expr& node) {
    if (node->kind() == ExprKind::kVar) {
      auto id = static_cast<size_t>(node->var_id());
      if (id < axis_of_var.size() && axis_of_var[id] >= 0) dim.coefficients[axis_of_var[id]] += 1;
    }
    return true;
  });
}

bool SameRead(const Read& a, const Read& b) {
  if (a.tensor != b.tensor) return false;
  for (size_t d = 0; d < a.dims.size(); ++d) {
    if (!a.dims[d].affine || !b.dims[d].affine || a.dims[d].constant != b.dims[d].constant ||
        a.dims[d].coefficients != b.dims[d].coefficients) {
      return false;
    }
  }
  return true;
}

Read MakeRead(const te::Program& program, const Expr& load, const std::vector<int>& axis_of_var,
              int axes) {
  Read read;
  read.tensor = load->buffer();
  read.strides.assign(axes, 0);
  const te::Tensor& tensor = program.tensors[read.tensor];
  int64_t stride = 1;
  auto indices = load->indices();
  read.dims.resize(indices.size());
  for (size_t i = indices.size(); i-- > 0;) {
    IndexDim& dim = read.dims[i];
    dim.coefficients.assign(axes, 0);
    AddTo(indices[i], 1, axis_of_var, dim);
    for (int a = 0; a < axes; ++a) {
      if (dim.coefficients[a] == 0 || read.strides[a] == Read::kIrregular) continue;
      if (dim.affine) {
        read.strides[a] += dim.coefficients[a] * stride;
      } else {
        read.strides[a] = Read::kIrregular;
      }
    }
    int64_t extent = tensor.shape[i];
    if (!tensor.halo_before.empty()) extent += tensor.halo_before[i] + tensor.halo_after[i];
    stride *= extent;
  }
  return read;
}

}  // namespace

int IndexDim::Identity() const {
  if (!affine || constant != 0) return -1;
  int found = -1;
  for (size_t a = 0; a < coefficients.size(); ++a) {
    if (coefficients[a] == 0) continue;
    if (coefficients[a] != 1 || found >= 0) return -1;
    found = static_cast<int>(a);
  }
  return found;
}

bool IndexDim::IsConstant() const {
  return affine &&
         std::all_of(coefficients.begin(), coefficients.end(), [](int64_t c) { return c == 0; });
}

std::vector<StageInfo> Analyze(const te::Program& program) {
  std::vector<StageInfo> info(program.stages.size());
  std::vector<int> axis_of_var(program.next_var, -1);
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const te::Stage& stage = program.stages[s];
    StageInfo& out = info[s];
    int axes = stage.axis_count();
    for (int a = 0; a < axes; ++a) {
      const te::Axis& axis = stage.axis(a);
      axis_of_var[axis.var->var_id()] = a;
      (stage.IsReduction(a) ? out.reduction : out.points) *= axis.extent;
    }
    out.reduces = stage.combiner != te::Combiner::kNone;
    tir::Visit(stage.body, [&](const Expr& e) {
      if (e->kind() == ExprKind::kCall ||
          (e->kind() == ExprKind::kDiv && IsFloat(e->type().dtype))) {
        out.calls = true;
      }
      if (e->kind() == ExprKind::kLoad) {
        Read read = MakeRead(program, e, axis_of_var, axes);
        bool known = std::any_of(out.reads.begin(), out.reads.end(),
                                 [&](const Read& r) { return SameRead(r, read); });
        if (!known) out.reads.push_back(std::move(read));
      }
      return true;
    });
    for (const Read& read : out.reads) {
      int producer = program.tensors[read.tensor].producer;
      if (producer < 0) continue;
      auto& consumers = info[producer].consumers;
      if (consumers.empty() || consumers.back() != static_cast<int>(s)) {
        consumers.push_back(static_cast<int>(s));
      }
    }
    for (int a = 0; a < axes; ++a) axis_of_var[stage.axis(a).var->var_id()] = -1;
  }
  for (int tensor : program.outputs) {
    if (program.tensors[tensor].producer >= 0) info[program.tensors[tensor].producer].output = true;
  }
  return info;
}

}  // namespace temper::tuner
