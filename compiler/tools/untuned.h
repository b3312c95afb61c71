// Schedules without records: the search's default, ranked by a trained cost model or, where there
// is none, by the analytic prior.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/choose.h"
#include "db/model_store.h"

namespace temper::tools {

// `model` is what costmodel saved, or empty: then the prior ranks. A model that cannot be used is
// passed over with a warning that says why; with one, `warnings` is not null. Of a kernel's
// alternatives, those that `numerics` allows.
driver::ScheduleChooser UntunedChooser(std::string model = {},
                                       std::vector<std::string>* warnings = nullptr,
                                       te::Numerics numerics = te::kDefaultNumerics);

// The model of a target in a database, empty where there is none; one that is damaged, or
// of an earlier features version, is passed over with a warning.
std::string StoredModelFor(const Target& target, db::ModelStore& store, const std::string& name,
                           std::vector<std::string>* warnings);

}  // namespace temper::tools
