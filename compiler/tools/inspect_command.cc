// temper inspect: what a model or a compiled model consists of.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "compiler/driver/choose.h"
#include "compiler/graph/print.h"
#include "compiler/schedule/text.h"
#include "compiler/tools/command.h"
#include "compiler/tools/console.h"
#include "compiler/tools/inspect_kernel.h"
#include "compiler/tools/loaded_model.h"

namespace temper::tools {
namespace {

constexpr std::string_view kExample = R"(Example:
  temper inspect model.onnx              # the graph after all passes, and its kernels
  temper inspect model.onnx --print-after import
  temper inspect model.so --schedules    # kernels, their schedules, where those came from
  temper inspect model.onnx --schedules --db tuning.db
  temper inspect model.so --kernel 1f0c9a --asm
  temper inspect --db tuning.db --kernel 1f0c9a
With --kernel: the schedule, the loop nest and the assembly of the kernel whose workload's hash
starts so, and its share of the peak: of a record in a database, of a compiled model (which is then
run), or of a model as it would be compiled.)";

nlohmann::json Nodes(std::string_view nodes) {
  nlohmann::json list = nlohmann::json::array();
  if (nodes.empty()) return list;
  for (std::string_view node : SplitString(nodes, ',')) list.push_back(node);
  return list;
}

nlohmann::json TensorJson(const temper_tensor_info& info) {
  auto dtype = TypeOf(info);
  return {{"name", info.name},
          {"dtype", dtype.ok() ? std::string(Name(*dtype)) : "?"},
          {"shape", std::vector<int64_t>(info.shape, info.shape + info.ndim)}};
}

// For people; "" where the model was compiled by a version that did not keep it.
std::string KernelName(const temper_model* model, const temper_step_info& step) {
  const temper_workload_info* workload = temper_workload(model, step.workload);
  return workload != nullptr ? EscapeControl(workload->name) : "";
}

int InspectCompiled(const InspectFlags& flags) {
  auto opened = OpenModel(flags.model.model, 1);
  if (!opened.ok()) return Fail(opened.status());
  const temper_model* m = opened->get();
  if (flags.json) {
    nlohmann::json json = {{"target", temper_target(m)},
                           {"producer", temper_producer(m)},
                           {"threads", temper_compiled_threads(m)},
                           {"arena_bytes", temper_arena_bytes(m)},
                           {"weight_bytes", temper_weight_bytes(m)},
                           {"inputs", nlohmann::json::array()},
                           {"outputs", nlohmann::json::array()},
                           {"kernels", nlohmann::json::array()}};
    for (int i = 0; i < temper_input_count(m); ++i) {
      json["inputs"].push_back(TensorJson(*temper_input(m, i)));
    }
    for (int i = 0; i < temper_output_count(m); ++i) {
      json["outputs"].push_back(TensorJson(*temper_output(m, i)));
    }
    for (int i = 0; i < temper_step_count(m); ++i) {
      const temper_step_info& s = *temper_step(m, i);
      json["kernels"].push_back({{"nodes", Nodes(s.nodes)},
                                 {"name", KernelName(m, s)},
                                 {"workload", s.workload},
                                 {"source", s.source},
                                 {"expected_us", s.expected_us},
                                 {"flops", s.flops},
                                 {"bytes", s.bytes},
                                 {"schedule", s.schedule}});
    }
    Print(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return Flush();
  }
  Print(fmt::format("compiled for {} by {}, {} thread{}\nweights {}, scratch memory {}\n",
                    temper_target(m), temper_producer(m), temper_compiled_threads(m),
                    temper_compiled_threads(m) == 1 ? "" : "s",
                    FormatBytes(static_cast<double>(temper_weight_bytes(m))),
                    FormatBytes(static_cast<double>(temper_arena_bytes(m)))));
  for (int i = 0; i < temper_input_count(m); ++i) {
    Print("input  " + EscapeControl(Describe(*temper_input(m, i))) + "\n");
  }
  for (int i = 0; i < temper_output_count(m); ++i) {
    Print("output " + EscapeControl(Describe(*temper_output(m, i))) + "\n");
  }
  std::vector<std::vector<std::string>> rows = {
      {"#", "MFLOP", "expected us", "source", "workload", "kernel", "nodes"}};
  for (int i = 0; i < temper_step_count(m); ++i) {
    const temper_step_info& s = *temper_step(m, i);
    rows.push_back({std::to_string(i), fmt::format("{:.2f}", s.flops * 1e-6),
                    s.expected_us > 0 ? fmt::format("{:.1f}", s.expected_us) : "-", s.source,
                    std::string(s.workload).substr(0, 12), KernelName(m, s),
                    EscapeControl(s.nodes)});
  }
  Print(FormatTable(rows, {true, true, true}));
  for (int i = 0; flags.schedules && i < temper_step_count(m); ++i) {
    Print(fmt::format("\n# {}\n{}\n", i, EscapeControl(temper_step(m, i)->schedule)));
  }
  return Flush();
}

int InspectModel(const InspectFlags& flags) {
  auto frontend = MakeFrontendOptions(flags.model);
  if (!frontend.ok()) return FailUsage("inspect", frontend.status().message());
  auto target = ParseTarget(flags.model.target);
  if (!target.ok()) return FailUsage("inspect", "--target: " + target.status().message());
  std::vector<std::string> warnings;
  auto origin = OpenOrigin(flags, *target, &warnings);
  if (!origin.ok()) return Fail(origin.status());
  auto model = driver::BuildKernels(flags.model.model, *frontend, *target);
  if (!model.ok()) return Fail(model.status());
  warnings.insert(warnings.end(), model->warnings.begin(), model->warnings.end());
  std::vector<std::string> schedules(model->workloads.size());
  if (flags.schedules) {
    auto chosen = driver::ChooseSchedules(model->workloads, {*target, flags.model.threads},
                                          origin->source.get(), origin->chooser, &warnings);
    if (!chosen.ok()) return Fail(chosen.status());
    for (size_t i = 0; i < schedules.size(); ++i) {
      schedules[i] = schedule::ToText((*chosen)[i].schedule);
    }
  }
  for (const std::string& warning : warnings) Warn(warning);
  if (flags.json) {
    nlohmann::json kernels = nlohmann::json::array();
    for (const driver::ModelKernel& k : model->kernels) {
      if (k.call) {
        kernels.push_back(
            {{"nodes", k.nodes}, {"name", k.call->op}, {"workload", ""}, {"flops", 0}});
        continue;
      }
      const driver::KernelWorkload& w = model->workloads[k.workload];
      kernels.push_back({{"nodes", k.nodes},
                         {"name", w.name},
                         {"workload", w.hash.Hex()},
                         {"flops", te::FlopCount(w.program)}});
      if (flags.schedules) kernels.back()["schedule"] = schedules[k.workload];
    }
    Print(nlohmann::json{{"kernels", kernels}, {"passes", driver::PassNames()}}.dump(
              -1, ' ', false, nlohmann::json::error_handler_t::replace) +
          "\n");
    return Flush();
  }
  if (!flags.kernels_only) Print(graph::Print(model->graph) + "\n");
  std::vector<std::vector<std::string>> rows = {{"#", "kernel", "MFLOP", "workload", "nodes"}};
  for (size_t i = 0; i < model->kernels.size(); ++i) {
    const driver::ModelKernel& k = model->kernels[i];
    if (k.call) {
      rows.push_back({std::to_string(i), k.call->op + " (runtime)", "-", "-",
                      EscapeControl(JoinStrings(k.nodes, ", "))});
      continue;
    }
    const driver::KernelWorkload& w = model->workloads[k.workload];
    rows.push_back({std::to_string(i), w.name,
                    fmt::format("{:.2f}", te::FlopCount(w.program) * 1e-6), w.hash.ShortHex(),
                    EscapeControl(JoinStrings(k.nodes, ", "))});
  }
  Print(FormatTable(rows, {true, false, true}));
  Print(fmt::format("{} kernels, {} distinct\npasses: {}\n", model->kernels.size(),
                    model->workloads.size(), JoinStrings(driver::PassNames(), ", ")));
  for (size_t i = 0; flags.schedules && i < schedules.size(); ++i) {
    const driver::KernelWorkload& w = model->workloads[i];
    Print(fmt::format("\n# {} {}\n{}\n", w.hash.ShortHex(), EscapeControl(w.name), schedules[i]));
  }
  return Flush();
}

}  // namespace

Command AddInspectCommand(CLI::App& root) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* app = root.add_subcommand("inspect", "Show a model's kernels, compiled or not");
  app->footer(std::string(kExample));
  AddModelOptions(app, &flags->model, true);
  app->get_option("model")->description("ONNX model, or compiled model (.so)")->required(false);
  app->add_option("--db", flags->db,
                  "Tuning database: of a model's schedules, or of --kernel alone");
  AddTargetOption(app, &flags->model);
  AddThreadsOption(app, &flags->model);
  app->add_flag("--kernels", flags->kernels_only, "The kernels alone, without the graph");
  app->add_flag("--schedules", flags->schedules, "Print the schedules too");
  auto* kernel = app->add_option("--kernel", flags->kernel, "Start of a workload's hash");
  app->add_flag("--schedule", flags->schedule, "Of --kernel: its schedule")->needs(kernel);
  app->add_flag("--tir", flags->loop_nest, "Of --kernel: its loop nest")->needs(kernel);
  app->add_flag("--asm", flags->assembly, "Of --kernel: its assembly")->needs(kernel);
  app->add_flag("--json", flags->json, "One JSON object on stdout");
  return {app, [flags, app] {
            flags->target_given = app->count("--target") > 0;
            flags->threads_given = app->count("--threads") > 0;
            if (IsCompiled(flags->model.model)) {
              for (const char* option : {"--shape", "--value", "--disable-pass", "--print-after"}) {
                if (app->count(option) == 0) continue;
                return FailUsage("inspect", std::string(option) + " is for an ONNX model; " +
                                                flags->model.model + " is compiled already");
              }
            }
            if (app->count("--kernel") > 0) return InspectKernel(*flags);
            if (flags->model.model.empty()) {
              return FailUsage("inspect", "give a model, or --db with --kernel");
            }
            return IsCompiled(flags->model.model) ? InspectCompiled(*flags) : InspectModel(*flags);
          }};
}

}  // namespace temper::tools
