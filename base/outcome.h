// What can become of a candidate: a closed list, the same in the worker, on the wire and in the
// database. Numbers and names are stored: never change or reuse one, only append.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace temper {

enum class Outcome : uint8_t {
  kOk = 0,
  kIllegalSchedule = 1,  // refused by the legality check or by lowering
  kBuildFailed = 2,      // refused by the code generator, such as a tile that spills
  kBuildTimedOut = 3,
  kWrongResult = 4,  // differs from the reference output
  kCrashed = 5,      // ended by a signal
  kTimedOut = 6,     // ran past its limit
  kOutOfMemory = 7,
  kTooNoisy = 8,        // its times scatter too much to mean anything
  kInfrastructure = 9,  // no fault of the candidate: worker lost, sandbox not set up
};
inline constexpr int kOutcomeCount = 10;

// "ok", "illegal_schedule", "build_failed", ...
std::string_view OutcomeName(Outcome outcome);
std::optional<Outcome> ParseOutcome(std::string_view name);
// The outcome of that stored number, if there is one.
std::optional<Outcome> OutcomeFromInt(int64_t number);

// Whether the same candidate would have the same outcome again, so that trying it again is waste.
// Infrastructure faults and noise say nothing about the candidate.
bool IsConclusive(Outcome outcome);

// The exit status of a program of ours that got no more memory.
inline constexpr int kOutOfMemoryExit = 77;

}  // namespace temper
