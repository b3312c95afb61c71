#include "costmodel/saved_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "costmodel/features.h"

namespace temper::costmodel {
namespace {

using nlohmann::json;

constexpr std::string_view kMagic = "temper-trees ";
constexpr size_t kMaxHeader = 160;
// A leaf's value is added to the logarithm of a time: none that was learned comes near to this, and
// the sums of greater ones need not be numbers that can be sorted by.
constexpr double kMaxLeaf = 100;

std::string Header(std::string_view payload) {
  return fmt::format("{}{} {} {}\n", kMagic, kFeaturesVersion, kFeatureCount,
                     Sha256(payload).Hex());
}

Status Wrong(std::string_view what) {
  return InvalidArgument(
      fmt::format("the cost model is damaged: {}; tune to train a new one", what));
}

const json* Find(const json& object, std::initializer_list<const char*> path) {
  const json* at = &object;
  for (const char* key : path) {
    if (!at->is_object()) return nullptr;
    auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

// XGBoost writes its parameters as text.
bool Says(const json& object, std::initializer_list<const char*> path, std::string_view text) {
  const json* value = Find(object, path);
  return value && value->is_string() && value->get_ref<const std::string&>() == text;
}

bool IsArrayOf(const json* array, size_t size, bool (*good)(const json&)) {
  if (!array || !array->is_array() || array->size() != size) return false;
  return std::all_of(array->begin(), array->end(), good);
}

bool IsIndex(const json& v) {
  if (v.is_number_unsigned()) return v.get<uint64_t>() <= INT32_MAX;
  return v.is_number_integer() && v.get<int64_t>() >= -1 && v.get<int64_t>() <= INT32_MAX;
}

bool IsFinite(const json& v) {
  return v.is_number() && std::isfinite(static_cast<float>(v.get<double>()));
}

bool IsFlag(const json& v) {
  return v.is_boolean() || (v.is_number_integer() && (v == 0 || v == 1));
}

// A number from 0 to 1, as text.
bool IsShare(const json& v) {
  if (!v.is_string()) return false;
  const auto& text = v.get_ref<const std::string&>();
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return !text.empty() && text.size() < 32 && *end == '\0' && value >= 0 && value <= 1;
}

bool IsZero(const json& v) { return v.is_number_integer() && v == 0; }

// Copies a tree's fields into `out`; the status says which of them is wrong.
Status CheckTree(const json& tree, size_t number, json* out) {
  const json* left = Find(tree, {"left_children"});
  if (!left || !left->is_array() || left->empty() || left->size() > kMaxTreeNodes) {
    return Wrong(fmt::format("tree {} has no nodes, or too many", number));
  }
  const size_t n = left->size();
  const std::pair<const char*, bool (*)(const json&)> fields[] = {
      {"left_children", IsIndex}, {"right_children", IsIndex},    {"parents", IsIndex},
      {"split_indices", IsIndex}, {"split_conditions", IsFinite}, {"base_weights", IsFinite},
      {"loss_changes", IsFinite}, {"sum_hessian", IsFinite},      {"default_left", IsFlag},
      {"split_type", IsZero}};
  for (const auto& [name, good] : fields) {
    const json* field = Find(tree, {name});
    if (!IsArrayOf(field, n, good)) {
      return Wrong(fmt::format("tree {} has no sound {}", number, name));
    }
    (*out)[name] = *field;
  }
  std::vector<int> reached(n, 0);
  for (size_t i = 0; i < n; ++i) {
    const auto l = (*out)["left_children"][i].get<int64_t>();
    const auto r = (*out)["right_children"][i].get<int64_t>();
    if (l == -1 && r == -1) {
      // XGBoost keeps a leaf's value where other nodes have their split.
      if (std::abs((*out)["split_conditions"][i].get<double>()) > kMaxLeaf) {
        return Wrong(fmt::format("leaf {} of tree {} is over {}", i, number, kMaxLeaf));
      }
      continue;
    }
    // Children come after their parents, so that there is no cycle.
    for (int64_t child : {l, r}) {
      if (child <= static_cast<int64_t>(i) || child >= static_cast<int64_t>(n) ||
          (*out)["parents"][static_cast<size_t>(child)] != i || reached[child]++ > 0) {
        return Wrong(fmt::format("node {} of tree {} has no sound children", i, number));
      }
    }
    const auto feature = (*out)["split_indices"][i].get<int64_t>();
    if (feature < 0 || feature >= kFeatureCount) {
      return Wrong(
          fmt::format("tree {} splits by feature {}, of {}", number, feature, kFeatureCount));
    }
  }
  for (const char* name :
       {"categories", "categories_nodes", "categories_segments", "categories_sizes"}) {
    (*out)[name] = json::array();
  }
  (*out)["id"] = number;
  (*out)["tree_param"] = {{"num_deleted", "0"},
                          {"num_feature", std::to_string(kFeatureCount)},
                          {"num_nodes", std::to_string(n)},
                          {"size_leaf_vector", "0"}};
  return OkStatus();
}

// The model made anew from what was checked: fields that we do not know are dropped.
Result<std::string> Rebuild(const json& saved) {
  if (!Says(saved, {"learner", "gradient_booster", "name"}, "gbtree") ||
      !Says(saved, {"learner", "learner_model_param", "num_class"}, "0") ||
      !Says(saved, {"learner", "learner_model_param", "num_feature"},
            std::to_string(kFeatureCount))) {
    return Wrong("it is not of trees over our features with one output");
  }
  const json* trees = Find(saved, {"learner", "gradient_booster", "model", "trees"});
  if (!trees || !trees->is_array() || trees->empty() || trees->size() > kMaxTreesSaved) {
    return Wrong(fmt::format("it has no trees, or more than {}", kMaxTreesSaved));
  }
  json checked = json::array();
  for (size_t i = 0; i < trees->size(); ++i) {
    json tree = json::object();
    TEMPER_RETURN_IF_ERROR(CheckTree((*trees)[i], i, &tree));
    checked.push_back(std::move(tree));
  }
  json attributes = json::object();
  if (const json* trust = Find(saved, {"learner", "attributes", "trust"})) {
    if (!IsShare(*trust)) return Wrong("its trust is no number from 0 to 1");
    attributes["trust"] = *trust;
  }
  const size_t count = checked.size();
  json model = {{"gbtree_model_param",
                 {{"num_parallel_tree", "1"},
                  {"num_trees", std::to_string(count)},
                  {"size_leaf_vector", "0"}}},
                {"tree_info", std::vector<int>(count, 0)},
                {"trees", std::move(checked)}};
  json learner = {
      {"attributes", std::move(attributes)},
      {"feature_names", json::array()},
      {"feature_types", json::array()},
      {"gradient_booster", {{"model", std::move(model)}, {"name", "gbtree"}}},
      {"learner_model_param",
       {{"base_score", "0E0"},
        {"boost_from_average", "1"},
        {"num_class", "0"},
        {"num_feature", std::to_string(kFeatureCount)},
        {"num_target", "1"}}},
      {"objective",
       {{"name", "reg:squarederror"}, {"reg_loss_param", {{"scale_pos_weight", "1"}}}}}};
  json rebuilt = {{"learner", std::move(learner)}, {"version", {1, 7, 4}}};
  return rebuilt.dump();
}

}  // namespace

std::string SealModel(std::string_view json_text) {
  return Header(json_text) + std::string(json_text);
}

Result<std::string> UnsealModel(std::string_view bytes) {
  size_t end = bytes.substr(0, kMaxHeader).find('\n');
  if (!bytes.starts_with(kMagic) || end == std::string_view::npos) {
    return InvalidArgument("these bytes are no cost model; tune to train one");
  }
  std::string_view header = bytes.substr(0, end + 1), payload = bytes.substr(end + 1);
  std::string_view version = header.substr(kMagic.size());
  std::string ours = fmt::format("{} {} ", kFeaturesVersion, kFeatureCount);
  if (!version.starts_with(ours)) {
    size_t space = version.find(' ');
    return FailedPrecondition(
        fmt::format("the cost model is of features version {}, this program's is {}: tune to train "
                    "a new one",
                    version.substr(0, std::min<size_t>(space, 12)), kFeaturesVersion));
  }
  if (header != Header(payload)) return Wrong("its checksum does not match");
  json saved = json::parse(payload, nullptr, /*allow_exceptions=*/false);
  if (saved.is_discarded()) return Wrong("it is no JSON");
  return Rebuild(saved);
}

}  // namespace temper::costmodel
