// Which stages read which.
#pragma once

#include <vector>

#include "compiler/te/program.h"

namespace temper::schedule {

// For each stage, the stages whose bodies read its tensor, ascending, each once.
std::vector<std::vector<int>> ReadersOf(const te::Program& program);

}  // namespace temper::schedule
