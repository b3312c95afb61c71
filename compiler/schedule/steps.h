// The structural steps of a schedule, applied to a program.
#pragma once

#include "compiler/schedule/schedule.h"

namespace temper::schedule {

// The program with the stages that the steps add. Refuses a step that names no such tensor or
// stage, packs a tensor that is computed after its reader, or whose blocks do not cover it, or
// splits what is no reduction into parts that are mostly past its end.
//
// kPack of w[n, k] by dims {n/16: (1), k: (0), n%16: (1)}:
//   before  acc[i, j] = sum_k x[i, k] * w[j, k]
//   after   w.pack[a, k, b] = w[a * 16 + b, k] or 0
//           acc[i, j] = sum_k x[i, k] * w.pack[j / 16, k, j % 16]
// kWriteCache of c:
//   before  c[i, j] = sum_k x[i, k] * y[k, j]
//   after   c.cache[i, j] = sum_k x[i, k] * y[k, j];  c[i, j] = c.cache[i, j]
// kSplitReduction of s along k, which has K elements, into P parts:
//   before  s[i] = sum_k body(i, k)
//   after   s.parts[i, p] = sum_q body(i, q * P + p), the identity where q * P + p >= K
//           s[i] = sum_p s.parts[i, p]
// Integers are exact; floating-point sums are taken in another order.
Result<te::Program> ApplySteps(const te::Program& program, const std::vector<Step>& steps);

}  // namespace temper::schedule
