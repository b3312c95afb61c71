// temper: the command line of the compiler and the tuning service.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "base/text.h"
#include "compiler/tools/command.h"
#include "compiler/tools/console.h"
#include "deploy/runtime/temper.h"

namespace {

using temper::tools::Command;

// The deepest verb that the command line named, for "See ... --help".
std::string NamedVerb(const CLI::App& root) {
  std::string verb = root.get_name();
  const CLI::App* app = &root;
  while (true) {
    const auto named = app->get_subcommands();
    if (named.empty()) return verb;
    app = named.front();
    verb += " " + app->get_name();
  }
}

// Where the word at which a verb should stand is none: says so, with those that there are.
bool SayUnknownVerb(CLI::App& root, int argc, char** argv) {
  CLI::App* app = &root;
  std::string path = root.get_name();
  for (int i = 1; i < argc; ++i) {
    const std::vector<CLI::App*> verbs = app->get_subcommands([](const CLI::App*) { return true; });
    if (verbs.empty() || argv[i][0] == '-') return false;
    CLI::App* named = nullptr;
    std::string names;
    for (CLI::App* verb : verbs) {
      if (verb->get_name() == argv[i]) named = verb;
      names += (names.empty() ? "" : ", ") + verb->get_name();
    }
    if (named == nullptr) {
      std::cerr << path << ": there is no verb " << temper::Quoted(argv[i])
                << ". The verbs are: " << names << ".\nSee " << path << " --help.\n";
      return true;
    }
    app = named;
    path += " " + app->get_name();
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App root(
      "Temper compiles ONNX models to fast native code, with schedules that a tuning "
      "service measured.\nStart with: temper tune MODEL.onnx --local, then temper compile "
      "MODEL.onnx -o model.so --db tuning.db",
      "temper");
  root.set_version_flag("--version", std::string("temper ") + TEMPER_VERSION);
  root.require_subcommand(0, 1);
  const std::vector<Command> commands = {
      temper::tools::AddTuneCommand(root),    temper::tools::AddCompileCommand(root),
      temper::tools::AddRunCommand(root),     temper::tools::AddBenchCommand(root),
      temper::tools::AddQueryCommand(root),   temper::tools::AddDbCommand(root),
      temper::tools::AddDevicesCommand(root), temper::tools::AddDoctorCommand(root),
      temper::tools::AddInspectCommand(root), temper::tools::AddJobsCommand(root),
  };
  root.footer("temper VERB --help explains a verb, with an example.");
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return root.exit(e);  // --help, --version
    if (SayUnknownVerb(root, argc, argv)) return temper::tools::kExitUsage;
    std::cerr << NamedVerb(root) << ": " << e.what() << "\nSee " << NamedVerb(root) << " --help.\n";
    return temper::tools::kExitUsage;
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  std::cerr << root.help();
  return temper::tools::kExitUsage;
}
