// Finding stages whose body is one of several short sums, chosen by comparisons with constants.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/te/program.h"

namespace temper::tuner {

inline constexpr int64_t kShortAxis = 8;  // axes up to so long are unrolled whole

// For each spatial axis of `stage`, the tile that makes the comparisons of `body` (its own, or
// with other stages inlined) constant when unrolled: the extent where the axis itself is compared,
// m where its remainder by m is taken, 1 otherwise.
std::vector<int64_t> ChosenTiles(const te::Stage& stage, const tir::Expr& body);

// Whether an axis of the stage is itself compared with constants: a stage of short sums.
bool ChoosesSums(const te::Stage& stage);

}  // namespace temper::tuner
