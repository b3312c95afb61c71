// Where a kernel's large constants are when a run of its model comes to the kernel.
//
// The weights of a large model push each other out of the caches between two inferences; those of
// a small one stay in the last level. The same kernel takes different times then, and other
// schedules win: what is measured under the one is never compared with what is under the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace temper {

enum class Constants : uint8_t {
  kCold,  // they come from memory; small ones, which no measurement evicts, count as cold too
  kWarm,  // they stay in the last-level cache
};

constexpr std::string_view Name(Constants constants) {
  return constants == Constants::kWarm ? "warm" : "cold";
}

// Of "cold" and "warm"; nothing of any other text.
constexpr std::optional<Constants> ParseConstants(std::string_view name) {
  if (name == "cold") return Constants::kCold;
  if (name == "warm") return Constants::kWarm;
  return std::nullopt;
}

}  // namespace temper
