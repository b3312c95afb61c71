#include "compiler/tools/kernel_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "compiler/codegen/codegen.h"
#include "compiler/schedule/text.h"
#include "compiler/te/canonical.h"
#include "compiler/tir/printer.h"

namespace temper::tools {
namespace {

constexpr size_t kListed = 20;

// The one hash of `known` (names by hash) that starts with the prefix.
Result<std::string> OnlyMatch(const std::map<std::string, std::string>& known,
                              const std::string& prefix) {
  std::vector<std::string> matches;
  for (const auto& [hash, name] : known) {
    if (hash.starts_with(prefix)) matches.push_back(hash);
  }
  if (matches.size() == 1) return matches[0];
  const bool none = matches.empty();
  std::string list;
  size_t listed = 0;
  for (const auto& [hash, name] : known) {
    if (!none && !hash.starts_with(prefix)) continue;
    if (++listed > kListed) {
      list += "\n  ...";
      break;
    }
    list += fmt::format("\n  {} {}", hash.substr(0, std::max<size_t>(12, prefix.size() + 4)), name);
  }
  const std::string what = "with a hash that starts with " + Quoted(prefix);
  if (!none) return InvalidArgument("there are several kernels " + what + ":" + list);
  return NotFound("there is no kernel " + what + (list.empty() ? "" : ". There are:" + list));
}

// Why no kernel of a database is shown though one's hash starts so: it has no time, or only for
// other devices or threads than were asked for. OK where there is none.
Status KnownOtherwise(db::RecordStore& store, const std::string& prefix) {
  TEMPER_ASSIGN_OR_RETURN(const std::vector<db::KeySummary> all, store.Summaries({}));
  std::set<std::string> lines;
  for (const db::KeySummary& s : all) {
    const std::string hash = s.key.workload.Hex();
    if (!hash.starts_with(prefix)) continue;
    lines.insert(fmt::format("\n  {} {}: --threads {}, target {} ({}){}", hash.substr(0, 12),
                             EscapeControl(s.task_name), s.key.threads, EscapeControl(s.key.target),
                             EscapeControl(s.micro_architecture),
                             s.best ? "" : ", without a candidate that worked (temper db stats)"));
    if (lines.size() == kListed) break;
  }
  if (lines.empty()) return OkStatus();
  std::string list;
  for (const std::string& line : lines) list += line;
  return NotFound("there is no kernel with a hash that starts with " + Quoted(prefix) +
                  " and a time for what --threads and --target ask for. There are:" + list);
}

Result<lower::Lowered> Lowered(const KernelView& kernel) {
  auto schedule = schedule::ParseText(kernel.schedule);
  if (!schedule.ok()) return schedule.status().WithContext("its schedule");
  auto lowered = lower::LowerToLoops(kernel.program, *schedule, kernel.target);
  if (!lowered.ok()) {
    return lowered.status().WithContext("its schedule does not fit this version's compiler");
  }
  return lowered;
}

}  // namespace

Result<KernelView> FindInStore(db::RecordStore& store, const KernelQuery& query) {
  db::RecordFilter filter;
  if (!query.target.empty()) filter.target = query.target;
  if (query.threads > 0) filter.threads = query.threads;
  TEMPER_ASSIGN_OR_RETURN(std::vector<db::KeySummary> all, store.Summaries(filter));
  std::map<std::string, std::string> known;
  for (const db::KeySummary& s : all) {
    if (s.best) known.emplace(s.key.workload.Hex(), s.task_name);
  }
  const bool none = std::none_of(known.begin(), known.end(),
                                 [&](const auto& k) { return k.first.starts_with(query.prefix); });
  if (none) TEMPER_RETURN_IF_ERROR(KnownOtherwise(store, query.prefix));
  TEMPER_ASSIGN_OR_RETURN(const std::string hash, OnlyMatch(known, query.prefix));
  std::erase_if(all, [&](const auto& s) { return !s.best || s.key.workload.Hex() != hash; });
  // Of several targets this machine's, of several numbers of threads the least, of several numerics
  // the fastest; cold constants before warm ones.
  const std::string own = Fingerprint(DetectTarget());
  const db::KeySummary& s = *std::min_element(all.begin(), all.end(), [&](auto& a, auto& b) {
    return std::tuple(a.key.target != own, a.key.threads, a.key.constants, a.best->RankUs()) <
           std::tuple(b.key.target != own, b.key.threads, b.key.constants, b.best->RankUs());
  });
  KernelView view;
  view.hash = hash;
  view.name = s.task_name;
  TEMPER_ASSIGN_OR_RETURN(view.program, te::ParseProgram(s.best->workload_text));
  TEMPER_ASSIGN_OR_RETURN(view.target, ParseTargetText(s.best->target_text));
  view.schedule = s.best->schedule;
  view.threads = s.key.threads;
  view.flops = te::FlopCount(view.program);
  view.us = s.best->RankUs();
  view.us_are = fmt::format("the best of {} trials, by {}{}", s.trials, s.best->worker,
                            s.key.constants == Constants::kWarm ? ", its constants warm" : "");
  return view;
}

Result<KernelView> FindInCompiled(const temper_model* model, const KernelQuery& query) {
  std::map<std::string, std::string> known;
  std::vector<const temper_step_info*> steps;  // of all specializations
  for (int k = 0; k < temper_specialization_count(model); ++k) {
    const temper_specialization_info& s = *temper_specialization(model, k);
    for (int i = 0; i < s.step_count; ++i) steps.push_back(&s.steps[i]);
  }
  for (const temper_step_info* step : steps) {
    const temper_workload_info* workload = temper_workload(model, step->workload);
    known.emplace(step->workload, workload != nullptr ? workload->name : "");
  }
  TEMPER_ASSIGN_OR_RETURN(const std::string hash, OnlyMatch(known, query.prefix));
  const temper_workload_info* workload = temper_workload(model, hash.c_str());
  if (workload == nullptr || *workload->program == '\0') {
    return FailedPrecondition(
        "the compiled model does not hold what this kernel computes; "
        "compile it again with this version");
  }
  KernelView view;
  view.hash = hash;
  view.name = workload->name;
  TEMPER_ASSIGN_OR_RETURN(view.program, te::ParseProgram(workload->program));
  TEMPER_ASSIGN_OR_RETURN(view.target, ParseTargetText(temper_target(model)));
  view.threads = temper_compiled_threads(model);
  view.flops = te::FlopCount(view.program);
  const auto step = std::find_if(steps.begin(), steps.end(),
                                 [&](const temper_step_info* s) { return hash == s->workload; });
  view.schedule = (*step)->schedule;
  view.us = (*step)->expected_us;
  view.us_are = fmt::format("expected, {}", (*step)->source);
  return view;
}

Result<KernelView> FindInModel(const driver::ModelKernels& model, const KernelQuery& query,
                               const Target& target, driver::ScheduleSource* source,
                               const driver::ScheduleChooser& chooser,
                               std::vector<std::string>* warnings) {
  std::map<std::string, std::string> known;
  for (const auto& w : model.workloads) known.emplace(w.hash.Hex(), w.name);
  TEMPER_ASSIGN_OR_RETURN(const std::string hash, OnlyMatch(known, query.prefix));
  const auto workload = std::find_if(model.workloads.begin(), model.workloads.end(),
                                     [&](const auto& w) { return w.hash.Hex() == hash; });
  const int threads = std::max(query.threads, 1);
  TEMPER_ASSIGN_OR_RETURN(auto chosen, driver::ChooseSchedules({*workload}, {target, threads},
                                                               source, chooser, warnings));
  KernelView view;
  view.hash = hash;
  view.name = workload->name;
  view.program = workload->program;
  view.schedule = schedule::ToText(chosen[0].schedule);
  view.target = target;
  view.threads = threads;
  view.flops = te::FlopCount(view.program);
  view.us = chosen[0].expected_us;
  view.us_are = fmt::format("expected, {}", driver::SourceName(chosen[0].level));
  return view;
}

std::string ScheduleOf(const KernelView& kernel) {
  std::string text;
  for (std::string_view item : SplitString(kernel.schedule, ';')) {
    item = StripWhitespace(item);
    if (!item.empty()) text += (text.empty() ? "" : "  ") + EscapeControl(item) + ";\n";
  }
  return text;
}

Result<std::string> LoopNestOf(const KernelView& kernel) {
  TEMPER_ASSIGN_OR_RETURN(const lower::Lowered lowered, Lowered(kernel));
  return tir::ToText(lowered.function);
}

Result<std::string> AssemblyOf(const KernelView& kernel) {
  TEMPER_ASSIGN_OR_RETURN(const lower::Lowered lowered, Lowered(kernel));
  TEMPER_ASSIGN_OR_RETURN(const tir::Function finished,
                          lower::Finish(lowered.function, kernel.target));
  TEMPER_ASSIGN_OR_RETURN(auto compiler, codegen::MakeLlvmCompiler(kernel.target));
  return compiler->Assembly({"kernel", &kernel.program, &lowered, &finished});
}

}  // namespace temper::tools
