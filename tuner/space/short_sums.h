// Finding stages whose body is one of several short sums, chosen by comparisons with constants.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/te/program.h"

namespace temper::tuner {

inline constexpr int64_t kShortAxis = 8;  // axes up to so long are unrolled whole

// The tile that makes `e` constant when unrolled, and of which axis of `stage`: the axis itself,
// its extent; its remainder by m, m. 1 where `e` is neither or the tile would not be short.
int64_t ChosenTile(const te::Stage& stage, const tir::Expr& e, int* axis);

// For each spatial axis of `stage`, the tile that makes the comparisons with constants in `body`
// (its own, or with other stages inlined) constant when unrolled; 1 where it is not compared.
std::vector<int64_t> ChosenTiles(const te::Stage& stage, const tir::Expr& body);

// Whether an axis of the stage is itself compared with constants: a stage of short sums.
bool ChoosesSums(const te::Stage& stage);

}  // namespace temper::tuner
