// The identity of a workload.
#pragma once

#include <string>

#include "base/hash.h"
#include "compiler/te/program.h"

namespace temper::te {

// The program's text with tensors, stages and variables renumbered in the order in which the
// outputs reach them (depth first), and without names: equal for programs that differ only in
// names or in the order of independent stages. The same on every platform. It can be parsed.
std::string CanonicalText(const Program& program);

// SHA-256 of CanonicalText.
Hash WorkloadHash(const Program& program);

// The program of a canonical text, with generated names; verified. Every byte is hostile: depth,
// counts and sizes are bounded. The message names the line.
Result<Program> ParseProgram(const std::string& text);

// The program in canonical order (inputs aside, whose order is the argument order and part of
// the identity). Schedules refer to stages and axes by number, so they are made for, and applied
// to, canonical programs.
Program Canonicalize(const Program& program);

}  // namespace temper::te
