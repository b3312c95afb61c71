// Winograd's minimal filtering for 3x3 convolutions of stride 1, as a program.
//
// Source: A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2015. With m x m
// outputs a tile and r = m + 2:
//
//   before  y[n,h,w,o] = sum_{i,j,c} x[n,h+i,w+j,c] * k[o,c,i,j]
//   after   u[a,b,o,c]   = (G k G^T)[a,b]             a constant, computed before the first run
//           l[a,j,t,c]   = sum_i B[a,i] x[.., m ty + i, m tx + j, c]
//           v[a,b,t,c]   = sum_j l[a,j,t,c] B[b,j]
//           d[a,b,t,o]   = sum_c v[a,b,t,c] * u[a,b,o,c]
//           s[p,b,t,o]   = sum_a A[p,a] d[a,b,t,o]
//           y[n,h,w,o]   = sum_b s[h mod m, b, t, o] A[w mod m, b]
//
// t numbers the tiles: (n * rows + ty) * columns + tx. The short sums over rows of A and B are
// written out, one a value of the leading axis, chosen by comparisons with constants: unrolling
// that axis leaves the one sum.
#pragma once

#include "compiler/te/program.h"

namespace temper::te {

// Whether some stage of the program is such a convolution in float32 with a constant kernel.
bool HasWinograd(const Program& program);

// tile: 2 or 4.
Result<Program> MakeWinograd(const Program& program, int tile);

}  // namespace temper::te
