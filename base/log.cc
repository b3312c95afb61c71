#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <mutex>

#include "base/text.h"

namespace temper {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

LogLevel FromSpdlog(spdlog::level::level_enum level) {
  if (level <= spdlog::level::debug) return LogLevel::kDebug;
  if (level == spdlog::level::info) return LogLevel::kInfo;
  return level == spdlog::level::warn ? LogLevel::kWarning : LogLevel::kError;
}

class FunctionSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FunctionSink(std::function<void(LogLevel, std::string_view)> write)
      : write_(std::move(write)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    write_(FromSpdlog(message.level), {message.payload.data(), message.payload.size()});
  }
  void flush_() override {}

 private:
  std::function<void(LogLevel, std::string_view)> write_;
};

}  // namespace

struct Logger::Impl {
  spdlog::logger logger;
};

Logger Logger::Stderr(std::string_view name, LogLevel level) {
  Logger result;
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  result.impl_ = std::make_shared<Impl>(Impl{spdlog::logger(std::string(name), std::move(sink))});
  result.impl_->logger.set_level(ToSpdlog(level));
  result.impl_->logger.set_pattern("%H:%M:%S.%e %^%l%$ %n: %v");
  return result;
}

Logger Logger::To(std::function<void(LogLevel, std::string_view)> write, LogLevel level) {
  Logger result;
  auto sink = std::make_shared<FunctionSink>(std::move(write));
  result.impl_ = std::make_shared<Impl>(Impl{spdlog::logger("", std::move(sink))});
  result.impl_->logger.set_level(ToSpdlog(level));
  return result;
}

bool Logger::Enabled(LogLevel level) const {
  return impl_ != nullptr && impl_->logger.should_log(ToSpdlog(level));
}

void Logger::Write(LogLevel level, std::string_view message) const {
  if (!Enabled(level)) return;
  std::string clean = EscapeControl(message);
  impl_->logger.log(ToSpdlog(level), spdlog::string_view_t(clean.data(), clean.size()));
}

}  // namespace temper
