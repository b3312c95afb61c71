// temper query: what is known, of everything or of one model's kernels.
#include <fmt/format.h>

#include <ctime>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/text.h"
#include "compiler/tools/command.h"
#include "compiler/tools/console.h"
#include "compiler/tools/model_flags.h"
#include "compiler/tools/server_client.h"
#include "db/sqlite_store.h"

namespace temper::tools {
namespace {

constexpr std::string_view kExample = R"(Example:
  temper query --db tuning.db
  temper query --server 127.0.0.1:7400 --model model.onnx --threads 1
With --model: the model's kernels for the target (native unless given), missing ones too.)";

struct QueryFlags {
  ModelFlags model;
  std::string db, server;
  bool target_given = false, threads_given = false;
  bool json = false;
};

std::string Iso(int64_t unix_ms) {
  const std::time_t seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm utc{};
  char text[32];
  if (!gmtime_r(&seconds, &utc) || !std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)) {
    return "-";
  }
  return text;
}

// The database's answer to what a server would be asked.
Result<std::vector<KnownBest>> QueryStore(db::RecordStore& store, const KnownFilter& wanted) {
  std::vector<KnownBest> known;
  const auto ask = [&](const db::RecordFilter& filter) -> Status {
    TEMPER_ASSIGN_OR_RETURN(auto summaries, store.Summaries(filter));
    for (const db::KeySummary& s : summaries) {
      KnownBest k{s.key.workload, s.key.target, s.micro_architecture, s.key.threads, s.task_name};
      k.trials = s.trials;
      k.numerics = s.key.numerics;
      k.constants = s.key.constants;
      if (s.best) {
        k.best_us = s.best->median_us;
        k.gflops = s.best->Gflops();
        k.schedule = s.best->schedule;
        k.worker = s.best->worker;
        k.created_ms = s.best->created_ms;
      }
      known.push_back(std::move(k));
    }
    return OkStatus();
  };
  db::RecordFilter filter;
  if (!wanted.target.empty()) filter.target = wanted.target;
  if (wanted.threads) filter.threads = wanted.threads;
  if (wanted.workloads.empty()) {
    TEMPER_RETURN_IF_ERROR(ask(filter));
    return known;
  }
  for (const Hash& hash : wanted.workloads) {
    filter.workload = hash;
    TEMPER_RETURN_IF_ERROR(ask(filter));
  }
  return known;
}

nlohmann::json ToJson(const std::vector<KnownBest>& known) {
  nlohmann::json records = nlohmann::json::array();
  for (const KnownBest& k : known) {
    records.push_back({{"workload", k.workload.Hex()},
                       {"task", k.task_name},
                       {"target", k.target},
                       {"threads", k.threads},
                       {"numerics", k.numerics},
                       {"constants", Name(k.constants)},
                       {"best_us", k.best_us},
                       {"gflops", k.gflops},
                       {"trials", k.trials},
                       {"schedule", k.schedule},
                       {"worker", k.worker},
                       {"created", Iso(k.created_ms)}});
  }
  return records;
}

std::string Table(const std::vector<KnownBest>& known) {
  std::vector<std::vector<std::string>> rows = {{"task", "workload", "target", "threads",
                                                 "numerics", "constants", "best us", "GFLOP/s",
                                                 "trials", "worker", "created"}};
  for (const KnownBest& k : known) {
    const bool worked = k.best_us > 0;
    rows.push_back({EscapeControl(k.task_name), k.workload.ShortHex(), EscapeControl(k.target),
                    std::to_string(k.threads), EscapeControl(k.numerics),
                    std::string(Name(k.constants)), worked ? fmt::format("{:.1f}", k.best_us) : "-",
                    worked ? fmt::format("{:.1f}", k.gflops) : "-", std::to_string(k.trials),
                    EscapeControl(k.worker), worked ? Iso(k.created_ms) : "-"});
  }
  return FormatTable(rows, {false, false, false, true, false, false, true, true, true});
}

int Query(const QueryFlags& flags) {
  if (flags.db.empty() == flags.server.empty()) {
    return FailUsage("query", "give one of --db and --server");
  }
  KnownFilter filter;
  const bool of_model = !flags.model.model.empty();
  if (!of_model && !flags.model.shapes.empty()) {
    return FailUsage("query", "--shape needs --model");
  }
  auto target = ParseTarget(flags.model.target);
  if (!target.ok()) return FailUsage("query", "--target: " + target.status().message());
  if (flags.target_given || of_model) filter.target = Fingerprint(*target);
  if (flags.threads_given || of_model) filter.threads = flags.model.threads;
  std::vector<driver::TuningTask> tasks;
  if (of_model) {
    auto frontend = MakeFrontendOptions(flags.model);
    if (!frontend.ok()) return FailUsage("query", frontend.status().message());
    auto extracted = driver::ExtractTasks(flags.model.model, *frontend, *target);
    if (!extracted.ok()) return Fail(extracted.status());
    tasks = *std::move(extracted);
    for (const auto& task : tasks) filter.workloads.push_back(task.hash);
  }
  std::vector<KnownBest> known;
  if (!flags.server.empty()) {
    auto client = ConnectServer(flags.server);
    if (!client.ok()) return Fail(client.status());
    auto answer = (*client)->Query(filter);
    if (!answer.ok()) return Fail(answer.status());
    known = *std::move(answer);
  } else {
    db::SqliteOptions options;
    options.log = Logger::Stderr("temper", LogLevel::kWarning);
    auto store = db::OpenSqliteStoreReadOnly(flags.db, options);
    if (!store.ok()) return Fail(store.status());
    auto answer = QueryStore(**store, filter);
    if (!answer.ok()) return Fail(answer.status());
    known = *std::move(answer);
  }
  if (flags.json) {
    Print(nlohmann::json{{"records", ToJson(known)}}.dump() + "\n");
    return Flush();
  }
  Print(Table(known));
  std::map<Hash, const KnownBest*> by_hash;
  std::map<Hash, Constants> wanted;
  for (const auto& task : tasks) wanted[task.hash] = task.constants;
  // Those with constants as the model has them before others; of several numerics the fastest.
  const auto rank = [&](const KnownBest& k) {
    return std::tuple(k.best_us <= 0, k.constants != wanted[k.workload], k.best_us);
  };
  for (const KnownBest& k : known) {
    const KnownBest*& best = by_hash[k.workload];
    if (best == nullptr || rank(k) < rank(*best)) best = &k;
  }
  double model_us = 0;
  size_t missing = 0;
  for (const auto& task : tasks) {
    auto found = by_hash.find(task.hash);
    if (found == by_hash.end() || found->second->best_us <= 0) {
      ++missing;
      Print(fmt::format("no record of {} {}\n", task.hash.ShortHex(), EscapeControl(task.name)));
    } else {
      model_us += task.weight * found->second->best_us;
    }
  }
  if (of_model) {
    Print(fmt::format("{} of {} kernels are known; those take {:.3f} ms of a run\n",
                      tasks.size() - missing, tasks.size(), model_us * 1e-3));
  }
  return Flush();
}

}  // namespace

Command AddQueryCommand(CLI::App& root) {
  auto flags = std::make_shared<QueryFlags>();
  CLI::App* app = root.add_subcommand("query", "Show what tuning learned");
  app->footer(std::string(kExample));
  app->add_option("--db", flags->db, "Tuning database");
  AddServerOption(app, &flags->server);
  app->add_option("--model", flags->model.model, "Only the kernels of this ONNX model");
  AddShapeOptions(app, &flags->model);
  AddTargetOption(app, &flags->model);
  AddThreadsOption(app, &flags->model);
  app->add_flag("--json", flags->json, "One JSON object on stdout");
  return {app, [flags, app] {
            flags->target_given = app->count("--target") > 0;
            flags->threads_given = app->count("--threads") > 0;
            return Query(*flags);
          }};
}

}  // namespace temper::tools
