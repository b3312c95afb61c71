#include "compiler/te/alternatives.h"

#include <fmt/format.h>

#include "compiler/te/winograd.h"

namespace temper::te {

std::string_view Name(Alternative alternative) {
  switch (alternative) {
    case Alternative::kDirect:
      return "direct";
    case Alternative::kWinograd2:
      return "winograd2";
    case Alternative::kWinograd4:
      return "winograd4";
  }
  return "unknown";
}

std::vector<Alternative> AlternativesOf(const Program& program) {
  if (!HasWinograd(program)) return {Alternative::kDirect};
  return {Alternative::kDirect, Alternative::kWinograd2, Alternative::kWinograd4};
}

Result<Program> MakeAlternative(const Program& program, int alternative) {
  switch (static_cast<Alternative>(alternative)) {
    case Alternative::kDirect:
      return program;
    case Alternative::kWinograd2:
      return MakeWinograd(program, 2);
    case Alternative::kWinograd4:
      return MakeWinograd(program, 4);
  }
  return FailedPrecondition(fmt::format("there is no alternative {}", alternative));
}

double ErrorBound(int alternative) {
  switch (static_cast<Alternative>(alternative)) {
    case Alternative::kWinograd2:
      return 128;
    case Alternative::kWinograd4:
      return 1024;
    default:
      return 32;
  }
}

}  // namespace temper::te
