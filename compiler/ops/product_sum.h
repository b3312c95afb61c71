// What convolutions, transposed or not, have in common: a sum of products, then the bias.
#pragma once

#include "compiler/ops/emitter.h"

namespace temper::ops {

// One product: an element of input 0 (or of its padded copy) and one of input 1. Where `inside` is
// given and false, the product is zero.
struct Factors {
  tir::Expr operand, weight;
  tir::Expr inside = {};
};
using FactorsBody = std::function<Factors(const Indices& point, const Indices& reduced)>;

// Defines output 0, whose channels lie at `channel_axis`, as the sum over `reduced` of the products
// plus input 2 of the channel, where there is one. Sums are kept in the accumulator's type.
void DefineProductSum(Emitter& e, int channel_axis, const graph::Shape& reduced,
                      const FactorsBody& factors);

}  // namespace temper::ops
