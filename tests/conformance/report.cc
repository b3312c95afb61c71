#include "tests/conformance/report.h"

#include <fmt/format.h>

#include <set>
#include <sstream>

#include "base/file.h"
#include "tests/conformance/reasons.h"

namespace temper::conformance {
namespace {

constexpr std::string_view kHeader =
    "# The conformance cases that the compiler refuses: name | reason | what it says.\n"
    "# Written by `conformance --update`; all others pass (README.md).\n";

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '|') c = ' ';
  }
  return text;
}

std::string GroupOf(const std::string& name) { return name.substr(0, name.find('/')); }

// How the cases of one operator or one folder came out.
struct Count {
  int passed = 0;
  int fixed = 0;  // of these, with inputs fixed when compiling
  int all = 0;
  std::map<std::string, int> refused;  // by reason

  void Add(const Case& test, const Outcome& outcome) {
    ++all;
    if (outcome.verdict == Verdict::kPass) {
      ++passed;
      if (!outcome.message.empty()) ++fixed;
    }
    if (outcome.verdict == Verdict::kRefused) ++refused[ReasonOf(test, outcome.message)];
  }
  std::string Reasons() const {
    std::string text;
    for (const auto& [reason, count] : refused) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, reason);
    }
    return text;
  }
};

std::map<std::string, Count> ByFolder(const std::vector<Case>& cases,
                                      const std::vector<Outcome>& outcomes) {
  std::map<std::string, Count> counts;
  for (size_t i = 0; i < cases.size(); ++i) {
    counts[GroupOf(cases[i].name)].Add(cases[i], outcomes[i]);
  }
  return counts;
}

// A case that spells an operator out in others is named after it: "test_celu_expanded".
std::map<std::string, std::string> OperatorOf(const std::vector<Case>& cases) {
  std::map<std::string, std::string> operators;
  for (const Case& test : cases) operators[test.name] = test.op;
  for (const Case& test : cases) {
    const size_t at = test.name.find("_expanded");
    if (at == std::string::npos) continue;
    const auto base = operators.find(test.name.substr(0, at));
    if (base != operators.end()) operators[test.name] = base->second;
  }
  return operators;
}

}  // namespace

Result<Expected> ReadExpected(const std::string& path) {
  TEMPER_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  Expected expected;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t first = line.find(" | ");
    const size_t second = first == std::string::npos ? first : line.find(" | ", first + 3);
    if (second == std::string::npos) {
      return InvalidArgument(fmt::format("{}: expected 'name | reason | message': {}", path, line));
    }
    expected[line.substr(0, first)] = line.substr(first + 3, second - first - 3);
  }
  return expected;
}

std::string WriteExpected(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes) {
  std::string text(kHeader);
  for (size_t i = 0; i < cases.size(); ++i) {
    if (outcomes[i].verdict != Verdict::kRefused) continue;
    text += fmt::format("{} | {} | {}\n", cases[i].name, ReasonOf(cases[i], outcomes[i].message),
                        OneLine(outcomes[i].message));
  }
  return text;
}

std::vector<std::string> Differences(const std::vector<Case>& cases,
                                     const std::vector<Outcome>& outcomes,
                                     const Expected& expected) {
  std::vector<std::string> lines;
  std::set<std::string> names;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& test = cases[i];
    const Outcome& outcome = outcomes[i];
    names.insert(test.name);
    const auto at = expected.find(test.name);
    switch (outcome.verdict) {
      case Verdict::kPass:
        if (at == expected.end()) break;
        lines.push_back(fmt::format("{} passes, but is listed as refused", test.name));
        break;
      case Verdict::kRefused: {
        const std::string reason = ReasonOf(test, outcome.message);
        if (at != expected.end() && at->second == reason) break;
        lines.push_back(fmt::format("{} is refused ({}): {}", test.name, reason, outcome.message));
        break;
      }
      case Verdict::kWrong:
        lines.push_back(fmt::format("{} is wrong: {}", test.name, outcome.message));
        break;
      case Verdict::kFault:
        lines.push_back(fmt::format("{} is a fault: {}", test.name, outcome.message));
        break;
    }
  }
  for (const auto& [name, reason] : expected) {
    if (names.count(name) == 0) lines.push_back(name + " is listed, but is no case");
  }
  return lines;
}

std::string Summary(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes) {
  std::string text;
  for (const auto& [folder, count] : ByFolder(cases, outcomes)) {
    text += fmt::format("{:18} {:4} of {:4} pass ({} with fixed inputs); refused: {}\n", folder,
                        count.passed, count.all, count.fixed,
                        count.refused.empty() ? "none" : count.Reasons());
  }
  return text;
}

std::string OperatorsPage(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes) {
  std::string text =
      "# Operators\n\n"
      "What ONNX's own test cases say of the compiler. Written by `conformance --update`, checked\n"
      "by `./test` (tests/conformance/README.md). A case that does not pass is refused with a\n"
      "message that names the node and the reason; tests/conformance/expected.txt lists them.\n\n"
      "*Fixed* counts the cases among those that pass where an input decides a shape and was given "
      "its\n"
      "value when compiling (`--value`); compiled shapes are static.\n\n"
      "NonZero, Compress, Unique and NonMaxSuppression give what only the run knows the extents "
      "of. It\n"
      "may leave the model; nodes may read it where at most 255 elements or rows are possible, and "
      "are\n"
      "compiled for each number of them. Else the message names both nodes.\n\n"
      "| cases | pass | fixed | of | refused |\n| --- | --- | --- | --- | --- |\n";
  for (const auto& [folder, count] : ByFolder(cases, outcomes)) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", folder, count.passed, count.fixed,
                        count.all, count.Reasons());
  }
  text +=
      "\n## By operator\n\nThe cases of folder `node`, the spelled-out forms of an operator among\n"
      "its own.\n\n| operator | pass | fixed | of | refused |\n| --- | --- | --- | --- | --- |\n";
  const auto operators = OperatorOf(cases);
  std::map<std::string, Count> counts;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (GroupOf(cases[i].name) != "node") continue;
    counts[operators.at(cases[i].name)].Add(cases[i], outcomes[i]);
  }
  for (const auto& [op, count] : counts) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", op, count.passed, count.fixed, count.all,
                        count.Reasons());
  }
  return text;
}

}  // namespace temper::conformance
