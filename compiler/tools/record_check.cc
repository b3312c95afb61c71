#include "compiler/tools/record_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/schedule/text.h"

namespace temper::tools {

Status CheckImportedRecord(const db::Record& record) {
  auto schedule = schedule::ParseText(record.schedule);
  if (!schedule.ok()) return schedule.status().WithContext("\"schedule\"");
  if (schedule->workload != record.key.workload) {
    return InvalidArgument("\"schedule\" is of another workload, " + schedule->workload.ShortHex());
  }
  if (const Hash hash = schedule::ScheduleHash(*schedule); hash != record.schedule_hash) {
    return InvalidArgument("\"schedule_hash\" is not that of \"schedule\", " + hash.Hex());
  }
  if (record.outcome != Outcome::kOk || record.samples.empty()) return OkStatus();
  const auto [least, most] = std::minmax_element(record.samples.begin(), record.samples.end());
  constexpr double kRounding = 1e-4;  // samples are floats, and may have been printed and read
  if (record.median_us < *least * (1 - kRounding) || record.median_us > *most * (1 + kRounding)) {
    return InvalidArgument(
        fmt::format("\"median_us\" is {:g}, which its samples, {:g} to {:g}, do not give",
                    record.median_us, *least, *most));
  }
  return OkStatus();
}

}  // namespace temper::tools
