// What makes other programs of a program: alternatives (alternatives.h) and a schedule's steps.
#pragma once

#include <cstddef>

#include "compiler/te/program.h"

namespace temper::te {

// Whether the expression reads the axis' variable.
bool Uses(const tir::Expr& e, const Axis& axis);

// Program::AddStage, but before stage `at`; the ids of tensors stay. Returns the new tensor's id.
int InsertStage(Program& program, size_t at, Stage stage);

// Puts `parts`, whose last spatial axis numbers the parts of what stage `at` reduces and whose
// others are that stage's, before it; the stage then combines the parts.
void CombineParts(Program& program, size_t at, Stage parts);

}  // namespace temper::te
