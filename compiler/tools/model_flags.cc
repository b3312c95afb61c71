#include "compiler/tools/model_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/host_port.h"
#include "base/text.h"
#include "compiler/graph/print.h"
#include "compiler/import/import.h"

namespace temper::tools {

void AddModelOptions(CLI::App* app, ModelFlags* flags, bool passes) {
  app->add_option("model", flags->model, "ONNX model")->required();
  app->add_option(
      "--shape", flags->shapes,
      "INPUT=1x3x224x224: shape of an input, for dimensions that the model leaves open");
  if (!passes) return;
  app->add_option("--disable-pass", flags->disabled_passes, "Leave out a graph pass, by name");
  app->add_option("--print-after", flags->print_after,
                  "Print the graph after a pass, by name, on stderr; `import` before all, `all`");
}

void AddTargetOption(CLI::App* app, ModelFlags* flags) {
  app->add_option("--target", flags->target, "Device to compile for: native, or a name")
      ->capture_default_str();
}

void AddThreadsOption(CLI::App* app, ModelFlags* flags) {
  app->add_option("--threads", flags->threads, "Threads that a run uses")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
}

CLI::Option* AddServerOption(CLI::App* app, std::string* server) {
  return app->add_option("--server", *server, "HOST:PORT of a tuner-server")
      ->check([](const std::string& text) {
        return ParseHostPort(text).status().message();  // "": well-formed
      });
}

CLI::Validator NumberCheck(double least, double most, bool least_excluded) {
  const auto check = [=](const std::string& text) -> std::string {
    const auto value = ParseDouble(text);
    if (value.ok() && *value <= most && (least_excluded ? *value > least : *value >= least)) {
      return "";
    }
    return fmt::format("{} is not a number {} {} and up to {}", Quoted(text),
                       least_excluded ? "above" : "from", least, most);
  };
  return CLI::Validator(check, "", "");
}

Result<driver::FrontendOptions> MakeFrontendOptions(const ModelFlags& flags) {
  driver::FrontendOptions options;
  importer::ImportOptions import;
  for (const std::string& shape : flags.shapes) {
    TEMPER_RETURN_IF_ERROR(importer::ParseShapeFlag(shape, &import));
  }
  options.shapes = std::move(import.shapes);
  options.disabled_passes = flags.disabled_passes;
  TEMPER_RETURN_IF_ERROR(
      driver::CheckDisabledPasses(flags.disabled_passes).WithContext("--disable-pass"));
  std::vector<std::string> known = driver::PassNames();
  known.emplace_back("import");
  known.emplace_back("all");
  for (const std::string& name : flags.print_after) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return InvalidArgument(fmt::format("--print-after: there is no pass {}. There are: {}",
                                         Quoted(name), JoinStrings(known, ", ")));
    }
  }
  if (!flags.print_after.empty()) {
    options.after_pass = [wanted = flags.print_after](std::string_view pass,
                                                      const graph::Graph& graph) {
      for (const std::string& name : wanted) {
        if (name != pass && name != "all") continue;
        fmt::print(stderr, "--- after {}\n{}\n", EscapeControl(pass), graph::Print(graph));
        return;
      }
    };
  }
  return options;
}

}  // namespace temper::tools
