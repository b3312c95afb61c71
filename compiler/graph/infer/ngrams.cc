#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {

// A row of numbers, or some; the counts of n-grams by ngram_indexes.
Status InferTfIdfVectorizer(InferContext& c) {
  const Node& node = c.node();
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 1, 2));
  if (!IsInt(c.dtype(0))) return c.Error("its input must be integers");
  const std::vector<int64_t> pool = node.Ints("pool_int64s"), starts = node.Ints("ngram_counts");
  const std::vector<int64_t> targets = node.Ints("ngram_indexes");
  const std::string mode = node.String("mode", "TF");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
    return c.Error(fmt::format("mode '{}' is unknown", mode));
  }
  constexpr int64_t kMaxColumns = 1 << 24;
  int64_t grams = 0;
  for (size_t l = 0; l < starts.size(); ++l) {
    const int64_t n = static_cast<int64_t>(l) + 1;
    const auto size = static_cast<int64_t>(pool.size());
    const int64_t end = l + 1 < starts.size() ? starts[l + 1] : size;
    if (starts[l] < 0 || end > size || end < starts[l] || (end - starts[l]) % n != 0) {
      return c.Error("its ngram_counts do not fit its pool_int64s");
    }
    grams += (end - starts[l]) / n;
  }
  const std::vector<float> weights = node.Floats("weights");
  if (static_cast<int64_t>(targets.size()) != grams || grams == 0 ||
      (!weights.empty() && static_cast<int64_t>(weights.size()) != grams)) {
    return c.Error(
        fmt::format("its ngram_indexes or weights are not one for each of {} n-grams", grams));
  }
  const auto [least, most] = std::minmax_element(targets.begin(), targets.end());
  const int64_t skips = node.Int("max_skip_count", 0);
  const int64_t shortest = node.Int("min_gram_length", 1), longest = node.Int("max_gram_length", 1);
  if (*least < 0 || *most >= kMaxColumns || skips < 0 || skips > 64 || shortest < 1 ||
      longest < shortest) {
    return c.Error("an attribute is out of range");
  }
  Shape out = c.shape(0);
  out.back() = *most + 1;
  return c.Set(0, DType::kFloat32, std::move(out));
}

}  // namespace temper::graph
