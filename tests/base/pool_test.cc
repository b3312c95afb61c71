#include "base/pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace temper {
namespace {

TEST(Pool, BlocksAreDistinctAndHoldWhatTheyWereAskedFor) {
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  for (int round = 0; round < 3; ++round) {
    for (size_t bytes = 1; bytes <= 600; bytes += 7) {
      auto* block = static_cast<unsigned char*>(Pool::Allocate(bytes));
      ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % 16, 0u);
      std::memset(block, static_cast<int>(bytes % 251), bytes);
      blocks.emplace_back(block, bytes);
    }
    for (const auto& [block, bytes] : blocks) {
      for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(block[i], bytes % 251);
    }
    for (const auto& [block, bytes] : blocks) Pool::Free(block, bytes);
    blocks.clear();
  }
}

TEST(Pool, WhatOneThreadFreesAnotherMayHaveAllocated) {
  constexpr int kBlocks = 10000;  // more than a list keeps
  std::vector<void*> blocks(kBlocks);
  std::thread maker([&] {
    for (void*& block : blocks) block = Pool::Allocate(48);
  });
  maker.join();
  std::thread([&] {
    for (void* block : blocks) Pool::Free(block, 48);
  }).join();
  void* block = Pool::Allocate(48);
  std::memset(block, 1, 48);
  Pool::Free(block, 48);
}

}  // namespace
}  // namespace temper
