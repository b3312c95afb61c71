#include "db/job_store.h"

#include <array>

#include "base/text.h"

namespace temper::db {
namespace {

constexpr size_t kMaxRequest = 64 << 20;
constexpr size_t kMaxName = 4096;

}  // namespace

std::string_view JobStateName(JobState state) {
  static constexpr std::array<std::string_view, kJobStateCount> kNames = {
      "queued", "running", "done", "failed", "cancelled"};
  auto index = static_cast<size_t>(state);
  return index < kNames.size() ? kNames[index] : "unknown";
}

Status ValidateJob(const Job& job) {
  if (job.id.empty() || job.id.size() > kMaxName || !IsValidUtf8(job.id)) {
    return InvalidArgument("a job's id is text of 1 to " + std::to_string(kMaxName) + " bytes");
  }
  if (job.model.size() > kMaxName || !IsValidUtf8(job.model)) {
    return InvalidArgument("job " + job.id + ": the model's name is not text of at most " +
                           std::to_string(kMaxName) + " bytes");
  }
  if (job.request.size() > kMaxRequest || job.progress.size() > kMaxRequest ||
      job.message.size() > kMaxName) {
    return InvalidArgument("job " + job.id + ": it is longer than " + std::to_string(kMaxRequest) +
                           " bytes");
  }
  if (static_cast<int>(job.state) >= kJobStateCount) {
    return InvalidArgument("job " + job.id + ": its state is not one of the list");
  }
  return OkStatus();
}

}  // namespace temper::db
