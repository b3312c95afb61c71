// Time as an argument, so that tests of leases, budgets and retries need not wait.
#pragma once

#include <cstdint>
#include <mutex>

namespace temper {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Seconds since a fixed moment of this process or machine; never goes back. For durations.
  virtual double NowSeconds() const = 0;

  // Milliseconds since 1970, UTC; may jump. For people to read, never for durations.
  virtual int64_t UnixMillis() const = 0;

  // Returns when NowSeconds() has grown by `seconds`; at once if that is not positive.
  virtual void SleepSeconds(double seconds) = 0;
};

// The machine's clocks (CLOCK_MONOTONIC, CLOCK_REALTIME).
class SystemClock final : public Clock {
 public:
  double NowSeconds() const override;
  int64_t UnixMillis() const override;
  void SleepSeconds(double seconds) override;
};

// A clock that a test moves. SleepSeconds moves it too, and returns at once.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(double now_seconds = 0, int64_t unix_millis = 1'700'000'000'000)
      : now_(now_seconds), unix_millis_(unix_millis) {}

  double NowSeconds() const override;
  int64_t UnixMillis() const override;
  void SleepSeconds(double seconds) override { Advance(seconds); }

  // Moves both readings on by `seconds`; negative ones count as 0.
  void Advance(double seconds);

 private:
  mutable std::mutex mutex_;
  double now_;
  int64_t unix_millis_;
};

}  // namespace temper
