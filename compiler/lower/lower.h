// From a program and a schedule to a loop nest.
//
// Lowering has two halves. LowerToLoops gives the loop nest with its binds still annotations:
// this is what features are taken from and what a search ranks. Finish turns vector loops into
// vector expressions, unrolls, and simplifies: this is what code is generated from. Both are pure
// functions.
#pragma once

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/tir/stmt.h"

namespace temper::lower {

struct Argument {
  int tensor = -1;  // in the program with steps applied
  int source = -1;  // the program's input or output that it is, or that it is packed from
  bool output = false;
  bool constant = false;
  std::vector<schedule::PackDim> pack;  // empty: passed as it is
  te::ConstantTransform transform;      // applied to the constant before it is packed
};

struct Lowered {
  tir::Function function;           // one parameter an argument, in order
  std::vector<Argument> arguments;  // program inputs in order, then outputs
};

// The buffers of the arguments that are constants.
std::vector<int> ConstantBuffers(const Lowered& lowered);

// REQUIRES nothing: an illegal schedule gives CheckLegal's status.
Result<Lowered> LowerToLoops(const te::Program& program, const schedule::Schedule& schedule,
                             const Target& target);

// The same for a caller that keeps the program of the schedule's alternative: REQUIRES that
// `chosen` is te::MakeAlternative(program, schedule.alternative).
Result<Lowered> LowerAlternative(const te::Program& chosen, const schedule::Schedule& schedule,
                                 const Target& target);

// The loop nest of stage `root` alone, which no other nest changes; -1: the zeros of halos, which
// come before all of them. The nests of all stages at root, in their order, are LowerAlternative's.
// REQUIRES that `stepped` is schedule::ApplySteps(chosen, schedule.steps) and that
// schedule::CheckStages(stepped, schedule) is OK.
Result<Lowered> LowerNest(const te::Program& stepped, const schedule::Schedule& schedule,
                          const Target& target, int root);

// Vectorizes, unrolls, simplifies. In debug builds the verifier runs after each pass.
Result<tir::Function> Finish(const tir::Function& function, const Target& target);

// A schedule that is legal for every program: every stage at root or inlined, innermost loops
// vector where the program allows it, sums of 4096 and more by parts, on one thread. It is the
// referee of measurements, never a compiled model's kernel.
schedule::Schedule ReferenceSchedule(const te::Program& program, const Target& target);

}  // namespace temper::lower
