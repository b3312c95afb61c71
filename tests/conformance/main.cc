// conformance: runs ONNX's own tests and ours through the compiler and the runtime.
//
//   conformance --source DIR          all cases, against expected.txt; exit 1 if one differs
//     --update                        writes expected.txt and docs/operators.md anew
//     --only PART                     the cases whose name contains PART, each with its outcome
//     --light DIR                     the light models of the PyPI package `onnx` as well
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "tests/conformance/case.h"
#include "tests/conformance/isolate.h"
#include "tests/conformance/report.h"
#include "tests/conformance/run_case.h"

namespace temper::conformance {
namespace {

constexpr double kLimitSeconds = 60;  // of a case; the slowest takes a few
constexpr std::string_view kGroups[] = {"node", "simple", "pytorch-operator", "pytorch-converted"};

struct Flags {
  std::string source;  // the root of Temper's sources
  std::string data = "/usr/share/libonnx-testdata/data";
  std::string light;  // "": without them
  std::string only;
  bool update = false;
  int jobs = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
};

Result<Flags> ParseFlags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--update") {
      flags.update = true;
      continue;
    }
    if (i + 1 == argc) return InvalidArgument("no value for " + flag);
    const std::string value = argv[++i];
    if (flag == "--source") {
      flags.source = value;
    } else if (flag == "--data") {
      flags.data = value;
    } else if (flag == "--light") {
      flags.light = value;
    } else if (flag == "--only") {
      flags.only = value;
    } else if (flag == "--jobs") {
      flags.jobs = std::clamp(std::atoi(value.c_str()), 1, 64);
    } else {
      return InvalidArgument("unknown flag " + flag);
    }
  }
  if (flags.source.empty()) return InvalidArgument("--source is needed");
  return flags;
}

Result<std::vector<Case>> AllCases(const Flags& flags) {
  std::vector<Case> cases;
  const auto add = [&](Result<std::vector<Case>> found) -> Status {
    TEMPER_RETURN_IF_ERROR(found.status());
    for (Case& test : *found) {
      if (test.name.find(flags.only) != std::string::npos) cases.push_back(std::move(test));
    }
    return OkStatus();
  };
  for (std::string_view group : kGroups) {
    TEMPER_RETURN_IF_ERROR(add(FindCases(flags.data, std::string(group))));
  }
  TEMPER_RETURN_IF_ERROR(add(FindCases(flags.source + "/tests/conformance", "cases")));
  if (!flags.light.empty()) TEMPER_RETURN_IF_ERROR(add(FindLightCases(flags.light)));
  return cases;
}

void PrintEach(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes) {
  constexpr std::string_view kNames[] = {"pass", "refused", "wrong", "fault"};
  for (size_t i = 0; i < cases.size(); ++i) {
    fmt::print("{}: {} {}\n", cases[i].name, kNames[static_cast<int>(outcomes[i].verdict)],
               outcomes[i].message);
  }
}

// `text` without the line that starts so.
std::string WithoutLine(std::string text, std::string_view start) {
  const size_t at = text.find("\n" + std::string(start));
  if (at != std::string::npos) text.erase(at, text.find('\n', at + 1) - at);
  return text;
}

Result<bool> Run(const Flags& flags) {
  TEMPER_ASSIGN_OR_RETURN(const std::vector<Case> cases, AllCases(flags));
  TEMPER_ASSIGN_OR_RETURN(const std::vector<Outcome> outcomes,
                          RunIsolated(static_cast<int>(cases.size()), flags.jobs, kLimitSeconds,
                                      [&](int i, const std::string& folder) {
                                        return RunCase(cases[static_cast<size_t>(i)], folder);
                                      }));
  if (!flags.only.empty()) {
    PrintEach(cases, outcomes);
    return std::all_of(outcomes.begin(), outcomes.end(),
                       [](const Outcome& o) { return o.verdict == Verdict::kPass; });
  }
  fmt::print("{}", Summary(cases, outcomes));
  const std::string list = flags.source + "/tests/conformance/expected.txt";
  const std::string page = flags.source + "/docs/operators.md";
  if (flags.update) {
    TEMPER_RETURN_IF_ERROR(WriteFileAtomic(list, WriteExpected(cases, outcomes)));
    TEMPER_RETURN_IF_ERROR(WriteFileAtomic(page, OperatorsPage(cases, outcomes)));
  }
  TEMPER_ASSIGN_OR_RETURN(const Expected expected, ReadExpected(list));
  std::vector<std::string> lines = Differences(cases, outcomes, expected);
  if (lines.empty()) {
    TEMPER_ASSIGN_OR_RETURN(std::string written, ReadFile(page));
    if (flags.light.empty()) written = WithoutLine(written, "| light |");
    if (written != OperatorsPage(cases, outcomes)) {
      lines.push_back("docs/operators.md is out of date: run conformance with --update");
    }
  }
  for (const std::string& line : lines) fmt::print("{}\n", line);
  return lines.empty();
}

}  // namespace
}  // namespace temper::conformance

int main(int argc, char** argv) {
  auto flags = temper::conformance::ParseFlags(argc, argv);
  if (!flags.ok()) {
    fmt::print(stderr, "conformance: {}\n", flags.status().message());
    return 2;
  }
  auto passed = temper::conformance::Run(*flags);
  if (!passed.ok()) fmt::print(stderr, "conformance: {}\n", passed.status().message());
  return passed.ok() && *passed ? 0 : 1;
}
