#include "tests/conformance/reasons.h"

#include <algorithm>
#include <string_view>

namespace temper::conformance {
namespace {

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

bool Uses(const Case& test, std::string_view part) {
  return std::any_of(test.operators.begin(), test.operators.end(),
                     [&](const std::string& op) { return Has(op, part); });
}

}  // namespace

std::string ReasonOf(const Case& test, const std::string& message) {
  if (Uses(test, "ai.onnx.preview.training") || Has(message, "training")) return "training";
  if (Uses(test, "StringNormalizer") || Has(message, "string")) return "strings";
  if (Uses(test, "Random") || Uses(test, "Bernoulli") || Uses(test, "Multinomial")) {
    return "random numbers";
  }
  if (Uses(test, "Optional") || Has(message, "an optional;")) return "optionals";
  if (Uses(test, "Sequence") || Has(message, "a sequence;")) return "sequences";
  // "...not supported: X (node 'a', ...), Y (node ...)": the first.
  constexpr std::string_view kUnknown[] = {"an operator is not supported: ",
                                           "some operators are not supported: "};
  for (std::string_view start : kUnknown) {
    if (!message.starts_with(start)) continue;
    const std::string rest = message.substr(start.size());
    return "operator " + rest.substr(0, rest.find(' '));
  }
  return "other";
}

}  // namespace temper::conformance
