#include "worker/runner/cold_constants.h"

#include <gtest/gtest.h>

#include <numeric>

namespace temper::runner {
namespace {

TEST(Evict, LeavesTheBytesAsTheyAre) {
  std::vector<int> data(100'003);
  std::iota(data.begin(), data.end(), 7);
  Evict(data.data() + 1, static_cast<int64_t>((data.size() - 1) * sizeof(int)));
  Evict(data.data(), 0);
  for (size_t i = 0; i < data.size(); ++i) ASSERT_EQ(data[i], static_cast<int>(i) + 7);
}

}  // namespace
}  // namespace temper::runner
