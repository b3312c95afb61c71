#include "compiler/te/alternatives.h"

#include <fmt/format.h>

#include "compiler/te/blocks.h"
#include "compiler/te/gathered.h"
#include "compiler/te/lane_sums.h"
#include "compiler/te/last_column.h"
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
    case Alternative::kBlocks:
      return "blocks";
    case Alternative::kGathered:
      return "gathered";
    case Alternative::kLaneSums:
      return "lane_sums";
    case Alternative::kLastColumn:
      return "last_column";
  }
  return "unknown";
}

std::string_view Name(Numerics numerics) {
  switch (numerics) {
    case Numerics::kStrict:
      return "strict";
    case Numerics::kBalanced:
      return "balanced";
    case Numerics::kFast:
      return "fast";
  }
  return "unknown";
}

std::optional<Numerics> ParseNumerics(std::string_view name) {
  for (Numerics n : kAllNumerics) {
    if (Name(n) == name) return n;
  }
  return std::nullopt;
}

double ErrorBound(Numerics numerics) {
  switch (numerics) {
    case Numerics::kStrict:
      return ErrorBound(static_cast<int>(Alternative::kDirect));
    case Numerics::kBalanced:
      return ErrorBound(static_cast<int>(Alternative::kWinograd2));
    case Numerics::kFast:
      return ErrorBound(static_cast<int>(Alternative::kWinograd4));
  }
  return 0;
}

Numerics NumericsOf(int alternative) {
  for (Numerics n : kAllNumerics) {
    if (ErrorBound(alternative) <= ErrorBound(n)) return n;
  }
  return Numerics::kFast;
}

std::vector<Alternative> AlternativesOf(const Program& program, Numerics numerics) {
  std::vector<Alternative> alternatives = {Alternative::kDirect};
  if (HasBlocks(program)) alternatives.push_back(Alternative::kBlocks);
  if (HasGathered(program)) alternatives.push_back(Alternative::kGathered);
  if (HasLaneSums(program)) alternatives.push_back(Alternative::kLaneSums);
  if (HasLastColumn(program)) alternatives.push_back(Alternative::kLastColumn);
  if (!HasWinograd(program)) return alternatives;
  for (Alternative a : {Alternative::kWinograd2, Alternative::kWinograd4}) {
    if (NumericsOf(static_cast<int>(a)) <= numerics) alternatives.push_back(a);
  }
  return alternatives;
}

Result<Program> MakeAlternative(const Program& program, int alternative) {
  switch (static_cast<Alternative>(alternative)) {
    case Alternative::kDirect:
      return program;
    case Alternative::kWinograd2:
      return MakeWinograd(program, 2);
    case Alternative::kWinograd4:
      return MakeWinograd(program, 4);
    case Alternative::kBlocks:
      return MakeBlocks(program);
    case Alternative::kGathered:
      return MakeGathered(program);
    case Alternative::kLaneSums:
      return MakeLaneSums(program);
    case Alternative::kLastColumn:
      return MakeLastColumn(program);
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
