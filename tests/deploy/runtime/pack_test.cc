#include "deploy/runtime/pack.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

struct Dim {
  int64_t shape;
  int axis;
  int64_t step;
};

temper_pack MakePack(int element_bytes, std::vector<int64_t> src, std::vector<Dim> dst) {
  temper_pack p = {};
  p.element_bytes = element_bytes;
  p.src_rank = static_cast<int32_t>(src.size());
  for (size_t a = 0; a < src.size(); ++a) p.src_shape[a] = src[a];
  p.dst_rank = static_cast<int32_t>(dst.size());
  for (size_t d = 0; d < dst.size(); ++d) {
    p.dst_shape[d] = dst[d].shape;
    p.axis[d] = dst[d].axis;
    p.step[d] = dst[d].step;
  }
  return p;
}

// The definition of abi.h, element by element.
std::vector<uint8_t> Naive(const temper_pack& p, const std::vector<uint8_t>& src) {
  int64_t count = 1;
  for (int d = 0; d < p.dst_rank; ++d) count *= p.dst_shape[d];
  std::vector<uint8_t> dst(count * p.element_bytes, 0);
  for (int64_t e = 0; e < count; ++e) {
    int64_t at[TEMPER_MAX_DIMS] = {};
    int64_t rest = e;
    for (int d = p.dst_rank - 1; d >= 0; --d) {
      at[p.axis[d]] += rest % p.dst_shape[d] * p.step[d];
      rest /= p.dst_shape[d];
    }
    int64_t offset = 0;
    bool inside = true;
    for (int a = 0; a < p.src_rank; ++a) {
      inside = inside && at[a] < p.src_shape[a];
      offset = offset * p.src_shape[a] + at[a];
    }
    if (inside) {
      std::memcpy(&dst[e * p.element_bytes], &src[offset * p.element_bytes], p.element_bytes);
    }
  }
  return dst;
}

// Runs the pack at odd addresses, with guard bytes around the result.
void ExpectAsNaive(const temper_pack& p, uint32_t seed) {
  std::mt19937 random(seed);
  const int64_t src_bytes = temper_pack_src_bytes(&p), dst_bytes = temper_pack_dst_bytes(&p);
  ASSERT_GE(src_bytes, 0);
  ASSERT_GE(dst_bytes, 0);
  std::vector<uint8_t> src(src_bytes);
  for (auto& byte : src) byte = static_cast<uint8_t>(random());
  const std::vector<uint8_t> expected = Naive(p, src);
  ASSERT_EQ(static_cast<int64_t>(expected.size()), dst_bytes);
  std::vector<uint8_t> moved(src_bytes + 1), dst(dst_bytes + 2, 0xa5);
  std::copy(src.begin(), src.end(), moved.begin() + 1);
  ASSERT_EQ(temper_pack_run(&p, moved.data() + 1, dst.data() + 1), 0);
  EXPECT_EQ(dst.front(), 0xa5);
  EXPECT_EQ(dst.back(), 0xa5);
  dst.erase(dst.begin());
  dst.pop_back();
  ASSERT_EQ(dst, expected);
}

TEST(PackTest, PanelsOfAMatrix) {
  for (int bytes : {1, 2, 4, 8}) {
    // K x N into [N/16][K][16], N = 37 and 48: padded and whole.
    for (int64_t n : {37, 48}) {
      ExpectAsNaive(MakePack(bytes, {19, n}, {{3, 1, 16}, {19, 0, 1}, {16, 1, 1}}), 1);
    }
    // N x K (transposed) into the same.
    ExpectAsNaive(MakePack(bytes, {37, 19}, {{3, 0, 16}, {19, 1, 1}, {16, 0, 1}}), 2);
  }
}

TEST(PackTest, BlockedConvolutionWeights) {
  // OIHW into [O/16][I/4][H][W][4i][16o], O = 20, I = 6.
  ExpectAsNaive(MakePack(4, {20, 6, 3, 3},
                         {{2, 0, 16}, {2, 1, 4}, {3, 2, 1}, {3, 3, 1}, {4, 1, 1}, {16, 0, 1}}),
                3);
  // OIHW into HWIO.
  ExpectAsNaive(MakePack(2, {8, 5, 3, 2}, {{3, 2, 1}, {2, 3, 1}, {5, 1, 1}, {8, 0, 1}}), 4);
}

TEST(PackTest, RepeatsOverlapsAndSkips) {
  ExpectAsNaive(MakePack(4, {7}, {{3, 0, 0}, {7, 0, 1}}), 5);      // broadcast
  ExpectAsNaive(MakePack(4, {9}, {{7, 0, 1}, {3, 0, 1}}), 6);      // sliding windows
  ExpectAsNaive(MakePack(4, {9}, {{9, 0, 1}, {3, 0, 1}}), 7);      // windows past the end
  ExpectAsNaive(MakePack(8, {20}, {{5, 0, 5}, {3, 0, 2}}), 8);     // skipping
  ExpectAsNaive(MakePack(4, {6, 4}, {{6, 0, 1}}), 9);              // first column
  ExpectAsNaive(MakePack(4, {3, 3}, {{2, 0, 7}, {5, 1, 1}}), 10);  // a step past the end
  ExpectAsNaive(MakePack(1, {100}, {{25, 0, 4}, {2, 0, 2}, {2, 0, 1}}), 11);  // merges to a copy
}

TEST(PackTest, Scalars) {
  ExpectAsNaive(MakePack(4, {}, {}), 12);
  ExpectAsNaive(MakePack(8, {5, 5}, {}), 13);
  ExpectAsNaive(MakePack(4, {1}, {{1, 0, 1}, {1, 0, INT64_MAX}}), 14);
}

TEST(PackTest, EmptyTensors) {
  ExpectAsNaive(MakePack(4, {0}, {{5, 0, 1}}), 15);  // nothing but padding
  ExpectAsNaive(MakePack(4, {3, 0}, {{2, 0, 1}, {3, 1, 1}}), 16);
  ExpectAsNaive(MakePack(4, {5}, {{0, 0, 1}, {3, 0, 1}}), 17);
}

TEST(PackTest, AgreesWithTheDefinitionOnRandomOnes) {
  std::mt19937 random(20);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  for (int round = 0; round < 3000; ++round) {
    std::vector<int64_t> src;
    for (int a = 1 + below(4); a > 0; --a) src.push_back(1 + below(9));
    std::vector<Dim> dst;
    for (int d = below(6); d > 0; --d) {
      dst.push_back({1 + below(6), below(static_cast<int>(src.size())), below(5)});
    }
    SCOPED_TRACE("round " + std::to_string(round));
    ExpectAsNaive(MakePack(1 << below(4), src, dst), 1000 + round);
    if (HasFatalFailure()) return;
  }
}

TEST(PackTest, RefusesWhatIsNoDescription) {
  const temper_pack good = MakePack(4, {4, 4}, {{4, 1, 1}, {4, 0, 1}});
  uint8_t src[64], dst[64] = {1};
  ASSERT_EQ(temper_pack_run(&good, src, dst), 0);
  std::vector<temper_pack> bad(13, good);
  bad[0].element_bytes = 3;
  bad[1].element_bytes = 0;
  bad[2].element_bytes = -4;
  bad[3].src_rank = -1;
  bad[4].src_rank = TEMPER_MAX_DIMS + 1;
  bad[5].dst_rank = TEMPER_MAX_DIMS + 1;
  bad[6].axis[0] = 2;
  bad[7].axis[1] = -1;
  bad[8].step[0] = -1;
  bad[9].dst_shape[0] = -1;
  bad[10].src_shape[0] = INT64_MAX;
  bad[11].dst_shape[1] = INT64_MAX / 8;
  bad[12].step[1] = INT64_MAX / 2;
  for (size_t i = 0; i < bad.size(); ++i) {
    dst[0] = 77;
    EXPECT_EQ(temper_pack_run(&bad[i], src, dst), -1) << i;
    EXPECT_EQ(temper_pack_src_bytes(&bad[i]), -1) << i;
    EXPECT_EQ(temper_pack_dst_bytes(&bad[i]), -1) << i;
    EXPECT_EQ(dst[0], 77) << i;
  }
}

}  // namespace
