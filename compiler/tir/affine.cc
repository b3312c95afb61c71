#include "compiler/tir/affine.h"

#include <algorithm>

#include "compiler/tir/scalar.h"

namespace temper::tir {
namespace {

constexpr int64_t kHuge = int64_t{1} << 52;  // sums of so large bounds cannot overflow

int64_t FloorDivInt(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

bool IsHuge(int64_t value) { return value < -kHuge || value > kHuge; }

Interval Clamp(Interval i) {
  if (IsHuge(i.lo)) i.lo = Interval::kMin;
  if (IsHuge(i.hi)) i.hi = Interval::kMax;
  return i;
}

Interval Plus(Interval a, Interval b) {
  Interval r;
  if (a.lo != Interval::kMin && b.lo != Interval::kMin) r.lo = a.lo + b.lo;
  if (a.hi != Interval::kMax && b.hi != Interval::kMax) r.hi = a.hi + b.hi;
  return Clamp(r);
}

Interval Times(Interval a, int64_t c) {
  if (c == 0) return {0, 0};
  if (IsHuge(c)) return {};
  if (c < 0) {
    Interval n{a.hi == Interval::kMax ? Interval::kMin : -a.hi,
               a.lo == Interval::kMin ? Interval::kMax : -a.lo};
    return Times(n, -c);
  }
  Interval r;
  if (a.lo != Interval::kMin && a.lo > -kHuge / c) r.lo = a.lo * c;
  if (a.hi != Interval::kMax && a.hi < kHuge / c) r.hi = a.hi * c;
  return r;
}

bool IsIndex(const Expr& e) { return e->type() == kIndex; }

}  // namespace

void Bounds::Set(int var, Interval interval) {
  auto id = static_cast<size_t>(var);
  if (id >= known_.size()) known_.resize(id + 1);
  known_[id] = Clamp(interval);
}

Interval Bounds::Get(int var) const {
  auto id = static_cast<size_t>(var);
  return id < known_.size() ? known_[id] : Interval{};
}

Interval Bounds::Of(const Expr& e) const {
  if (!IsIndex(e)) return {};
  switch (e->kind()) {
    case ExprKind::kIntImm:
      return Clamp({e->int_value(), e->int_value()});
    case ExprKind::kVar:
      return Get(e->var_id());
    case ExprKind::kAdd:
      return Plus(Of(e->operand(0)), Of(e->operand(1)));
    case ExprKind::kSub:
      return Plus(Of(e->operand(0)), Times(Of(e->operand(1)), -1));
    case ExprKind::kMul: {
      Interval a = Of(e->operand(0)), b = Of(e->operand(1));
      if (b.lo == b.hi) return Times(a, b.lo);
      if (a.lo == a.hi) return Times(b, a.lo);
      return {};
    }
    case ExprKind::kFloorDiv: {
      Interval b = Of(e->operand(1));
      if (b.lo != b.hi || b.lo <= 0) return {};
      Interval a = Of(e->operand(0));
      if (a.lo != Interval::kMin) a.lo = FloorDivInt(a.lo, b.lo);
      if (a.hi != Interval::kMax) a.hi = FloorDivInt(a.hi, b.lo);
      return a;
    }
    case ExprKind::kFloorMod: {
      Interval b = Of(e->operand(1));
      if (b.lo != b.hi || b.lo <= 0) return {};
      Interval a = Of(e->operand(0));
      if (a.lo >= 0 && a.hi < b.lo) return a;
      return {0, b.lo - 1};
    }
    case ExprKind::kMin: {
      Interval a = Of(e->operand(0)), b = Of(e->operand(1));
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    }
    case ExprKind::kMax: {
      Interval a = Of(e->operand(0)), b = Of(e->operand(1));
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
    case ExprKind::kSelect: {
      Interval a = Of(e->operand(1)), b = Of(e->operand(2));
      return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
    default:
      return {};
  }
}

void Affine::Add(const Expr& atom, int64_t coefficient) {
  if (coefficient == 0) return;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (Equal(terms[i].atom, atom)) {
      terms[i].coefficient = AddWrap(terms[i].coefficient, coefficient);
      if (terms[i].coefficient == 0) terms.erase(terms.begin() + static_cast<ptrdiff_t>(i));
      return;
    }
  }
  if (terms.empty()) terms.reserve(4);  // few have more: one allocation each
  terms.push_back({atom, coefficient});
}

void Affine::Scale(int64_t factor) {
  if (factor == 0) terms.clear();
  for (Term& t : terms) t.coefficient = MulWrap(t.coefficient, factor);
  std::erase_if(terms, [](const Term& t) { return t.coefficient == 0; });
  constant = MulWrap(constant, factor);
}

void Affine::Add(const Affine& other, int64_t factor) {
  for (const Term& t : other.terms) Add(t.atom, MulWrap(t.coefficient, factor));
  constant = AddWrap(constant, MulWrap(other.constant, factor));
}

int64_t Affine::CoefficientOf(int var) const {
  for (const Term& t : terms) {
    if (t.atom->kind() == ExprKind::kVar && t.atom->var_id() == var) return t.coefficient;
  }
  return 0;
}

Expr Affine::ToExpr() const {
  Expr sum;
  for (const Term& t : terms) {
    Expr product = t.coefficient == 1 ? t.atom : t.atom * Index(t.coefficient);
    sum = sum ? sum + product : product;
  }
  if (!sum) return Index(constant);
  return constant == 0 ? sum : sum + Index(constant);
}

Interval Affine::Of(const Bounds& bounds) const {
  Interval r = Clamp({constant, constant});
  for (const Term& t : terms) r = Plus(r, Times(bounds.Of(t.atom), t.coefficient));
  return r;
}

namespace {

// Splits `a` into q * divisor + rest where every term of q's part is a multiple of the divisor.
void SplitMultiples(const Affine& a, int64_t divisor, Affine* quotient, Affine* rest) {
  for (const Affine::Term& t : a.terms) {
    if (t.coefficient % divisor == 0) {
      quotient->terms.push_back({t.atom, t.coefficient / divisor});
    } else {
      rest->terms.push_back(t);
    }
  }
  quotient->constant = FloorDivInt(a.constant, divisor);
  rest->constant = SubWrap(a.constant, MulWrap(quotient->constant, divisor));
}

}  // namespace

const Expr* Simplifier::Mapped(const Expr& var) const {
  auto id = static_cast<size_t>(var->var_id());
  return id < map_.size() && map_[id] ? &map_[id] : nullptr;
}

Affine Simplifier::QuotientOrRemainder(const Expr& e, bool quotient_wanted) {
  Affine result;
  Affine a = ToAffine(e->operand(0));
  Affine d = ToAffine(e->operand(1));
  if (d.IsConstant() && d.constant > 0) {
    Affine quotient, rest;
    SplitMultiples(a, d.constant, &quotient, &rest);
    Interval r = rest.Of(bounds_);
    if (r.bounded() && FloorDivInt(r.lo, d.constant) == FloorDivInt(r.hi, d.constant)) {
      int64_t carry = FloorDivInt(r.lo, d.constant);
      if (quotient_wanted) {
        quotient.constant = AddWrap(quotient.constant, carry);
        return quotient;
      }
      rest.constant = SubWrap(rest.constant, MulWrap(carry, d.constant));
      return rest;
    }
    // The multiples leave the quotient all the same: (16 a + r) / 16 = a + r / 16.
    Expr divisor = Index(d.constant);
    if (quotient_wanted) {
      result = std::move(quotient);
      result.Add(FloorDiv(rest.ToExpr(), divisor), 1);
    } else {
      result.Add(FloorMod(rest.ToExpr(), divisor), 1);
    }
    return result;
  }
  Expr x = a.ToExpr(), y = d.ToExpr();
  result.Add(quotient_wanted ? FloorDiv(x, y) : FloorMod(x, y), 1);
  return result;
}

namespace {

// Whether the values may be too large for differences to say which is less: elements of a tensor
// wrap, which indices never do unless a constant among them is huge.
bool MayWrap(const Affine& a, const Bounds& bounds) {
  if (a.Of(bounds).bounded()) return false;
  bool may = IsHuge(a.constant);
  for (const Affine::Term& term : a.terms) {
    may |= IsHuge(term.coefficient);
    Visit(term.atom, [&](const Expr& e) { return !(may |= e->kind() == ExprKind::kLoad); });
  }
  return may;
}

}  // namespace

Affine Simplifier::MinOrMax(const Expr& e) {
  bool is_min = e->kind() == ExprKind::kMin;
  Affine a = ToAffine(e->operand(0)), b = ToAffine(e->operand(1));
  Affine difference = a;
  difference.Add(b, -1);
  const bool known = difference.IsConstant() && difference.constant == 0;
  Interval d = difference.Of(bounds_);
  if (!known && (MayWrap(a, bounds_) || MayWrap(b, bounds_))) d = Interval();
  if (d.hi <= 0) return is_min ? a : b;
  if (d.lo >= 0) return is_min ? b : a;
  Affine result;
  Expr x = a.ToExpr(), y = b.ToExpr();
  result.Add(is_min ? Min(x, y) : Max(x, y), 1);
  return result;
}

Affine Simplifier::OfVar(const Expr& e) {
  if (const Expr* value = Mapped(e)) return Simplifier({}, bounds_).ToAffine(*value);
  Affine r;
  Interval i = bounds_.Get(e->var_id());
  if (i.lo == i.hi) {
    r.constant = i.lo;
  } else {
    r.Add(e, 1);
  }
  return r;
}

Affine Simplifier::ToAffine(const Expr& e) {
  Affine r;
  switch (e->kind()) {
    case ExprKind::kIntImm:
      r.constant = e->int_value();
      return r;
    case ExprKind::kAdd:
    case ExprKind::kSub:
      r = ToAffine(e->operand(0));
      if (e->operand(1)->kind() == ExprKind::kIntImm) {
        int64_t c = e->operand(1)->int_value();
        r.constant = e->kind() == ExprKind::kAdd ? AddWrap(r.constant, c) : SubWrap(r.constant, c);
        return r;
      }
      r.Add(ToAffine(e->operand(1)), e->kind() == ExprKind::kAdd ? 1 : -1);
      return r;
    case ExprKind::kMul: {
      Affine a = ToAffine(e->operand(0)), b = ToAffine(e->operand(1));
      if (b.IsConstant()) {
        a.Scale(b.constant);
        return a;
      }
      if (a.IsConstant()) {
        b.Scale(a.constant);
        return b;
      }
      r.Add(a.ToExpr() * b.ToExpr(), 1);
      return r;
    }
    case ExprKind::kVar:
      if (!Mapped(e)) return OfVar(e);
      [[fallthrough]];
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod: {
      constexpr size_t kMost = 24;  // more would cost more to find than to work out
      for (const Known& known : known_) {
        if (known.node == e.get()) return known.value;
      }
      r = e->kind() == ExprKind::kVar ? OfVar(e)
                                      : QuotientOrRemainder(e, e->kind() == ExprKind::kFloorDiv);
      if (known_.size() < kMost) known_.push_back({e.get(), r});
      return r;
    }
    case ExprKind::kMin:
    case ExprKind::kMax:
      return MinOrMax(e);
    default: {
      Expr s = Simplify(e);
      if (s->kind() == ExprKind::kIntImm) {
        r.constant = s->int_value();
      } else {
        r.Add(s, 1);
      }
      return r;
    }
  }
}

Expr Simplifier::Comparison(const Expr& e) {
  Affine a = ToAffine(e->operand(0)), b = ToAffine(e->operand(1));
  Affine difference = a;
  difference.Add(b, -1);
  Interval d = difference.Of(bounds_);
  const bool ordered = e->kind() == ExprKind::kLt || e->kind() == ExprKind::kLe;
  const bool equal = difference.IsConstant() && difference.constant == 0;
  if (ordered && !equal && (MayWrap(a, bounds_) || MayWrap(b, bounds_))) d = Interval();
  switch (e->kind()) {
    case ExprKind::kLt:
      if (d.hi != Interval::kMax && d.hi < 0) return Bool(true);
      if (d.lo != Interval::kMin && d.lo >= 0) return Bool(false);
      break;
    case ExprKind::kLe:
      if (d.hi != Interval::kMax && d.hi <= 0) return Bool(true);
      if (d.lo != Interval::kMin && d.lo > 0) return Bool(false);
      break;
    case ExprKind::kEq:
    case ExprKind::kNe:
      if (d.lo == 0 && d.hi == 0) return Bool(e->kind() == ExprKind::kEq);
      if ((d.lo != Interval::kMin && d.lo > 0) || (d.hi != Interval::kMax && d.hi < 0)) {
        return Bool(e->kind() == ExprKind::kNe);
      }
      break;
    default:
      break;
  }
  return Binary(e->kind(), a.ToExpr(), b.ToExpr());
}

Expr Simplifier::Simplify(const Expr& e) {
  switch (e->kind()) {
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
      return e;
    case ExprKind::kVar:
    case ExprKind::kAdd:
    case ExprKind::kSub:
    case ExprKind::kMul:
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
    case ExprKind::kMin:
    case ExprKind::kMax:
      if (IsIndex(e)) return ToAffine(e).ToExpr();
      break;
    case ExprKind::kLt:
    case ExprKind::kLe:
    case ExprKind::kEq:
    case ExprKind::kNe:
      if (IsIndex(e->operand(0))) return Comparison(e);
      break;
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      Expr a = Simplify(e->operand(0)), b = Simplify(e->operand(1));
      if (a.get() == e->operand(0).get() && b.get() == e->operand(1).get()) return e;
      return Binary(e->kind(), a, b);
    }
    case ExprKind::kNot:
      return Not(Simplify(e->operand(0)));
    case ExprKind::kSelect: {
      Expr c = Simplify(e->operand(0));
      if (c->kind() == ExprKind::kIntImm) return Simplify(e->operand(c->int_value() ? 1 : 2));
      return Select(c, Simplify(e->operand(1)), Simplify(e->operand(2)));
    }
    default:
      break;
  }
  if (e->kind() == ExprKind::kVar) {
    const Expr* value = Mapped(e);
    return value ? Simplifier({}, bounds_).Simplify(*value) : e;
  }
  const Expr r = MapOperands(e, [&](const Expr& operand) { return Simplify(operand); });
  if (r->kind() == ExprKind::kLoad && r->has_predicate() && r->predicate()->IsInt(1)) {
    return Load(r->buffer(), r->type().dtype, r->indices());  // surely inside
  }
  return r;
}

Affine ToAffine(const Expr& e, const Bounds& bounds) { return Simplifier({}, bounds).ToAffine(e); }

Expr Simplify(const Expr& e, const Bounds& bounds) { return Simplifier({}, bounds).Simplify(e); }

}  // namespace temper::tir
