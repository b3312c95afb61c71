// temper inspect: what a model or a compiled model consists of.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/text.h"
#include "compiler/driver/choose.h"
#include "compiler/graph/print.h"
#include "compiler/schedule/text.h"
#include "compiler/target/native_target.h"
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

nlohmann::json SpecializationJson(const temper_model* m, const temper_specialization_info& s) {
  nlohmann::json json = {{"inputs", nlohmann::json::array()},
                         {"optional", nlohmann::json::array()},
                         {"outputs", nlohmann::json::array()},
                         {"fixed_defaults", s.fixed_defaults != 0},
                         {"arena_bytes", s.arena_bytes}};
  for (int i = 0; i < temper_input_count(m); ++i) json["inputs"].push_back(TensorJson(s.inputs[i]));
  for (int i = 0; i < temper_optional_count(m); ++i) {
    json["optional"].push_back(TensorJson(s.optional[i]));
  }
  for (int i = 0; i < temper_output_count(m); ++i) {
    json["outputs"].push_back(TensorJson(s.outputs[i]));
  }
  return json;
}

nlohmann::json CompiledJson(const temper_model* m) {
  nlohmann::json json = SpecializationJson(m, *temper_specialization(m, 0));
  json["target"] = temper_target(m);
  json["producer"] = temper_producer(m);
  json["threads"] = temper_compiled_threads(m);
  json["arena_bytes"] = temper_arena_bytes(m);
  json["weight_bytes"] = temper_weight_bytes(m);
  json["kernels"] = nlohmann::json::array();
  json["specializations"] = nlohmann::json::array();
  for (int k = 0; k < temper_specialization_count(m); ++k) {
    const temper_specialization_info& s = *temper_specialization(m, k);
    json["specializations"].push_back(SpecializationJson(m, s));
    for (int i = 0; i < s.step_count; ++i) {
      const temper_step_info& step = s.steps[i];
      json["kernels"].push_back({{"nodes", SplitNames(step.nodes)},
                                 {"name", KernelName(m, step)},
                                 {"workload", step.workload},
                                 {"source", step.source},
                                 {"expected_us", step.expected_us},
                                 {"flops", step.flops},
                                 {"bytes", step.bytes},
                                 {"schedule", step.schedule},
                                 {"specialization", k}});
    }
  }
  return json;
}

void PrintSpecialization(const temper_model* m, const temper_specialization_info& s,
                         bool schedules) {
  for (int i = 0; i < temper_input_count(m); ++i) {
    Print("input  " + EscapeControl(Describe(s.inputs[i])) + "\n");
  }
  for (int i = 0; i < temper_optional_count(m); ++i) {
    Print("input  " + EscapeControl(Describe(s.optional[i])) +
          (s.fixed_defaults ? ", has its default\n" : ", optional\n"));
  }
  for (int i = 0; i < temper_output_count(m); ++i) {
    Print("output " + EscapeControl(Describe(s.outputs[i])) + "\n");
  }
  std::vector<std::vector<std::string>> rows = {
      {"#", "MFLOP", "expected us", "source", "workload", "kernel", "nodes"}};
  for (int i = 0; i < s.step_count; ++i) {
    const temper_step_info& step = s.steps[i];
    rows.push_back({std::to_string(i), fmt::format("{:.2f}", step.flops * 1e-6),
                    step.expected_us > 0 ? fmt::format("{:.1f}", step.expected_us) : "-",
                    step.source, std::string(step.workload).substr(0, 12), KernelName(m, step),
                    EscapeControl(JoinStrings(SplitNames(step.nodes), ", "))});
  }
  Print(FormatTable(rows, {true, true, true}));
  for (int i = 0; schedules && i < s.step_count; ++i) {
    Print(fmt::format("\n# {}\n{}\n", i, EscapeControl(s.steps[i].schedule)));
  }
}

int InspectCompiled(const InspectFlags& flags) {
  auto opened = OpenModel(flags.model.model, 1);
  if (!opened.ok()) return Fail(opened.status());
  const temper_model* m = opened->get();
  if (flags.json) {
    Print(CompiledJson(m).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return Flush();
  }
  Print(fmt::format("compiled for {} by {}, {} thread{}\nweights {}, scratch memory {}\n",
                    temper_target(m), temper_producer(m), temper_compiled_threads(m),
                    temper_compiled_threads(m) == 1 ? "" : "s",
                    FormatBytes(static_cast<double>(temper_weight_bytes(m))),
                    FormatBytes(static_cast<double>(temper_arena_bytes(m)))));
  const int count = temper_specialization_count(m);
  for (int k = 0; k < count; ++k) {
    if (count > 1) Print(fmt::format("\nspecialization {}\n", k + 1));
    PrintSpecialization(m, *temper_specialization(m, k), flags.schedules);
  }
  return Flush();
}

void PrintKernels(const driver::ModelKernels& model, const driver::Specialization& s) {
  std::vector<std::vector<std::string>> rows = {{"#", "kernel", "MFLOP", "workload", "nodes"}};
  const std::vector<const driver::ModelKernel*> kernels = driver::AllKernels(s);
  for (size_t i = 0; i < kernels.size(); ++i) {
    const driver::ModelKernel& k = *kernels[i];
    const std::string nodes = EscapeControl(JoinStrings(k.nodes, ", "));
    if (k.workload < 0) {
      rows.push_back(
          {std::to_string(i), k.call ? k.call->op + " (runtime)" : k.control_op, "-", "-", nodes});
      continue;
    }
    const driver::KernelWorkload& w = model.workloads[k.workload];
    rows.push_back({std::to_string(i), w.name,
                    fmt::format("{:.2f}", te::FlopCount(w.program) * 1e-6), w.hash.ShortHex(),
                    nodes});
  }
  Print(FormatTable(rows, {true, false, true}));
}

int InspectModel(const InspectFlags& flags) {
  auto frontend = MakeFrontendOptions(flags.model);
  if (!frontend.ok()) return FailUsage("inspect", frontend.status().message());
  auto target = TargetOf(flags.model.target, Logger::Stderr("temper", LogLevel::kWarning));
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
  size_t kernel_count = 0;
  nlohmann::json kernels = nlohmann::json::array();
  for (size_t n = 0; n < model->specializations.size(); ++n) {
    const driver::Specialization& s = model->specializations[n];
    for (const driver::ModelKernel* call : driver::AllKernels(s)) {
      const driver::ModelKernel& k = *call;
      ++kernel_count;
      nlohmann::json kernel = {{"nodes", k.nodes},
                               {"name", k.call ? k.call->op : k.control_op},
                               {"workload", ""},
                               {"flops", 0},
                               {"specialization", n}};
      if (k.workload >= 0) {
        const driver::KernelWorkload& w = model->workloads[k.workload];
        kernel["name"] = w.name;
        kernel["workload"] = w.hash.Hex();
        kernel["flops"] = te::FlopCount(w.program);
        if (flags.schedules) kernel["schedule"] = schedules[k.workload];
      }
      kernels.push_back(std::move(kernel));
    }
    if (flags.json) continue;
    if (model->specializations.size() > 1) Print(fmt::format("specialization {}\n", n + 1));
    if (!flags.kernels_only) Print(graph::Print(s.graph) + "\n");
    PrintKernels(*model, s);
  }
  if (flags.json) {
    Print(nlohmann::json{{"kernels", kernels}, {"passes", driver::PassNames()}}.dump(
              -1, ' ', false, nlohmann::json::error_handler_t::replace) +
          "\n");
    return Flush();
  }
  Print(fmt::format("{} kernels, {} distinct\npasses: {}\n", kernel_count, model->workloads.size(),
                    JoinStrings(driver::PassNames(), ", ")));
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
              for (const char* option : {"--shape", "--value", "--max-trips", "--unroll",
                                         "--disable-pass", "--print-after"}) {
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
