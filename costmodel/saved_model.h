// A trained model as bytes: one header line, then XGBoost's JSON.
//
//   temper-trees VERSION FEATURES SHA256\n{"learner":...}
//
// VERSION is kFeaturesVersion, FEATURES kFeatureCount, SHA256 of what follows the line. Bytes may
// come from anywhere: XGBoost sees them only after every size and index in them was checked.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace temper::costmodel {

inline constexpr size_t kMaxTreesSaved = 1000;
inline constexpr size_t kMaxTreeNodes = 1024;

// `json` is what XGBoost saved.
std::string SealModel(std::string_view json);

// JSON that XGBoost can load without harm: gbtree, one output, our features, trees whose nodes are
// trees. FAILED_PRECONDITION for another features version, else INVALID_ARGUMENT that says what is
// wrong.
Result<std::string> UnsealModel(std::string_view bytes);

}  // namespace temper::costmodel
