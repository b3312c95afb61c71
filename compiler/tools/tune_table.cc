#include "compiler/tools/tune_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/text.h"

namespace temper::tools {
namespace {

constexpr size_t kNameWidth = 44;
constexpr double kMaxSeconds = 2400 * 3600.0;  // a hundred days

std::string Shortened(const std::string& name) {
  std::string text = EscapeControl(name);
  return text.size() <= kNameWidth ? text : text.substr(0, kNameWidth - 3) + "...";
}

// 0 stands for "not known".
std::string OrDash(double value, int digits) {
  return value > 0 ? fmt::format("{:.{}f}", value, digits) : "-";
}

}  // namespace

Result<double> ParseDuration(const std::string& text) {
  double unit = 1;
  std::string number = text;
  if (!text.empty()) {
    char last = text.back();
    if (last == 's' || last == 'm' || last == 'h') {
      unit = last == 'h' ? 3600 : last == 'm' ? 60 : 1;
      number.pop_back();
    }
  }
  auto value = ParseDouble(number);
  if (!value.ok() || *value <= 0) {
    return InvalidArgument(Quoted(text) + " is not a time above zero such as 90s, 5m or 1h");
  }
  if (*value * unit > kMaxSeconds) {
    return InvalidArgument(Quoted(text) +
                           fmt::format(" is too long: {:g}h at most", kMaxSeconds / 3600));
  }
  return *value * unit;
}

std::string FormatDuration(double seconds) {
  auto s = static_cast<int64_t>(std::clamp(seconds, 0.0, 1e9));
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string StatusLine(const proto::JobStatus& status) {
  std::string line =
      fmt::format("{}  {} trials", FormatDuration(status.seconds()), status.trials());
  if (status.seconds() > 0) {
    line += fmt::format(" ({:.1f}/s)", static_cast<double>(status.trials()) / status.seconds());
  }
  line += status.model_us() > 0 ? fmt::format("  model {:.3f} ms", status.model_us() / 1000)
                                : std::string("  model -");
  if (status.rank_correlation() != 0) {
    line += fmt::format("  predictions {:.2f}", status.rank_correlation());
  }
  if (status.phase() == proto::JOB_PHASE_DONE) return line + "  done";
  if (status.final_round()) line += "  timing the best again";
  if (status.remaining_seconds() > 0) {
    line += "  about " + FormatDuration(status.remaining_seconds()) + " left";
  }
  if (status.workers() == 0) line += "  waiting for a measure-worker";
  if (status.workers() > 1) line += fmt::format("  {} workers", status.workers());
  return line;
}

std::string StatusTable(const proto::JobStatus& status, int rows, bool color) {
  std::vector<int> order(static_cast<size_t>(status.tasks_size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return status.tasks(a).share() > status.tasks(b).share(); });
  std::string head = fmt::format("{:<{}} {:>5} {:>11} {:>9} {:>7} {:>6}", "task", kNameWidth,
                                 "times", "best us", "GFLOP/s", "trials", "share");
  std::string text = color ? "\033[1m" + head + "\033[0m\n" : head + "\n";
  int shown = 0;
  for (int i : order) {
    if (shown == rows) break;
    ++shown;
    const proto::TaskStatus& task = status.tasks(i);
    text += fmt::format("{:<{}} {:>5} {:>11} {:>9} {:>7} {:>5}%\n", Shortened(task.name()),
                        kNameWidth, fmt::format("{:g}", task.weight()), OrDash(task.best_us(), 1),
                        OrDash(task.gflops(), 1), task.trials(),
                        fmt::format("{:.1f}", task.share() * 100));
  }
  if (shown < status.tasks_size()) {
    text += fmt::format("... and {} more\n", status.tasks_size() - shown);
  }
  return text;
}

std::string PredictionLine(const proto::JobStatus& status) {
  if (status.rank_correlation() == 0) return "";
  return fmt::format(
      "predictions: rank correlation {:.2f} within the chosen batches (1: same order)\n",
      status.rank_correlation());
}

std::string SteadinessLine(const proto::JobStatus& status) {
  if (!(status.within() > 0)) return "";
  return fmt::format("times: four of five within {:.1f}% of their kernel's\n",
                     status.within() * 100);
}

std::string StatusJson(const proto::JobStatus& status) {
  nlohmann::json outcomes = nlohmann::json::object();
  int64_t ok = 0;
  for (const auto& count : status.outcomes()) {
    outcomes[count.outcome()] = count.count();
    if (count.outcome() == "ok") ok = count.count();
  }
  nlohmann::json tasks = nlohmann::json::array();
  for (const auto& task : status.tasks()) {
    tasks.push_back({{"name", task.name()},
                     {"workload", task.workload()},
                     {"trials", task.trials()},
                     {"best_us", task.best_us()},
                     {"gflops", task.gflops()},
                     {"weight", task.weight()},
                     {"constants", task.warm_constants() ? "warm" : "cold"},
                     {"share", task.share()}});
  }
  nlohmann::json all = {
      {"trials", status.trials()},
      {"seconds", status.seconds()},
      {"trials_per_second", status.seconds() > 0 ? static_cast<double>(ok) / status.seconds() : 0},
      {"model_ms", status.model_us() / 1000},
      {"outcomes", outcomes},
      {"rank_correlation", status.rank_correlation()},
      {"within", status.within()},
      {"warning", status.warning()},
      {"tasks", tasks}};
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace temper::tools
