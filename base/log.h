// A logger that is passed as an argument; there is no global one. Lines go to stderr with time,
// level and the logger's name. Standard output belongs to results.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace temper {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// A cheap handle; copies write to the same place. Thread-safe. Control characters of a message are
// escaped, so that hostile text cannot forge a line or move the terminal's cursor.
class Logger {
 public:
  // Writes nothing.
  Logger() = default;

  // Writes lines of at least `level` to stderr.
  static Logger Stderr(std::string_view name, LogLevel level = LogLevel::kInfo);

  // Hands each message of at least `level` to `write`, one call at a time. For tests.
  static Logger To(std::function<void(LogLevel, std::string_view)> write,
                   LogLevel level = LogLevel::kDebug);

  bool Enabled(LogLevel level) const;
  void Write(LogLevel level, std::string_view message) const;

  template <typename... Args>
  void Debug(fmt::format_string<Args...> format, Args&&... args) const {
    Format(LogLevel::kDebug, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void Info(fmt::format_string<Args...> format, Args&&... args) const {
    Format(LogLevel::kInfo, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void Warning(fmt::format_string<Args...> format, Args&&... args) const {
    Format(LogLevel::kWarning, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void Error(fmt::format_string<Args...> format, Args&&... args) const {
    Format(LogLevel::kError, format, std::forward<Args>(args)...);
  }

 private:
  struct Impl;

  template <typename... Args>
  void Format(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
    if (Enabled(level)) Write(level, fmt::format(format, std::forward<Args>(args)...));
  }

  std::shared_ptr<Impl> impl_;  // shared: copies of a handle write to one place
};

}  // namespace temper
