// What came out, against what is expected, and as tables.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "tests/conformance/case.h"
#include "tests/conformance/run_case.h"

namespace temper::conformance {

// expected.txt: one line a case that is refused, "node/test_adam | training | message"; cases that
// it does not list pass. The message is for people. Lines that start with '#' are comments.
using Expected = std::map<std::string, std::string>;  // name -> reason
Result<Expected> ReadExpected(const std::string& path);
std::string WriteExpected(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes);

// One line for each case that came out otherwise than expected.
std::vector<std::string> Differences(const std::vector<Case>& cases,
                                     const std::vector<Outcome>& outcomes,
                                     const Expected& expected);

// Passed and refused by folder and by reason, for the console.
std::string Summary(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes);

// docs/operators.md.
std::string OperatorsPage(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes);

}  // namespace temper::conformance
