// Sums that are kept in the accumulator's type and then are the result: of matrix products, and of
// convolutions, transposed or not, which have a bias.
#pragma once

#include "compiler/ops/emitter.h"

namespace temper::ops {

// Defines output 0 as the sum of `body`, whose type is the accumulator's of input 0, over
// `reduced`.
void DefineSum(Emitter& e, const graph::Shape& reduced, const ReduceBody& body);

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
