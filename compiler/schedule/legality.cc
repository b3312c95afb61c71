#include "compiler/schedule/legality.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/schedule/readers.h"
#include "compiler/schedule/steps.h"
#include "compiler/te/alternatives.h"

namespace temper::schedule {
namespace {

constexpr size_t kMaxLoops = 32;
constexpr int64_t kMaxFactor = int64_t{1} << 31;
constexpr int64_t kMaxVector = 64;

class Check {
 public:
  Check(const te::Program& program, const Schedule& schedule)
      : program_(program), schedule_(schedule), readers_(ReadersOf(program)) {}

  Status Run() {
    if (schedule_.threads < 1 || schedule_.threads > 1024) {
      return FailedPrecondition("the schedule's threads are out of range");
    }
    if (schedule_.stages.size() != program_.stages.size()) {
      return FailedPrecondition(fmt::format("the schedule has {} stages and the program has {}",
                                            schedule_.stages.size(), program_.stages.size()));
    }
    for (size_t s = 0; s < schedule_.stages.size(); ++s) {
      stage_ = static_cast<int>(s);
      const StageSchedule& ss = schedule_.stages[s];
      TEMPER_RETURN_IF_ERROR(CheckPlace(ss));
      if (ss.place.kind == PlaceKind::kInline || ss.place.kind == PlaceKind::kConstant) continue;
      TEMPER_RETURN_IF_ERROR(CheckGroups(ss));
      TEMPER_RETURN_IF_ERROR(CheckOrder(ss));
      TEMPER_RETURN_IF_ERROR(CheckBinds(ss));
      TEMPER_RETURN_IF_ERROR(CheckPrefetches(ss));
    }
    return OkStatus();
  }

 private:
  const te::Stage& Stage() const { return program_.stages[stage_]; }
  bool IsOutput() const {
    return std::find(program_.outputs.begin(), program_.outputs.end(), Stage().tensor) !=
           program_.outputs.end();
  }
  Status Fail(const std::string& what) const {
    return FailedPrecondition(fmt::format("stage {} '{}': {}", stage_, Stage().name, what));
  }

  Status CheckPlace(const StageSchedule& ss) const {
    switch (ss.place.kind) {
      case PlaceKind::kRoot:
        if (ss.scope != (IsOutput() ? tir::Scope::kParam : tir::Scope::kWorkspace)) {
          return Fail("at root an output is a parameter and anything else lies in the workspace");
        }
        return OkStatus();
      case PlaceKind::kInline:
        if (Stage().combiner != te::Combiner::kNone) return Fail("a reduction cannot be inlined");
        if (IsOutput()) return Fail("an output cannot be inlined");
        return OkStatus();
      case PlaceKind::kConstant:
        return CheckConstant();
      case PlaceKind::kAt:
        return CheckAt(ss);
    }
    return Fail("its place is unknown");
  }

  Status CheckConstant() const {
    int first = static_cast<int>(program_.tensors.size() - schedule_.steps.size());
    int step = Stage().tensor - first;
    if (step < 0 || schedule_.steps[step].kind != StepKind::kPack) {
      return Fail("only a pack can be computed when the kernel is compiled");
    }
    const te::Tensor& t = program_.tensors[schedule_.steps[step].target];
    if (!t.constant) return Fail("it packs a tensor that is not constant");
    return OkStatus();
  }

  Status CheckAt(const StageSchedule& ss) const {
    if (IsOutput()) return Fail("an output is computed at root");
    if (ss.scope != tir::Scope::kStack && ss.scope != tir::Scope::kRegister) {
      return Fail("inside a loop a result lies on the stack or in registers");
    }
    int at = ss.place.stage;
    if (at <= stage_ || at >= static_cast<int>(schedule_.stages.size())) {
      return Fail("it must be placed in a loop of a later stage");
    }
    const StageSchedule& host = schedule_.stages[at];
    if (host.place.kind == PlaceKind::kInline || host.place.kind == PlaceKind::kConstant) {
      return Fail("it is placed in a stage that has no loops");
    }
    if (ss.place.loop < 0 || ss.place.loop >= static_cast<int>(host.order.size())) {
      return Fail("it is placed in a loop that does not exist");
    }
    for (int i = 0; i <= ss.place.loop; ++i) {
      if (host.order[i].bind == Bind::kVector) return Fail("it is placed inside a vector loop");
    }
    std::vector<int> pending(readers_[stage_]);
    for (size_t i = 0; i < pending.size(); ++i) {
      int r = pending[i];
      if (schedule_.stages[r].place.kind == PlaceKind::kInline) {
        pending.insert(pending.end(), readers_[r].begin(), readers_[r].end());
      } else if (!Encloses(at, ss.place.loop, r)) {
        return Fail(fmt::format("stage {} reads it from outside its loop", r));
      }
      if (pending.size() > 4096) return Fail("it has too many readers");
    }
    return OkStatus();
  }

  // Whether stage `reader` runs inside loop `loop` of stage `at`, after what is placed there.
  bool Encloses(int at, int loop, int reader) const {
    int inner = 1 << 20;
    for (int hops = 0; hops <= static_cast<int>(schedule_.stages.size()); ++hops) {
      if (reader == at) return inner >= loop;
      const Place& p = schedule_.stages[reader].place;
      if (p.kind != PlaceKind::kAt || p.stage < 0 ||
          p.stage >= static_cast<int>(schedule_.stages.size())) {
        return false;
      }
      inner = p.loop;
      reader = p.stage;
    }
    return false;
  }

  Status CheckGroups(const StageSchedule& ss) const {
    std::vector<bool> used(Stage().axis_count(), false);
    for (const Group& g : ss.groups) {
      if (g.axes.empty()) return Fail("a group has no axis");
      for (int a : g.axes) {
        if (a < 0 || a >= Stage().axis_count()) return Fail(fmt::format("there is no axis {}", a));
        if (used[a]) return Fail(fmt::format("axis {} is in two groups", a));
        used[a] = true;
        if (Stage().IsReduction(a) != Stage().IsReduction(g.axes[0])) {
          return Fail("a group mixes spatial and reduction axes");
        }
      }
      int64_t product = 1;
      for (int64_t f : g.factors) {
        if (f < 1 || f > kMaxFactor || product > kMaxFactor / f) {
          return Fail(fmt::format("factor {} is out of range", f));
        }
        product *= f;
      }
      if (g.edge != Edge::kDivides && Stage().IsReduction(g.axes[0])) {
        return Fail("the factors of a reduction must divide it");
      }
      if (g.edge == Edge::kMask && g.axes.size() != 1) {
        return Fail("only a single axis can be masked");
      }
    }
    for (size_t a = 0; a < used.size(); ++a) {
      if (!used[a]) return Fail(fmt::format("axis {} is in no group", a));
    }
    return OkStatus();
  }

  Status CheckOrder(const StageSchedule& ss) const {
    size_t loops = 0;
    for (const Group& g : ss.groups) loops += g.factors.size() + 1;
    if (loops > kMaxLoops) return Fail(fmt::format("it has {} loops, more than 32", loops));
    if (ss.order.size() != loops) {
      return Fail(fmt::format("its order lists {} loops of {}", ss.order.size(), loops));
    }
    std::vector<int> next(ss.groups.size(), 0);
    bool reducing = false;
    for (const LoopRef& l : ss.order) {
      if (l.group < 0 || l.group >= static_cast<int>(ss.groups.size()) ||
          l.level > static_cast<int>(ss.groups[l.group].factors.size())) {
        return Fail("its order names a loop that does not exist");
      }
      if (l.level != next[l.group]) {
        return Fail("its order lists the loops of a group out of order");
      }
      ++next[l.group];
      reducing |= Stage().IsReduction(ss.groups[l.group].axes[0]);
      if (reducing && l.level == 0 && ss.groups[l.group].edge == Edge::kClip) {
        return Fail("a clipped tile inside a reduction would be added up twice");
      }
    }
    return OkStatus();
  }

  Status CheckBinds(const StageSchedule& ss) const {
    bool serial_seen = false;
    int64_t unrolled = 1;
    for (size_t i = 0; i < ss.order.size(); ++i) {
      const LoopRef& l = ss.order[i];
      const Group& g = ss.groups[l.group];
      bool reduction = Stage().IsReduction(g.axes[0]);
      int64_t extent = l.level > 0 ? g.factors[l.level - 1] : 1;
      switch (l.bind) {
        case Bind::kParallel:
          if (serial_seen || ss.place.kind != PlaceKind::kRoot) {
            return Fail("only the outermost loops at root can be parallel");
          }
          if (reduction) return Fail("a reduction cannot be parallel");
          continue;
        case Bind::kVector:
          if (i + 1 != ss.order.size()) return Fail("only the innermost loop can be a vector");
          if (l.level == 0) return Fail("a vector loop has an extent of its own, a factor");
          if (extent > kMaxVector || (extent & (extent - 1)) != 0) {
            return Fail(fmt::format("a vector of {} lanes is out of range", extent));
          }
          break;
        case Bind::kUnroll:
          if (unrolled > kMaxUnroll / extent) return Fail("it unrolls too much");
          unrolled *= extent;
          break;
        case Bind::kSerial:
          break;
      }
      serial_seen = true;
    }
    return OkStatus();
  }

  Status CheckPrefetches(const StageSchedule& ss) const {
    if (ss.prefetches.size() > 8) return Fail("it has too many prefetches");
    for (const Prefetch& p : ss.prefetches) {
      if (p.tensor < 0 || p.tensor >= static_cast<int>(program_.tensors.size()) || p.loop < 0 ||
          p.loop >= static_cast<int>(ss.order.size()) || p.distance < 1 || p.distance > 1 << 16) {
        return Fail("a prefetch is out of range");
      }
      if (ss.order[p.loop].bind != Bind::kSerial) return Fail("only serial loops prefetch");
    }
    return OkStatus();
  }

  const te::Program& program_;
  const Schedule& schedule_;
  std::vector<std::vector<int>> readers_;
  int stage_ = 0;
};

}  // namespace

Status CheckLegal(const te::Program& program, const Schedule& schedule, const Target&) {
  TEMPER_ASSIGN_OR_RETURN(te::Program chosen, te::MakeAlternative(program, schedule.alternative));
  TEMPER_ASSIGN_OR_RETURN(te::Program p, ApplySteps(chosen, schedule.steps));
  return CheckStages(p, schedule);
}

Status CheckStages(const te::Program& stepped, const Schedule& schedule) {
  return Check(stepped, schedule).Run();
}

}  // namespace temper::schedule
