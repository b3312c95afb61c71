// temper compile: from a model and records to a shared object.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "compiler/driver/compile.h"
#include "compiler/graph/type.h"
#include "compiler/target/native_target.h"
#include "compiler/tools/command.h"
#include "compiler/tools/console.h"
#include "compiler/tools/model_flags.h"
#include "compiler/tools/output_file.h"
#include "compiler/tools/record_source.h"
#include "compiler/tools/server_client.h"
#include "compiler/tools/untuned.h"
#include "db/sqlite_store.h"
#include "deploy/runtime/temper.h"

namespace temper::tools {
namespace {

constexpr std::string_view kExample = R"(Example:
  temper compile model.onnx -o model.so --db tuning.db --report
  temper compile model.onnx -o model.so --shape input=1x3x224x224     # no records
  temper compile bert.onnx -o bert.so --shape ids=1x32,mask=1x32 --shape ids=1x128,mask=1x128
  temper compile model.onnx -o model.so --numerics strict             # no Winograd
Without --db and --server no records are used: every schedule is the cost model's choice.
The report says for each kernel where its schedule came from: exact (measured on such a device),
similar (on one of the same micro-architecture), model or prior (predicted).)";

struct CompileFlags {
  ModelFlags model;
  std::string output, db, server;
  bool require_tuned = false, report = false, json = false;
};

nlohmann::json ToJson(const driver::CompileReport& report) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const driver::KernelReport& k : report.kernels) {
    kernels.push_back({{"nodes", k.nodes},
                       {"name", k.name},
                       {"workload", k.workload},
                       {"source", driver::SourceName(k.source)},
                       {"expected_us", k.expected_us},
                       {"schedule", k.schedule},
                       {"specialization", k.specialization}});
  }
  nlohmann::json specializations = nlohmann::json::array();
  for (const driver::SpecializationReport& s : report.specializations) {
    nlohmann::json inputs = nlohmann::json::object(), optional = nlohmann::json::object();
    for (const auto& [name, shape] : s.inputs) inputs[name] = shape;
    for (const auto& [name, shape] : s.optional) optional[name] = shape;
    specializations.push_back({{"inputs", inputs},
                               {"optional", optional},
                               {"fixed_defaults", s.fixed_defaults},
                               {"arena_bytes", s.arena_bytes}});
  }
  return {{"seconds", report.seconds},
          {"arena_bytes", report.arena_bytes},
          {"weight_bytes", report.weight_bytes},
          {"constants", Name(report.constants)},
          {"warnings", report.warnings},
          {"specializations", specializations},
          {"kernels", kernels}};
}

std::string Shapes(const driver::SpecializationReport& specialization) {
  std::string text;
  for (const auto& [name, shape] : specialization.inputs) {
    text += (text.empty() ? "" : ", ") + EscapeControl(name) + graph::ShapeToString(shape);
  }
  if (specialization.fixed_defaults || specialization.optional.empty()) return text;
  std::string names;
  for (const auto& [name, shape] : specialization.optional) {
    names += (names.empty() ? "" : ", ") + EscapeControl(name);
  }
  return text + "; where a run gives any of " + names;
}

// The kernels of one specialization.
std::string Table(const driver::CompileReport& report, int specialization) {
  std::vector<std::vector<std::string>> rows = {
      {"kernel", "workload", "source", "expected us", "nodes"}};
  double total_us = 0;
  bool all_known = true;
  for (const driver::KernelReport& k : report.kernels) {
    if (k.specialization != specialization) continue;
    const bool known = k.expected_us > 0;
    total_us += k.expected_us;
    all_known &= known;
    rows.push_back({k.name, k.workload.substr(0, 12), std::string(driver::SourceName(k.source)),
                    known ? fmt::format("{:.1f}", k.expected_us) : "-",
                    EscapeControl(JoinStrings(k.nodes, ", "))});
  }
  std::string text = FormatTable(rows, {false, false, false, true});
  if (all_known) text += fmt::format("expected: {:.3f} ms a run\n", total_us * 1e-3);
  return text;
}

std::string Tables(const driver::CompileReport& report) {
  if (report.specializations.size() == 1) return Table(report, 0);
  std::string text;
  for (size_t i = 0; i < report.specializations.size(); ++i) {
    text += fmt::format("{}specialization {}: {}\n", i > 0 ? "\n" : "", i + 1,
                        Shapes(report.specializations[i]));
    text += Table(report, static_cast<int>(i));
  }
  return text;
}

std::string Summary(const driver::CompileReport& report, const std::string& output) {
  int sources[4] = {};
  for (const driver::KernelReport& k : report.kernels) ++sources[static_cast<int>(k.source)];
  std::string from;
  for (int i = 0; i < 4; ++i) {
    if (sources[i] == 0) continue;
    from += fmt::format("{}{} {}", from.empty() ? "" : ", ", sources[i],
                        driver::SourceName(static_cast<driver::SourceLevel>(i)));
  }
  size_t shapes = 0;
  for (const driver::SpecializationReport& s : report.specializations) {
    shapes += s.fixed_defaults || s.optional.empty();
  }
  return fmt::format(
      "{}: {}{} kernels ({} distinct; schedules: {}), weights {} ({}), scratch memory {}, compiled "
      "in "
      "{:.2f} s\n",
      output, shapes > 1 ? fmt::format("{} sets of shapes, ", shapes) : "", report.kernels.size(),
      report.distinct_kernels, from, FormatBytes(static_cast<double>(report.weight_bytes)),
      Name(report.constants), FormatBytes(static_cast<double>(report.arena_bytes)), report.seconds);
}

int Compile(const CompileFlags& flags) {
  if (!flags.db.empty() && !flags.server.empty()) {
    return FailUsage("compile", "give one of --db and --server, not both");
  }
  const int writable = CheckOutput("compile", flags.output, {flags.model.model, flags.db});
  if (writable != kExitOk) return writable;
  driver::CompileOptions options;
  auto frontend = MakeFrontendOptions(flags.model);
  if (!frontend.ok()) return FailUsage("compile", frontend.status().message());
  auto target = TargetOf(flags.model.target, Logger::Stderr("temper", LogLevel::kWarning));
  if (!target.ok()) return FailUsage("compile", "--target: " + target.status().message());
  options.frontend = *std::move(frontend);
  options.target = *std::move(target);
  options.threads = flags.model.threads;
  options.require_tuned = flags.require_tuned;
  options.numerics = flags.model.numerics;
  options.producer = std::string("temper ") + TEMPER_VERSION;

  // Before all that starts threads, which are to leave its signals alone.
  auto folder = OutputFolder::Create(flags.output);
  if (!folder.ok()) return Fail(folder.status());
  options.temporary_folder = (*folder)->path();

  std::unique_ptr<db::Store> store;
  std::unique_ptr<ServerClient> client;
  std::unique_ptr<driver::ScheduleSource> source;
  std::string model;
  std::vector<std::string> warnings;
  if (!flags.db.empty()) {
    db::SqliteOptions sqlite;
    sqlite.log = Logger::Stderr("temper", LogLevel::kWarning);
    auto opened = db::OpenSqliteStoreReadOnly(flags.db, sqlite);
    if (!opened.ok()) return Fail(opened.status());
    store = *std::move(opened);
    source = MakeRecordSource(store.get(), flags.db, options.numerics);
    model = StoredModelFor(options.target, *store, flags.db, &warnings);
  } else if (!flags.server.empty()) {
    auto connected = ConnectServer(flags.server);
    if (!connected.ok()) return Fail(connected.status());
    client = *std::move(connected);
    source = MakeServerSource(client.get(), options.numerics);
    auto stored = client->CostModelOf(options.target);
    if (stored.ok()) {
      model = *std::move(stored);
    } else {
      warnings.push_back(flags.server + ": " + stored.status().message());
    }
  }
  driver::ScheduleChooser chooser = UntunedChooser(std::move(model), &warnings, options.numerics);
  SystemClock clock;
  auto report =
      driver::Compile(flags.model.model, flags.output, options, source.get(), chooser, clock);
  for (const std::string& warning : warnings) Warn(warning);
  if (!report.ok()) return Fail(report.status());
  for (const std::string& warning : report->warnings) Warn(warning);
  if (flags.json) {
    Print(ToJson(*report).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return Flush();
  }
  if (flags.report) Print(Tables(*report));
  const int flushed = Flush();
  if (flags.report || isatty(STDERR_FILENO)) {
    fmt::print(stderr, "{}", Summary(*report, flags.output));
  }
  return flushed;
}

}  // namespace

Command AddCompileCommand(CLI::App& root) {
  auto flags = std::make_shared<CompileFlags>();
  CLI::App* app = root.add_subcommand("compile", "Compile an ONNX model to a shared object");
  app->footer(std::string(kExample));
  AddModelOptions(app, &flags->model, true);
  app->add_option("-o,--output", flags->output, "Where to write the compiled model (.so)")
      ->required();
  app->add_option("--db", flags->db, "Tuning database");
  AddServerOption(app, &flags->server);
  AddTargetOption(app, &flags->model);
  AddThreadsOption(app, &flags->model);
  AddNumericsOption(app, &flags->model);
  AddConstantsOption(app, &flags->model);
  app->add_flag("--require-tuned", flags->require_tuned, "Fail where a kernel has no record");
  app->add_flag("--report", flags->report, "List each kernel: nodes, workload, source, time");
  app->add_flag("--json", flags->json, "One JSON object on stdout");
  return {app, [flags] { return Compile(*flags); }};
}

}  // namespace temper::tools
