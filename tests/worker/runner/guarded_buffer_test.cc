// Buffers of operands: what they are filled with, and in which pages they may lie.
#include "worker/runner/guarded_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace temper::runner {
namespace {

// The flags of the mapping that holds `address`, between spaces; as smaps has them.
std::string FlagsOf(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto at = reinterpret_cast<uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) inside = begin <= at && at < end;
    if (inside && line.rfind("VmFlags:", 0) == 0) return line.substr(8) + " ";
  }
  return "";
}

TEST(GuardedBuffer, ConstantsAreNotInHugePages) {
  for (Pages pages : {Pages::kHuge, Pages::kSmall}) {
    auto buffer = GuardedBuffer::Allocate((int64_t{8} << 20) + 100, pages);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0u);
    EXPECT_EQ(buffer->data()[buffer->bytes() - 1], 0);
    const std::string flags = FlagsOf(buffer->data());
    ASSERT_NE(flags, "");
    EXPECT_TRUE(pages == Pages::kHuge || flags.find(" hg ") == std::string::npos) << flags;
    EXPECT_TRUE(buffer->Intact());
    buffer->data()[-1] = 0;
    EXPECT_FALSE(buffer->Intact());
  }
}

}  // namespace
}  // namespace temper::runner
