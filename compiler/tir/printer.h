// Readable text of the loop IR, for people, logs and golden tests. Stable: the same function gives
// the same text everywhere. It is not parsed back.
//
//   func matmul(x: float32[4, 8], y: float32[8, 16] halo [0, 1]..[0, 1], c: float32[4, 16]) {
//     workspace 256 bytes
//     t: float32[4, 16] workspace at 0
//     parallel i in 0..4 {
//       alloc acc: float32[16] register
//       unroll j in 0..2 {
//         acc[ramp(j * 8, 1, 8)] = broadcast(0f, 8)
//       }
//       if (i < 3) {
//         c[i, 0] = x[i, 0]
//       }
//     }
//   }
//
// `lo..hi` is half open. A float is written with as few digits as give it back, with an f behind
// it (d for float64, and the type's name for the narrow ones); integers other than int64 name their
// type. Where two variables or two buffers have the same name, #number follows it.
#pragma once

#include <string>

#include "compiler/tir/stmt.h"

namespace temper::tir {

// REQUIRES: a depth that Verify would accept. `function` names the buffers; without it they are
// b0, b1, ...
std::string ToText(const Expr& e, const Function* function = nullptr);
std::string ToText(const Function& function);

}  // namespace temper::tir
