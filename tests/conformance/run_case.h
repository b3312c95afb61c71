// Runs one case the way that a user would: compiled to a shared object, opened and run by the
// runtime library, compared with the outputs that the case states.
#pragma once

#include <string>

#include "tests/conformance/case.h"

namespace temper::conformance {

enum class Verdict {
  kPass,
  kRefused,  // the compiler says that it cannot, and why
  kWrong,    // a value, shape or type is wrong, or the runtime failed
  kFault,    // a fault of ours: an internal error, a crash, a run without end
};

struct Outcome {
  Verdict verdict = Verdict::kFault;
  std::string message;  // why; for kPass what had to be fixed when compiling, or ""
};

// `temp_folder`: for the compiled model; it exists.
Outcome RunCase(const Case& test, const std::string& temp_folder);

}  // namespace temper::conformance
