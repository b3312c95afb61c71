// The verbs of `temper`: one file each, listed in main.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace temper::tools {

// A verb that was added to the parser. `run` is called when the command line names it, and returns
// the exit status: 0 for success, 1 for a failure of the work, 2 for wrong usage.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

Command AddTuneCommand(CLI::App& root);
Command AddCompileCommand(CLI::App& root);
Command AddRunCommand(CLI::App& root);
Command AddBenchCommand(CLI::App& root);
Command AddQueryCommand(CLI::App& root);
Command AddDbCommand(CLI::App& root);
Command AddDevicesCommand(CLI::App& root);
Command AddDoctorCommand(CLI::App& root);
Command AddInspectCommand(CLI::App& root);
Command AddJobsCommand(CLI::App& root);

}  // namespace temper::tools
