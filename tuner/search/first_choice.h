// What is taken where nothing was measured, and what a search measures first.
#pragma once

#include <optional>
#include <span>

#include "costmodel/cost_model.h"
#include "tuner/search/evaluate.h"
#include "tuner/search/evolution.h"

namespace temper::tuner {

inline constexpr int kDefaultSamples = 768;

// The best by `model` of `samples` random schedules of the describers' spaces and their mutations,
// with a fixed seed; for several threads also with its nests exchanged for the others', some
// hundred more mutations, and of orders of loops that are as good the one of the least
// LeadingAxisRank. None only if no space has a legal one.
std::optional<Scored> FirstChoice(std::span<Describer> describers,
                                  const costmodel::CostModel& model, int samples = kDefaultSamples);

}  // namespace temper::tuner
