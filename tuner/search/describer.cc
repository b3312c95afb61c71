// A loop nest depends on the schedules of the stages in it, on what is inlined into them and on the
// blocks of the packed tensors that they read; its key says all of that, and nothing of other
// nests. Legality is a matter of each nest too, once it is known which stage is in which.
#include <algorithm>
#include <cstring>

#include "compiler/lower/lower.h"
#include "compiler/schedule/legality.h"
#include "compiler/schedule/readers.h"
#include "compiler/schedule/steps.h"
#include "tuner/search/evaluate.h"

namespace temper::tuner {
namespace {

using schedule::PlaceKind;
using schedule::Schedule;
using schedule::StageSchedule;

constexpr size_t kMostNests = 512;  // about a megabyte
constexpr size_t kMostStructures = 64;
constexpr size_t kMostPrograms = 64;

class Key {
 public:
  void Add(int64_t value) {
    // Most are small: a byte, or an escape and eight.
    if (value >= 0 && value < 255) {
      text_.push_back(static_cast<char>(value));
      return;
    }
    char bytes[9] = {static_cast<char>(255)};
    std::memcpy(bytes + 1, &value, sizeof value);
    text_.append(bytes, sizeof bytes);
  }
  template <typename T>
  void AddAll(const std::vector<T>& values) {
    Add(static_cast<int64_t>(values.size()));
    for (const T& v : values) Add(v);
  }
  void Append(const std::string& text) { text_ += text; }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// The stage at root in whose nest stage `s` is; -1: in none, or the schedule is no legal one.
int RootOf(const Schedule& schedule, int s) {
  for (size_t hops = 0; hops <= schedule.stages.size(); ++hops) {
    if (s < 0 || s >= static_cast<int>(schedule.stages.size())) return -1;
    const schedule::Place& place = schedule.stages[s].place;
    if (place.kind == PlaceKind::kRoot) return s;
    if (place.kind != PlaceKind::kAt) return -1;
    s = place.stage;
  }
  return -1;
}

std::string StructureKey(const Schedule& schedule) {
  Key key;
  key.Add(schedule.threads);
  key.Add(static_cast<int64_t>(schedule.steps.size()));
  for (const schedule::Step& step : schedule.steps) {
    key.Add(static_cast<int64_t>(step.kind));
    key.Add(step.target);
    if (step.kind != schedule::StepKind::kSplitReduction) continue;
    key.Add(step.axis);
    key.Add(step.parts);
  }
  key.Add(static_cast<int64_t>(schedule.stages.size()));
  for (const StageSchedule& s : schedule.stages) key.Add(static_cast<int64_t>(s.place.kind));
  return key.Take();
}

void AddStep(const schedule::Step& step, Key* key) {
  key->Add(static_cast<int64_t>(step.kind));
  key->Add(step.target);
  key->Add(step.axis);
  key->Add(step.parts);
  key->Add(static_cast<int64_t>(step.dims.size()));
  for (const schedule::PackDim& d : step.dims) {
    key->Add(d.axis);
    key->Add(d.extent);
    key->Add(d.step);
  }
}

void AddStage(const StageSchedule& s, Key* key) {
  key->Add(static_cast<int64_t>(s.groups.size()));
  for (const schedule::Group& g : s.groups) {
    key->AddAll(g.axes);
    key->AddAll(g.factors);
    key->Add(static_cast<int64_t>(g.edge));
  }
  key->Add(static_cast<int64_t>(s.order.size()));
  for (const schedule::LoopRef& l : s.order) {
    key->Add(l.group);
    key->Add(l.level);
    key->Add(static_cast<int64_t>(l.bind));
  }
  key->Add(s.place.stage);
  key->Add(s.place.loop);
  key->Add(static_cast<int64_t>(s.scope));
  key->Add(static_cast<int64_t>(s.prefetches.size()));
  for (const schedule::Prefetch& f : s.prefetches) {
    key->Add(f.tensor);
    key->Add(f.loop);
    key->Add(f.distance);
  }
}

}  // namespace

Result<const te::Program*> Describer::Stepped(const Schedule& schedule) {
  Key key;
  for (const schedule::Step& step : schedule.steps) AddStep(step, &key);
  std::string text = key.Take();
  if (auto known = stepped_.find(text); known != stepped_.end()) return &known->second;
  TEMPER_ASSIGN_OR_RETURN(te::Program stepped,
                          schedule::ApplySteps(space_->alternative_program(), schedule.steps));
  if (stepped_.size() >= kMostPrograms) stepped_.clear();
  return &stepped_.emplace(std::move(text), std::move(stepped)).first->second;
}

Result<const Describer::Structure*> Describer::StructureOf(const Schedule& schedule,
                                                           const std::string& key) {
  if (auto known = structures_.find(key); known != structures_.end()) return &known->second;
  TEMPER_ASSIGN_OR_RETURN(const te::Program* stepped, Stepped(schedule));
  TEMPER_RETURN_IF_ERROR(schedule::CheckStages(*stepped, schedule));
  const std::vector<std::vector<int>> readers = schedule::ReadersOf(*stepped);
  Structure structure;
  const size_t first = stepped->tensors.size() - schedule.steps.size();
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    std::vector<int>& stages = structure.readers.emplace_back();
    if (schedule.steps[i].kind != schedule::StepKind::kPack) continue;
    stages.push_back(stepped->tensors[first + i].producer);
    for (size_t k = 0; k < stages.size(); ++k) {
      if (k > 0 && schedule.stages[stages[k]].place.kind != PlaceKind::kInline) continue;
      for (int reader : readers[stages[k]]) {
        if (std::find(stages.begin(), stages.end(), reader) == stages.end()) {
          stages.push_back(reader);
        }
      }
    }
  }
  if (structures_.size() >= kMostStructures) structures_.clear();
  return &structures_.emplace(key, std::move(structure)).first->second;
}

std::string Describer::NestKey(const Schedule& schedule, const std::string& structure_key,
                               const Structure& structure, const std::vector<int>& root, int nest) {
  Key key;
  key.Append(structure_key);
  key.Add(nest);
  if (nest < 0) return key.Take();
  for (size_t s = 0; s < root.size(); ++s) {
    if (root[s] != nest) continue;
    key.Add(static_cast<int64_t>(s));
    AddStage(schedule.stages[s], &key);
  }
  for (size_t i = 0; i < structure.readers.size(); ++i) {
    const std::vector<int>& stages = structure.readers[i];
    const bool matters =
        std::any_of(stages.begin(), stages.end(), [&](int s) { return root[s] == nest; });
    if (matters) AddStep(schedule.steps[i], &key);
  }
  return key.Take();
}

Result<costmodel::ProgramFeatures> Describer::Describe(const Schedule& schedule) {
  if (schedule.alternative != space_->alternative()) return tuner::Describe(*space_, schedule);
  const std::string structure_key = StructureKey(schedule);
  TEMPER_ASSIGN_OR_RETURN(const Structure* structure, StructureOf(schedule, structure_key));
  const auto count = static_cast<int>(schedule.stages.size());
  std::vector<int> root(count);
  for (int s = 0; s < count; ++s) {
    root[s] = RootOf(schedule, s);
    // In no nest, so that no nest's key would say that it is illegal.
    if (root[s] < 0 && schedule.stages[s].place.kind == PlaceKind::kAt) {
      return tuner::Describe(*space_, schedule);
    }
  }

  if (nests_.size() >= kMostNests) nests_.clear();
  std::vector<const costmodel::NestFeatures*> nests;
  const te::Program* stepped = nullptr;  // once a nest is not known
  for (int nest = -1; nest < count; ++nest) {
    if (nest >= 0 && root[nest] != nest) continue;
    std::string key = NestKey(schedule, structure_key, *structure, root, nest);
    auto known = nests_.find(key);
    if (known == nests_.end()) {
      if (!stepped) {
        TEMPER_ASSIGN_OR_RETURN(stepped, Stepped(schedule));
        TEMPER_RETURN_IF_ERROR(schedule::CheckStages(*stepped, schedule));
      }
      TEMPER_ASSIGN_OR_RETURN(lower::Lowered lowered,
                              lower::LowerNest(*stepped, schedule, space_->target(), nest));
      auto features = costmodel::ExtractNest(lowered.function, space_->target(), schedule.threads,
                                             lower::ConstantBuffers(lowered), space_->constants());
      known = nests_.emplace(std::move(key), std::move(features)).first;
    }
    nests.push_back(&known->second);
  }
  return costmodel::Join(nests);
}

}  // namespace temper::tuner
