#include "compiler/tools/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/file.h"
#include "base/text.h"

namespace temper::tools {
namespace {

void Say(std::string_view text) { fmt::print(stderr, "{}\n", text); }

// Lines of a message stay lines: escaping is per line.
std::string EscapeLines(std::string_view text) {
  std::vector<std::string> lines;
  for (std::string_view line : SplitString(text, '\n')) lines.push_back(EscapeControl(line));
  return JoinStrings(lines, "\n");
}

// Characters rather than bytes: names of nodes may be any UTF-8.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

int Fail(const Status& status) {
  Say("temper: " + EscapeLines(status.message()));
  return kExitFailure;
}

int FailUsage(std::string_view verb, std::string_view message) {
  Say(fmt::format("temper {0}: {1}\nSee temper {0} --help.", verb, EscapeLines(message)));
  return kExitUsage;
}

void Warn(std::string_view message) { Say("temper: warning: " + EscapeLines(message)); }

void Print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int Flush() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return kExitOk;
  return Fail(ErrnoStatus(errno, "cannot write the output"));
}

std::string FormatTable(const std::vector<std::vector<std::string>>& rows,
                        const std::vector<bool>& right) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], Width(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string fill(widths[c] - Width(row[c]), ' ');
      const bool to_right = c < right.size() && right[c];
      line += (c ? "  " : "") + (to_right ? fill + row[c] : row[c] + fill);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string FormatBytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  while (bytes >= 1000 && unit < 4) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace temper::tools
