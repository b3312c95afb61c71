// A convolution over few pixels as a matrix product over all of them.
//
//   before  y[n, i, j, o]    = sum_{a, b, c} x[n, 2 i + a, 2 j + b, c] * k[o, c, a, b]
//   after   g[p, a, b, c]    = x[n, 2 i + a, 2 j + b, c]    p = (n * rows + i) * columns + j
//           d[p, o]          = sum_{a, b, c} g[p, a, b, c] * k[o, c, a, b]
//           y[n, i, j, o]    = d[(n * rows + i) * columns + j, o]
//
// Tiles of pixels need not divide a row: rows of seven, in tiles of five, take ten tiles for 49
// pixels instead of fourteen. It costs a copy of the image for each tap, which few pixels and many
// results are worth.
#pragma once

#include "compiler/te/program.h"

namespace temper::te {

// Whether some stage of the program is such a convolution: rows of at most 16 results of at most
// 1024 pixels, at least 64 of each with at least 64 channels under a window, and a constant kernel.
bool HasGathered(const Program& program);

// The first such stage as a matrix product.
Result<Program> MakeGathered(const Program& program);

}  // namespace temper::te
