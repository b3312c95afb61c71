// Tuning jobs that were acknowledged and must survive a restart of the server. What a job asks for
// and how far it is are bytes that this folder does not read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace temper::db {

// Stored numbers: never change or reuse one, only append.
enum class JobState : uint8_t {
  kQueued = 0,
  kRunning = 1,
  kDone = 2,
  kFailed = 3,
  kCancelled = 4,
};
inline constexpr int kJobStateCount = 5;
inline bool IsFinished(JobState state) { return state >= JobState::kDone; }
// "queued", "running", ...
std::string_view JobStateName(JobState state);

struct Job {
  std::string id = {};     // not empty, chosen by the caller
  std::string model = {};  // the model's name, for people
  JobState state = JobState::kQueued;
  std::string request = {};   // options, tasks and their weights
  std::string progress = {};  // trials and seconds spent, or whatever else a restart needs
  std::string message = {};   // why it failed
  int64_t created_ms = 0;
  int64_t updated_ms = 0;

  bool operator==(const Job&) const = default;
};

// OK, or INVALID_ARGUMENT that names the field. Every store refuses jobs that are not valid.
Status ValidateJob(const Job& job);

// Every method may be called from any thread at any time.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // Adds the job; OK means that it is committed. ALREADY_EXISTS if its id is taken.
  virtual Status PutJob(const Job& job) = 0;

  // Sets what changes in a job's life; NOT_FOUND if there is none of that id.
  virtual Status UpdateJob(const std::string& id, JobState state, const std::string& progress,
                           const std::string& message, int64_t updated_ms) = 0;

  // The job, or NOT_FOUND.
  virtual Result<Job> GetJob(const std::string& id) = 0;

  // All jobs, or the unfinished ones, in the order they were put.
  virtual Result<std::vector<Job>> ListJobs(bool unfinished_only) = 0;

  // Forgets a job; its records stay. NOT_FOUND if there is none of that id.
  virtual Status DeleteJob(const std::string& id) = 0;
};

}  // namespace temper::db
