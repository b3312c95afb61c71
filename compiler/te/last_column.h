// A matrix product whose rows are whole vectors and one column more.
//
//   before  y[b, i, j]    = sum_k x[b, i, k] * w[b, k, j]                    j < 49
//   after   m[b, i, j]    = sum_k x[b, i, k] * w[b, k, j]                    j < 48
//           c[b, k]       = w[b, k, 48]
//           d[b, i]       = sum_k x[b, i, k] * c[b, k]
//           y[b, i, j]    = m[b, i, j] if j < 48, else d[b, i]
//
// A fourth vector for one column costs what it does for sixteen. As products along k, of which a
// vector holds sixteen, that column costs a sixteenth, and once a row adding up the lanes.
#pragma once

#include "compiler/te/program.h"

namespace temper::te {

// Whether some stage of the program is such a product: 16 n + 1 columns with n from 1 to 6, at
// least 4 rows, sums of 32 to 512 products of float32 in whole vectors of 16, along which the
// rows' operand is contiguous. None of its operands is constant: those are packed.
bool HasLastColumn(const Program& program);

// The first such stage with its last column apart.
Result<Program> MakeLastColumn(const Program& program);

}  // namespace temper::te
