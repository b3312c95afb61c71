// A long sum of products of which there are few results, in sums that lie side by side in a vector.
//
//   before  y[n]       = sum_k x[k] * w[k, n]                      w constant
//   after   y.lanes[n, l] = sum_q x[q * L + l] * w[q * L + l, n]   L of 16, 8, 4 that divides k's
//   extent
//           y[n]       = sum_l y.lanes[n, l]
//
// With results along the vector ten of them fill ten lanes of sixteen, and one multiply-add waits
// for the one before. So there are ten whole vectors under way, and the weights take no padding.
#pragma once

#include "compiler/te/program.h"

namespace temper::te {

// Whether some stage of the program is such a sum in float32: at most 64 results of at least 64
// products, one operand contiguous along the sum, the other constant.
bool HasLaneSums(const Program& program);

// The first such stage in lanes.
Result<Program> MakeLaneSums(const Program& program);

}  // namespace temper::te
