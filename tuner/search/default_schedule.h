// A good schedule without any measurement.
#pragma once

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/te/alternatives.h"
#include "compiler/te/program.h"
#include "costmodel/cost_model.h"
#include "tuner/search/first_choice.h"

namespace temper::tuner {

struct DefaultChoice {
  schedule::Schedule schedule;
  double expected_us = 0;  // predicted, always positive
};

// The best of many samples and their mutations by `model` (null: the analytic prior alone), with
// a fixed seed. Always legal; the reference schedule only where no sample is. `program` is
// canonical. Of the alternatives, those that `numerics` allows. `constants`: where large ones are.
DefaultChoice ChooseDefault(const te::Program& program, const Target& target, int threads,
                            const costmodel::CostModel* model = nullptr,
                            int samples = kDefaultSamples,
                            te::Numerics numerics = te::kDefaultNumerics,
                            Constants constants = Constants::kCold);

// Its schedule alone.
schedule::Schedule DefaultSchedule(const te::Program& program, const Target& target, int threads,
                                   const costmodel::CostModel* model = nullptr,
                                   int samples = kDefaultSamples);

}  // namespace temper::tuner
