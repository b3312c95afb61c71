// TfIdfVectorizer of integers: how often each n-gram of a constant pool occurs.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/compose/functions.h"

namespace temper::graph {
namespace {

constexpr int64_t kMaxMatches = int64_t{1} << 26;

// [rows, grams]: occurrences of each of the grams of n numbers in the rows of x, whose numbers may
// lie `step` apart.
int Occurrences(Composer& c, int x, const std::vector<int64_t>& grams, int64_t n, int64_t step) {
  const Shape shape = c.shape(x);
  const int64_t windows = shape[1] - (n - 1) * step;
  const int64_t count = static_cast<int64_t>(grams.size()) / n;
  if (windows < 1) return kNone;
  const auto matches = ElementCount(Shape{shape[0], count, windows, n});
  if (!matches || *matches > kMaxMatches) {
    c.Refuse("its pool is too large for this input");
    return kNone;
  }
  std::vector<int64_t> positions;
  for (int64_t w = 0; w < windows; ++w) {
    for (int64_t k = 0; k < n; ++k) positions.push_back(w + k * step);
  }
  // [rows, 1, windows, n] against [grams, 1, n].
  const int seen = c.Reshape(c.Gather(x, c.Ints(positions), 1), {shape[0], 1, windows, n});
  const int hit = c.Op("Equal", {seen, c.IntsOfShape({count, 1, n}, grams)});
  const int all = c.Reduce("ReduceMin", c.Cast(hit, DType::kInt32), {3}, false);
  return c.Cast(c.Reduce("ReduceSum", all, {2}, false), DType::kFloat32);
}

}  // namespace

void ComposeTfIdfVectorizer(Composer& c) {
  const Node& node = c.node();
  const std::vector<int64_t> pool = node.Ints("pool_int64s"), starts = node.Ints("ngram_counts");
  const std::vector<int64_t> targets = node.Ints("ngram_indexes");
  const std::vector<float> weights = node.Floats("weights");
  const int64_t least = node.Int("min_gram_length", 1), most = node.Int("max_gram_length", 1);
  const Shape out = c.OutShape();
  const int64_t columns = out.back();
  const int64_t rows = out.size() == 2 ? out[0] : 1;
  const Shape in = c.shape(c.In(0));
  const int x = c.Reshape(c.Cast(c.In(0), DType::kInt64), {rows, in.back()});
  // One column of counts for each gram of the lengths asked for, then one of zeros.
  std::vector<int> parts;
  std::vector<int64_t> from(static_cast<size_t>(columns), -1);
  std::vector<double> weight(static_cast<size_t>(columns), 1);
  int64_t gram = 0, made = 0;
  for (size_t l = 0; l < starts.size() && c.ok(); ++l) {
    const int64_t n = static_cast<int64_t>(l) + 1;
    const int64_t end = l + 1 < starts.size() ? starts[l + 1] : static_cast<int64_t>(pool.size());
    const std::vector<int64_t> grams(pool.begin() + starts[l], pool.begin() + end);
    const int64_t count = static_cast<int64_t>(grams.size()) / n;
    int sum = kNone;
    const int64_t skips = n == 1 ? 0 : node.Int("max_skip_count", 0);
    for (int64_t skip = 0; skip <= skips && n >= least && n <= most && count > 0; ++skip) {
      const int here = Occurrences(c, x, grams, n, skip + 1);
      if (here != kNone) sum = sum == kNone ? here : c.Add(sum, here);
    }
    for (int64_t g = 0; g < count; ++g, ++gram) {
      const int64_t to = targets[gram];
      if (from[to] >= 0) return c.Refuse(fmt::format("two of its n-grams have index {}", to));
      if (sum != kNone) from[to] = made + g;
      if (!weights.empty()) weight[to] = weights[gram];
    }
    if (sum == kNone) continue;
    parts.push_back(sum);
    made += count;
  }
  parts.push_back(c.Expand(c.Number(DType::kFloat32, 0), {rows, 1}));
  for (int64_t& at : from) at = at < 0 ? made : at;
  int y = c.Gather(c.Concat(parts, 1), c.Ints(from), 1);
  const std::string mode = node.String("mode", "TF");
  if (mode != "TF") {
    const int by = c.Numbers(DType::kFloat32, {columns}, weight);
    const int one = c.Number(DType::kFloat32, 1);
    y = c.Mul(mode == "IDF" ? c.Op("Min", {y, one}) : y, by);
  }
  c.Replace(0, c.Reshape(y, out));
}

}  // namespace temper::graph
