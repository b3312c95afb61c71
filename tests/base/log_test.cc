#include "base/log.h"

#include <gtest/gtest.h>

#include <vector>

namespace temper {
namespace {

TEST(Logger, FormatsAndFiltersByLevel) {
  std::vector<std::pair<LogLevel, std::string>> lines;
  Logger log =
      Logger::To([&](LogLevel level, std::string_view text) { lines.emplace_back(level, text); },
                 LogLevel::kInfo);
  log.Debug("dropped {}", 1);
  log.Info("worker {} has {} cores", "w1", 2);
  Logger copy = log;
  copy.Error("gone");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], std::pair(LogLevel::kInfo, std::string("worker w1 has 2 cores")));
  EXPECT_EQ(lines[1].first, LogLevel::kError);
}

TEST(Logger, HostileTextStaysOneLine) {
  std::string line;
  Logger log = Logger::To([&](LogLevel, std::string_view text) { line = text; });
  log.Warning("{}", "a\nb\x1b[2J");
  EXPECT_EQ(line, "a\\nb\\x1b[2J");
}

TEST(Logger, DefaultWritesNothing) {
  Logger log;
  EXPECT_FALSE(log.Enabled(LogLevel::kError));
  log.Error("nobody sees this");
}

TEST(Logger, StderrLinesNameTheirLogger) {
  testing::internal::CaptureStderr();
  Logger::Stderr("tuner-server").Info("listening on {}", 7400);
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("info tuner-server: listening on 7400\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace temper
