// What the schedules of one workload say of those of another.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tuner/space/space.h"

namespace temper::tuner {

// The canonical text of a workload (te/canonical.h) with its numbers left out: workloads that
// differ in their sizes only are of one family.
std::string FamilyOf(std::string_view canonical_text);

// The decision of `to` that is most like `decision` of `from`: knobs of the same name and nest get
// the nearest value. None where the two have no knob in common.
std::optional<Decision> Translate(const Space& from, const Decision& decision, const Space& to);

}  // namespace temper::tuner
