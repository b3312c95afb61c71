// The schedules of one program: a table of knobs, and how a choice of each becomes a schedule.
//
// The rules (rules.h) look at the program once and list knobs: tile factors, loop orders, where a
// stage is computed, how far parallelism reaches. A decision is an index into each knob's values,
// so that sampling, mutation and crossover are the same few lines for every rule. Build() turns
// a decision into a schedule and checks its legality; Extract() finds the decision of a schedule
// that came from a record. Immutable after Create(); safe to share between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/constants.h"
#include "base/rng.h"
#include "base/status.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/te/program.h"

namespace temper::tuner {

// One free choice. `nest` groups the knobs of one loop nest: crossover keeps them together.
struct Knob {
  std::string name;
  int nest = 0;
  std::vector<int64_t> values;  // not empty; what a value means is the rule's
  double first = 0;             // how much more often a sample takes values[0], a probability
};

// An index into each knob's values.
using Decision = std::vector<int>;

class NestRule;

class Space {
 public:
  // `program` is canonical; REQUIRES: it verifies and has the alternative (te/alternatives.h).
  // `constants`: where the workload's large ones are, for whoever describes its schedules.
  static Space Create(te::Program program, const Target& target, int threads, int alternative = 0,
                      Constants constants = Constants::kCold);
  ~Space();
  Space(Space&&) noexcept;
  Space& operator=(Space&&) noexcept;

  const te::Program& program() const;  // the workload, not the alternative
  int alternative() const;
  const te::Program& alternative_program() const;  // what the schedules are of
  const Target& target() const;
  int threads() const;
  Constants constants() const;
  const std::vector<Knob>& knobs() const;
  // Number of decisions, legal or not, as a double: it may be astronomical.
  double Size() const;

  // A random decision; most fit the registers, a small share (`wild`) need not.
  Decision Sample(Rng& rng, double wild = 0.05) const;
  // One to three knobs changed, mostly to a neighbouring value.
  Decision Mutate(const Decision& parent, Rng& rng) const;
  // Each nest's knobs from one parent; a program of one nest mixes knob by knob.
  Decision Cross(const Decision& a, const Decision& b, Rng& rng) const;

  // The schedule, unchecked: lowering it says whether it is legal.
  schedule::Schedule Emit(const Decision& decision) const;
  // The schedule, legal by schedule::CheckLegal, or why not.
  Result<schedule::Schedule> Build(const Decision& decision) const;
  // Whether the rules expect the decision's tiles to fit the registers.
  bool FitsRegisters(const Decision& decision) const;
  // The decision whose schedule this is, if it is of this space.
  std::optional<Decision> Extract(const schedule::Schedule& schedule) const;

  // For people: every knob with its values.
  std::string Describe() const;

 private:
  struct Impl;
  explicit Space(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace temper::tuner
