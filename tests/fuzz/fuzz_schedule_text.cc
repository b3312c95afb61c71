// schedule::ParseText: what is accepted is written and read back equal.
#include "base/status.h"
#include "compiler/schedule/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace temper;  // NOLINT: the whole file
  auto schedule = schedule::ParseText(std::string(reinterpret_cast<const char*>(data), size));
  if (!schedule.ok()) return 0;
  auto again = schedule::ParseText(schedule::ToText(*schedule));
  TEMPER_CHECK(again.ok());
  TEMPER_CHECK(*again == *schedule);
  TEMPER_CHECK(schedule::ScheduleHash(*again) == schedule::ScheduleHash(*schedule));
  return 0;
}
