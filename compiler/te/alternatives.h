// Other programs that compute the same workload.
//
// Alternative 0 is the program itself. A schedule says which alternative it schedules; the
// workload's identity stays that of alternative 0. Their list is a function of the program alone.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/te/program.h"

namespace temper::te {

enum class Alternative : int {
  kDirect = 0,
  kWinograd2 = 1,  // F(2x2, 3x3)
  kWinograd4 = 2,  // F(4x4, 3x3)
  kBlocks = 3,     // a huge reduction in blocks (blocks.h), which only several threads gain by
  kGathered = 4,   // a convolution over short rows as a product over all pixels (gathered.h), which
                   // pays where registers are few
  kLaneSums = 5,   // few long sums of products, a vector of partial sums each (lane_sums.h)
  kLastColumn = 6,  // a product whose rows are vectors and a column more (last_column.h)
};

std::string_view Name(Alternative alternative);

// Which rounding error a model's kernels may show, from the least: the user's choice, and a part of
// a record's key.
enum class Numerics : int {
  kStrict = 0,    // "strict": direct computation alone
  kBalanced = 1,  // "balanced": and F(2x2)
  kFast = 2,      // "fast": and F(4x4)
};
inline constexpr Numerics kDefaultNumerics = Numerics::kFast;
inline constexpr Numerics kAllNumerics[] = {Numerics::kStrict, Numerics::kBalanced,
                                            Numerics::kFast};

std::string_view Name(Numerics numerics);
std::optional<Numerics> ParseNumerics(std::string_view name);

// The largest difference to the exact result that it allows, in the units of ErrorBound(int).
double ErrorBound(Numerics numerics);
// The strictest that allows the alternative.
Numerics NumericsOf(int alternative);

// Those that exist for the program and are allowed, kDirect first.
std::vector<Alternative> AlternativesOf(const Program& program,
                                        Numerics numerics = kDefaultNumerics);

// The program of an alternative. FAILED_PRECONDITION where the workload has no such alternative.
Result<Program> MakeAlternative(const Program& program, int alternative);

// The largest difference to the exact result that a right kernel may show, in units of
// eps * sum |a b|, where eps is 2^-23: 32 for direct computation. Winograd's transforms cancel, so
// that their error is larger than that of a plain sum (Lavin and Gray 2015; Barabasz et al. 2020).
double ErrorBound(int alternative);

}  // namespace temper::te
