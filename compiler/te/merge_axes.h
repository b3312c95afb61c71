// Axes that every stage walks together become one.
//
//   before  x[56, 56, 64], w[256, 64]:  y[i, j, o] = sum_c x[i, j, c] * w[o, c]
//   after   x[3136, 64],   w[256, 64]:  y[p, o]    = sum_c x[p, c] * w[o, c]
//
// The memory stays what it was: dimensions are merged where a tensor has no halo in them and all
// stages that read it index them side by side, so that neither quotients nor remainders appear. A
// convolution of 1x1 becomes a matrix product over all pixels, whose tiles need not divide a row.
#pragma once

#include "compiler/te/program.h"

namespace temper::te {

// REQUIRES: Verify(program) is OK. Axes of extent 1 stay as they are.
Program MergeAxes(const Program& program);

}  // namespace temper::te
