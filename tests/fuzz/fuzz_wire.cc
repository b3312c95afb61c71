// Messages: the first byte chooses a workload or a schedule.
#include "base/status.h"
#include "compiler/te/canonical.h"
#include "compiler/wire/wire_program.h"
#include "compiler/wire/wire_schedule.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace temper;  // NOLINT: the whole file
  if (size == 0) return 0;
  const int length = static_cast<int>(size) - 1;
  if (data[0] % 2 == 0) {
    proto::Workload message;
    if (!message.ParseFromArray(data + 1, length)) return 0;
    auto program = wire::FromProto(message);
    if (!program.ok()) return 0;
    auto again = wire::FromProto(wire::ToProto(*program));
    TEMPER_CHECK(again.ok());
    TEMPER_CHECK(te::WorkloadHash(*again) == te::WorkloadHash(*program));
  } else {
    proto::Schedule message;
    if (!message.ParseFromArray(data + 1, length)) return 0;
    auto schedule = wire::FromProto(message);
    if (!schedule.ok()) return 0;
    auto again = wire::FromProto(wire::ToProto(*schedule));
    TEMPER_CHECK(again.ok());
    TEMPER_CHECK(*again == *schedule);
  }
  return 0;
}
