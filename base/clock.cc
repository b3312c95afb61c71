#include "base/clock.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace temper {

double SystemClock::NowSeconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int64_t SystemClock::UnixMillis() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void SystemClock::SleepSeconds(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

double FakeClock::NowSeconds() const {
  std::lock_guard lock(mutex_);
  return now_;
}

int64_t FakeClock::UnixMillis() const {
  std::lock_guard lock(mutex_);
  return unix_millis_;
}

void FakeClock::Advance(double seconds) {
  std::lock_guard lock(mutex_);
  seconds = std::max(seconds, 0.0);
  now_ += seconds;
  unix_millis_ += std::llround(seconds * 1000);
}

}  // namespace temper
