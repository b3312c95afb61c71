// Why a case is refused, in a word that tables can count by.
#pragma once

#include <string>

#include "tests/conformance/case.h"

namespace temper::conformance {

// "training", "strings", "random numbers", "sequences", "optionals": what the compiler does not
// mean to do. "operator X": not yet known. "other": the message alone says it.
std::string ReasonOf(const Case& test, const std::string& message);

}  // namespace temper::conformance
