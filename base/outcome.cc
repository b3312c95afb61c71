#include "base/outcome.h"

#include <array>

namespace temper {
namespace {

constexpr std::array<std::string_view, kOutcomeCount> kNames = {
    "ok",      "illegal_schedule", "build_failed",  "build_timed_out", "wrong_result",
    "crashed", "timed_out",        "out_of_memory", "too_noisy",       "infrastructure"};

}  // namespace

std::string_view OutcomeName(Outcome outcome) {
  auto index = static_cast<size_t>(outcome);
  return index < kNames.size() ? kNames[index] : "unknown";
}

std::optional<Outcome> ParseOutcome(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Outcome>(i);
  }
  return std::nullopt;
}

std::optional<Outcome> OutcomeFromInt(int64_t number) {
  if (number < 0 || number >= kOutcomeCount) return std::nullopt;
  return static_cast<Outcome>(number);
}

bool IsConclusive(Outcome outcome) {
  return outcome != Outcome::kInfrastructure && outcome != Outcome::kTooNoisy;
}

}  // namespace temper
