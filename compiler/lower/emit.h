// From a plan to statements: the loop nests of the root stages, in order, with the stages placed
// inside them.
#pragma once

#include "compiler/lower/lower.h"
#include "compiler/lower/plan.h"

namespace temper::lower {

// The loop nest with binds as annotations. The plan's variables are used up: emit a plan once.
Result<Lowered> Emit(Plan plan, const Target& target);

}  // namespace temper::lower
