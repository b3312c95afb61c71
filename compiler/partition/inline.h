// Merges the elementwise and injective stages of a program.
#pragma once

#include "compiler/te/program.h"

namespace temper::partition {

// A stage without a reduction joins its reader, if all its readers are stages without a reduction
// that have no more elements than it; chains so become one stage, and equal kernels that were
// spelled with different operators come closer to equal programs.
//   before  s[i] = sum_k ..;  b[i] = s[i] + bias[i];  y[i] = max(b[i], 0)
//   after   s[i] = sum_k ..;  y[i] = max(s[i] + bias[i], 0)
// Stages that reductions read (a padded copy, softmax's exponentials) and stages once a row stay.
// A body that would have more than `limit` nodes keeps its parts apart.
te::Program InlinePoints(const te::Program& program, int64_t limit = 512);

}  // namespace temper::partition
