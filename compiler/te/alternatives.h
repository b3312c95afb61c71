// Other programs that compute the same workload.
//
// Alternative 0 is the program itself. A schedule says which alternative it schedules; the
// workload's identity stays that of alternative 0. Their list is a function of the program alone.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/te/program.h"

namespace temper::te {

enum class Alternative : int {
  kDirect = 0,
  kWinograd2 = 1,  // F(2x2, 3x3)
  kWinograd4 = 2,  // F(4x4, 3x3)
};

std::string_view Name(Alternative alternative);

// Those that exist for the program, kDirect first.
std::vector<Alternative> AlternativesOf(const Program& program);

// The program of an alternative. FAILED_PRECONDITION where the workload has no such alternative.
Result<Program> MakeAlternative(const Program& program, int alternative);

// The largest difference to the exact result that a right kernel may show, in units of
// eps * sum |a b|, where eps is 2^-23: 32 for direct computation. Winograd's transforms cancel, so
// that their error is larger than that of a plain sum (Lavin and Gray 2015; Barabasz et al. 2020).
double ErrorBound(int alternative);

}  // namespace temper::te
