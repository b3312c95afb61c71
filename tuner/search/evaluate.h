// What the cost model sees of a schedule.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/constants.h"
#include "base/status.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/te/program.h"
#include "costmodel/features.h"
#include "tuner/space/space.h"

namespace temper::tuner {

// Lowers the schedule and extracts its features, for large constants in that place. The status of
// lowering where it is illegal.
Result<costmodel::ProgramFeatures> Describe(const te::Program& program,
                                            const schedule::Schedule& schedule,
                                            const Target& target,
                                            Constants constants = Constants::kCold);

// The same for a schedule of the space's workload, and sooner for one of its alternative, whose
// program the space keeps.
Result<costmodel::ProgramFeatures> Describe(const Space& space, const schedule::Schedule& schedule);

// Describes many schedules of one space, and remembers what it saw of each loop nest: a schedule
// most of whose nests were seen in others costs little more than those that were not. The same
// results as Describe(). Borrows the space. Not thread-safe.
class Describer {
 public:
  explicit Describer(const Space* space) : space_(space) {}

  const Space& space() const { return *space_; }
  Result<costmodel::ProgramFeatures> Describe(const schedule::Schedule& schedule);

 private:
  // What the kinds of a schedule's steps and places say: which stages read what a step packs.
  struct Structure {
    std::vector<std::vector<int>> readers;  // a step: the stages that its dimensions matter to
  };

  Result<const Structure*> StructureOf(const schedule::Schedule& schedule, const std::string& key);
  // The program with the schedule's steps applied. Stays until the next schedule is described.
  Result<const te::Program*> Stepped(const schedule::Schedule& schedule);
  // What the nest is known by: what its features depend on.
  static std::string NestKey(const schedule::Schedule& schedule, const std::string& structure_key,
                             const Structure& structure, const std::vector<int>& root, int nest);

  const Space* space_;
  // A bounded number of each.
  std::unordered_map<std::string, Structure> structures_;
  std::unordered_map<std::string, te::Program> stepped_;
  std::unordered_map<std::string, costmodel::NestFeatures> nests_;
};

}  // namespace temper::tuner
