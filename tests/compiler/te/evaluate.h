// What a program computes on seeded inputs, to compare it with what became of it.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/te/program.h"

namespace temper::te {

// Of a tensor, its halo included.
int64_t Elements(const Tensor& t);

// The outputs' bytes, each operation rounded as its type says. Inputs are normal float32 numbers,
// or of other types random bytes. A failure is a failure of the test.
std::vector<std::vector<uint8_t>> Evaluate(const Program& p);

}  // namespace temper::te
