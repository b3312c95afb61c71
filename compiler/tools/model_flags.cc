#include "compiler/tools/model_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/host_port.h"
#include "base/text.h"
#include "compiler/graph/print.h"
#include "compiler/import/import.h"
#include "compiler/tools/npy.h"

namespace temper::tools {

void AddModelOptions(CLI::App* app, ModelFlags* flags, bool passes) {
  app->add_option("model", flags->model, "ONNX model")->required();
  AddShapeOptions(app, flags);
  app->add_option("--value", flags->values,
                  "INPUT=@FILE.npy: fixes an input at this value, so that it may decide shapes");
  app->add_option(
      "--max-trips", flags->max_trips,
      "LOOP=N: the most trips of a Loop, by its node's name, whose number of trips only "
      "the run knows");
  app->add_option("--unroll", flags->unroll_nodes,
                  "Write a loop out, trip by trip, where that gives so many nodes at most")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  if (!passes) return;
  app->add_option("--disable-pass", flags->disabled_passes, "Leave out a graph pass, by name");
  app->add_option("--print-after", flags->print_after,
                  "Print the graph after a pass, by name, on stderr; `import` before all, `all`");
}

void AddShapeOptions(CLI::App* app, ModelFlags* flags) {
  app->add_option(
      "--shape", flags->shapes,
      "INPUT=1x3x224x224[,INPUT=...]: shapes of inputs, for dimensions that the model leaves open. "
      "An input that is named again begins a further set of shapes; the compiled model holds "
      "kernels for each set and picks by the inputs' shapes");
  auto* none = app->add_flag("--no-overridable", flags->no_overridable,
                             "Initializers that are inputs too are constants");
  app->add_option(
         "--overridable", flags->overridable,
         "NAME of an initializer that is an input too and that a run may override. Without "
         "this: from IR version 4 on all that can be")
      ->excludes(none);
}

void AddTargetOption(CLI::App* app, ModelFlags* flags) {
  app->add_option("--target", flags->target,
                  "Device to compile for: native, a name, or the description that doctor shows")
      ->capture_default_str();
}

void AddThreadsOption(CLI::App* app, ModelFlags* flags) {
  app->add_option("--threads", flags->threads, "Threads that a run uses")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
}

void AddNumericsOption(CLI::App* app, ModelFlags* flags) {
  app->add_option_function<std::string>(
         "--numerics",
         [flags](const std::string& name) { flags->numerics = *te::ParseNumerics(name); },
         "Error that kernels may show: strict (plain sums), balanced (and Winograd F(2x2)) or "
         "fast (and F(4x4), the default)")
      ->type_name("NAME")
      ->check([](const std::string& name) -> std::string {
        if (te::ParseNumerics(name)) return "";
        return Quoted(name) + " is none of strict, balanced and fast";
      });
}

void AddConstantsOption(CLI::App* app, ModelFlags* flags) {
  app->add_option_function<std::string>(
         "--constants",
         [flags](const std::string& name) { flags->constants = ParseConstants(name); },
         "Where a run finds large weights: warm (in the last-level cache, where the last run left "
         "them), cold (in memory) or auto (warm where the model's fit the cache, the default)")
      ->type_name("NAME")
      ->check([](const std::string& name) -> std::string {
        if (ParseConstants(name) || name == "auto") return "";
        return Quoted(name) + " is none of auto, warm and cold";
      });
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

namespace {

// "x=@file.npy" into options->values.
Status ParseValueFlag(const std::string& flag, driver::FrontendOptions* options) {
  const size_t equals = flag.rfind("=@");
  if (equals == std::string::npos || equals == 0) {
    return InvalidArgument(fmt::format("--value {}: expected NAME=@FILE.npy", Quoted(flag)));
  }
  const std::string name = flag.substr(0, equals);
  TEMPER_ASSIGN_OR_RETURN(const Array array, ReadNpy(flag.substr(equals + 2), DType::kInt64));
  if (!graph::ByteCount(array.dtype, array.shape)) {
    return InvalidArgument(fmt::format("--value {}: it is too large", Quoted(name)));
  }
  std::byte* data = nullptr;
  graph::Tensor tensor = graph::MakeTensor(array.dtype, array.shape, &data);
  std::copy(array.data.begin(), array.data.end(), data);
  if (!options->values.emplace(name, std::move(tensor)).second) {
    return InvalidArgument(fmt::format("--value names {} twice", Quoted(name)));
  }
  return OkStatus();
}

// "x=1x2,y=3" at the commas behind a shape: names may have commas and equal signs of their own.
std::vector<std::string> SplitShapes(std::string_view flag) {
  std::vector<std::string> pieces(1);
  for (const char c : flag) {
    const size_t equals = pieces.back().rfind('=');
    const bool complete =
        equals != std::string::npos && equals > 0 &&
        pieces.back().find_first_not_of("0123456789x", equals + 1) == std::string::npos;
    if (c == ',' && complete) {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  return pieces;
}

// One set of shapes after the other: an option that names an input again begins the next.
Result<std::vector<driver::InputShapes>> ParseShapeFlags(const std::vector<std::string>& flags) {
  std::vector<driver::InputShapes> sets;
  for (const std::string& flag : flags) {
    importer::ImportOptions named;
    for (const std::string& piece : SplitShapes(flag)) {
      TEMPER_RETURN_IF_ERROR(importer::ParseShapeFlag(piece, &named));
    }
    const auto known = [&](const auto& shape) { return sets.back().count(shape.first) != 0; };
    if (sets.empty() || std::any_of(named.shapes.begin(), named.shapes.end(), known)) {
      sets.emplace_back();
    }
    sets.back().merge(named.shapes);
  }
  if (sets.size() > driver::kMaxSpecializations) {
    return InvalidArgument(fmt::format("--shape gives {} sets of shapes; at most {} are possible",
                                       sets.size(), driver::kMaxSpecializations));
  }
  return sets;
}

// "decode=50" into options->max_trips.
Status ParseMaxTripsFlag(const std::string& flag, driver::FrontendOptions* options) {
  const size_t equals = flag.rfind('=');
  const auto refuse = [&] {
    return InvalidArgument(
        fmt::format("--max-trips {}: expected LOOP=N, such as decode=50", Quoted(flag)));
  };
  if (equals == std::string::npos || equals == 0) return refuse();
  int64_t trips = 0;
  const char* const end = flag.data() + flag.size();
  const auto [next, error] = std::from_chars(flag.data() + equals + 1, end, trips);
  if (error != std::errc() || next != end || trips < 0) return refuse();
  if (trips > importer::kMostDeclaredTrips) {
    return InvalidArgument(fmt::format("--max-trips {}: at most {} trips can be declared",
                                       Quoted(flag), importer::kMostDeclaredTrips));
  }
  if (!options->max_trips.emplace(flag.substr(0, equals), trips).second) {
    return InvalidArgument(
        fmt::format("--max-trips names {} twice", Quoted(flag.substr(0, equals))));
  }
  return OkStatus();
}

}  // namespace

Result<driver::FrontendOptions> MakeFrontendOptions(const ModelFlags& flags) {
  driver::FrontendOptions options;
  TEMPER_ASSIGN_OR_RETURN(options.shapes, ParseShapeFlags(flags.shapes));
  if (!flags.overridable.empty() || flags.no_overridable) options.overridable = flags.overridable;
  for (const std::string& value : flags.values) {
    TEMPER_RETURN_IF_ERROR(ParseValueFlag(value, &options));
  }
  for (const std::string& trips : flags.max_trips) {
    TEMPER_RETURN_IF_ERROR(ParseMaxTripsFlag(trips, &options));
  }
  options.unroll_nodes = flags.unroll_nodes;
  options.constants = flags.constants;
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
