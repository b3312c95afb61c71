// temper devices: the workers of a server.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "compiler/tools/command.h"
#include "compiler/tools/console.h"
#include "compiler/tools/model_flags.h"
#include "compiler/tools/server_client.h"

namespace temper::tools {
namespace {

constexpr std::string_view kExample = R"(Example:
  temper devices --server 127.0.0.1:7400)";

struct DevicesFlags {
  std::string server = kDefaultServer;
  bool json = false;
};

std::string Join(const std::vector<int>& numbers) {
  std::string text;
  for (int n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

int Devices(const DevicesFlags& flags) {
  auto client = ConnectServer(flags.server);
  if (!client.ok()) return Fail(client.status());
  auto workers = (*client)->Workers();
  if (!workers.ok()) return Fail(workers.status());
  if (flags.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Worker& w : *workers) {
      list.push_back({{"name", w.name},
                      {"target", w.target},
                      {"fingerprint", w.fingerprint},
                      {"health", w.health},
                      {"cores", w.cores},
                      {"threads", w.threads},
                      {"unsandboxed", w.unsandboxed},
                      {"control_gflops", w.control_gflops},
                      {"done", w.done},
                      {"leased", w.leased},
                      {"seen_seconds_ago", w.seen_seconds_ago}});
    }
    Print(nlohmann::json{{"devices", list}}.dump() + "\n");
    return Flush();
  }
  if (workers->empty()) {
    Print("no workers. Start one with: measure-worker --server " + flags.server + "\n");
    return Flush();
  }
  std::vector<std::vector<std::string>> rows = {
      {"name", "target", "fingerprint", "health", "cores", "threads", "done", "leased", "GFLOP/s"}};
  for (const Worker& w : *workers) {
    rows.push_back({EscapeControl(w.name), EscapeControl(w.target), EscapeControl(w.fingerprint),
                    EscapeControl(w.health) + (w.unsandboxed ? ", unsandboxed" : ""), Join(w.cores),
                    std::to_string(w.threads), std::to_string(w.done), std::to_string(w.leased),
                    fmt::format("{:.1f}", w.control_gflops)});
  }
  Print(FormatTable(rows, {false, false, false, false, false, true, true, true, true}));
  return Flush();
}

}  // namespace

Command AddDevicesCommand(CLI::App& root) {
  auto flags = std::make_shared<DevicesFlags>();
  CLI::App* app = root.add_subcommand("devices", "List the workers of a tuner-server");
  app->footer(std::string(kExample));
  AddServerOption(app, &flags->server)->capture_default_str();
  app->add_flag("--json", flags->json, "One JSON object on stdout");
  return {app, [flags] { return Devices(*flags); }};
}

}  // namespace temper::tools
