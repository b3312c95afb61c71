// A program for people to read: logs and `temper inspect`. Never parsed; the form that is parsed is
// CanonicalText.
//
//   program matmul_relu
//     input x: float32[64, 32]
//     constant w: float32[32, 16]
//     acc[i < 64, j < 16] = sum(k < 32) x[i, k] * w[k, j]
//     output y[i < 64, j < 16] = max(acc[i, j], 0f)
#pragma once

#include <string>

#include "compiler/te/program.h"

namespace temper::te {

// REQUIRES: a program that Verify accepts.
std::string ToText(const Program& program);

}  // namespace temper::te
