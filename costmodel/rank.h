// How well an order was predicted.
#pragma once

#include <span>

namespace temper::costmodel {

// Spearman's rank correlation with mean ranks for ties; 0 for fewer than two values or when
// either side is constant. REQUIRES: equal sizes.
double RankCorrelation(std::span<const double> a, std::span<const double> b);

}  // namespace temper::costmodel
