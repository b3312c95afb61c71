#include "compiler/codegen/affine.h"

#include <algorithm>

namespace temper::codegen {
namespace {

using tir::Expr;
using tir::ExprKind;

// Adds `e * scale` to `form`.
void Accumulate(const Expr& e, int64_t scale, const VariableForm& variable, LinearForm* form) {
  if (scale == 0) return;
  switch (e->kind()) {
    case ExprKind::kIntImm:
      form->constant += scale * e->int_value();
      return;
    case ExprKind::kVar:
      if (const LinearForm* known = variable(e->var_id())) {
        form->Add(*known, scale);
      } else {
        form->Add(e, scale);
      }
      return;
    case ExprKind::kAdd:
      Accumulate(e->operand(0), scale, variable, form);
      Accumulate(e->operand(1), scale, variable, form);
      return;
    case ExprKind::kSub:
      Accumulate(e->operand(0), scale, variable, form);
      Accumulate(e->operand(1), -scale, variable, form);
      return;
    case ExprKind::kMul: {
      LinearForm a = Linearize(e->operand(0), variable);
      LinearForm b = Linearize(e->operand(1), variable);
      if (b.IsConstant()) {
        form->Add(a, scale * b.constant);
      } else if (a.IsConstant()) {
        form->Add(b, scale * a.constant);
      } else {
        form->Add(e, scale);
      }
      return;
    }
    default:
      form->Add(e, scale);
  }
}

}  // namespace

bool SameTerms(const LinearForm& a, const LinearForm& b) {
  return a.terms.size() == b.terms.size() &&
         std::all_of(a.terms.begin(), a.terms.end(), [&](const LinearTerm& x) {
           return std::any_of(b.terms.begin(), b.terms.end(), [&](const LinearTerm& y) {
             return x.coefficient == y.coefficient && tir::Equal(x.atom, y.atom);
           });
         });
}

LinearForm Linearize(const Expr& index, const VariableForm& variable) {
  LinearForm form;
  // Index arithmetic is int64; narrower integers wrap, so they are atoms.
  if (index->type().dtype != DType::kInt64) {
    form.Add(index, 1);
  } else {
    Accumulate(index, 1, variable, &form);
  }
  return form;
}

bool LinearizeLanes(const Expr& index, const VariableForm& variable, LinearForm* first,
                    int64_t* lane_step) {
  *lane_step = 0;
  if (index->lanes() == 1) {
    *first = Linearize(index, variable);
    return true;
  }
  switch (index->kind()) {
    case ExprKind::kBroadcast:
      *first = Linearize(index->operand(0), variable);
      return true;
    case ExprKind::kRamp:
      *first = Linearize(index->operand(0), variable);
      *lane_step = index->stride();
      return true;
    case ExprKind::kAdd:
    case ExprKind::kSub: {
      LinearForm b;
      int64_t b_step;
      if (!LinearizeLanes(index->operand(0), variable, first, lane_step) ||
          !LinearizeLanes(index->operand(1), variable, &b, &b_step)) {
        return false;
      }
      int64_t sign = index->kind() == ExprKind::kAdd ? 1 : -1;
      first->Add(b, sign);
      *lane_step += sign * b_step;
      return true;
    }
    case ExprKind::kMul: {
      LinearForm a, b;
      int64_t a_step, b_step;
      if (!LinearizeLanes(index->operand(0), variable, &a, &a_step) ||
          !LinearizeLanes(index->operand(1), variable, &b, &b_step)) {
        return false;
      }
      if (!(b.IsConstant() && b_step == 0)) {
        std::swap(a, b);
        std::swap(a_step, b_step);
      }
      if (!(b.IsConstant() && b_step == 0)) return false;
      *first = LinearForm{};
      first->Add(a, b.constant);
      *lane_step = a_step * b.constant;
      return true;
    }
    default:
      return false;
  }
}

}  // namespace temper::codegen
