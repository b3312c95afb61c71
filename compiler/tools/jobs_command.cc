// temper jobs: the tuning jobs of a server; ends one of them.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "compiler/tools/command.h"
#include "compiler/tools/console.h"
#include "compiler/tools/model_flags.h"
#include "tuner/client/client.h"

namespace temper::tools {
namespace {

constexpr std::string_view kExample = R"(Example:
  temper jobs --server 127.0.0.1:7400
  temper jobs --server 127.0.0.1:7400 --cancel 6b1f20aa
What a cancelled job measured is kept. --cancel takes the start of a job's name, if one job alone
has it.)";

struct JobsFlags {
  std::string server = kDefaultServer, cancel;
  bool json = false;
};

std::string_view PhaseName(proto::JobPhase phase) {
  switch (phase) {
    case proto::JOB_PHASE_QUEUED:
      return "queued";
    case proto::JOB_PHASE_RUNNING:
      return "running";
    case proto::JOB_PHASE_DONE:
      return "done";
    case proto::JOB_PHASE_FAILED:
      return "failed";
    case proto::JOB_PHASE_CANCELLED:
      return "cancelled";
    default:
      return "unknown";
  }
}

nlohmann::json ToJson(const proto::JobStatus& job) {
  return {{"job", job.job()},
          {"model", job.model()},
          {"phase", PhaseName(job.phase())},
          {"message", job.message()},
          {"tasks", job.tasks_size()},
          {"trials", job.trials()},
          {"seconds", job.seconds()},
          {"remaining_seconds", job.remaining_seconds()},
          {"model_ms", job.model_us() * 1e-3},
          {"workers", job.workers()}};
}

// The job whose name is `text`, or the only one whose name starts so.
Result<std::string> FindJob(const proto::ListJobsReply& jobs, const std::string& text) {
  std::vector<std::string> found;
  for (const proto::JobStatus& job : jobs.jobs()) {
    if (job.job() == text) return text;
    if (job.job().starts_with(text)) found.push_back(job.job());
  }
  if (found.size() == 1) return found[0];
  if (found.empty()) {
    return NotFound("no job's name starts with " + Quoted(text) + "; temper jobs lists them");
  }
  return InvalidArgument(
      fmt::format("several jobs' names start with {}: {}", Quoted(text), JoinStrings(found, ", ")));
}

Status Cancel(tuner::TunerClient& client, proto::ListJobsReply& jobs, const std::string& name) {
  TEMPER_ASSIGN_OR_RETURN(const std::string found, FindJob(jobs, name));
  const auto at = std::find_if(jobs.mutable_jobs()->begin(), jobs.mutable_jobs()->end(),
                               [&](const proto::JobStatus& job) { return job.job() == found; });
  if (at->phase() != proto::JOB_PHASE_QUEUED && at->phase() != proto::JOB_PHASE_RUNNING) {
    return FailedPrecondition(
        fmt::format("job {} has ended already: {}", found, PhaseName(at->phase())));
  }
  TEMPER_ASSIGN_OR_RETURN(proto::JobStatus ended, client.CancelJob(found));
  jobs.clear_jobs();
  *jobs.add_jobs() = std::move(ended);
  return OkStatus();
}

int Jobs(const JobsFlags& flags) {
  auto client = tuner::ConnectTuner(flags.server);
  if (!client.ok()) return Fail(client.status());
  auto jobs = (*client)->ListJobs();
  if (!jobs.ok()) return Fail(jobs.status());
  if (!flags.cancel.empty()) {
    Status cancelled = Cancel(**client, *jobs, flags.cancel);
    if (!cancelled.ok()) return Fail(cancelled);
  }
  if (flags.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const proto::JobStatus& job : jobs->jobs()) list.push_back(ToJson(job));
    Print(nlohmann::json{{"jobs", list}}.dump(-1, ' ', false,
                                              nlohmann::json::error_handler_t::replace) +
          "\n");
    return Flush();
  }
  if (jobs->jobs().empty()) {
    Print("no jobs. Start one with: temper tune MODEL.onnx --server " + flags.server + "\n");
    return Flush();
  }
  std::vector<std::vector<std::string>> rows = {
      {"job", "model", "phase", "tasks", "trials", "seconds", "model ms", "workers"}};
  for (const proto::JobStatus& job : jobs->jobs()) {
    const std::string phase(PhaseName(job.phase()));
    rows.push_back({EscapeControl(job.job()), EscapeControl(job.model()),
                    job.phase() != proto::JOB_PHASE_FAILED
                        ? phase
                        : phase + ": " + EscapeControl(job.message()),
                    std::to_string(job.tasks_size()), std::to_string(job.trials()),
                    fmt::format("{:.0f}", job.seconds()),
                    job.model_us() > 0 ? fmt::format("{:.4f}", job.model_us() * 1e-3) : "-",
                    std::to_string(job.workers())});
  }
  Print(FormatTable(rows, {false, false, false, true, true, true, true, true}));
  return Flush();
}

}  // namespace

Command AddJobsCommand(CLI::App& root) {
  auto flags = std::make_shared<JobsFlags>();
  CLI::App* app = root.add_subcommand("jobs", "List a tuner-server's jobs, or cancel one");
  app->footer(std::string(kExample));
  AddServerOption(app, &flags->server)->capture_default_str();
  app->add_option("--cancel", flags->cancel, "Name of the job to end, or its start");
  app->add_flag("--json", flags->json, "One JSON object on stdout");
  return {app, [flags, app] {
            if (app->count("--cancel") > 0 && flags->cancel.empty()) {
              return FailUsage("jobs", "--cancel needs the name of a job");
            }
            return Jobs(*flags);
          }};
}

}  // namespace temper::tools
