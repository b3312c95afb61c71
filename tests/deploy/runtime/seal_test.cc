// The checksum at the end of a compiled model: what is damaged is refused before it is loaded.
#include "deploy/runtime/seal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "deploy/runtime/temper.h"

namespace {

namespace fs = std::filesystem;

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class SealTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(testing::TempDir()) / ("temper_seal_" + std::to_string(getpid()) + ".so");
    Write(Read(TEST_MODEL_DIR "toy_model.so"));
  }
  void TearDown() override { fs::remove(path_); }

  void Write(const std::string& content) {
    fs::remove(path_);  // one that is mapped stays as it is
    std::ofstream(path_, std::ios::binary) << content;
  }
  void Seal() {
    const int fd = open(path_.c_str(), O_RDWR);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(temper_seal_append(fd), 0);
    close(fd);
  }
  // "" where the model opens.
  std::string Refusal() const {
    temper_model* model = nullptr;
    if (temper_open(path_.c_str(), 1, &model) != 0) return temper_error();
    temper_close(model);
    return "";
  }

  std::string path_;
};

TEST_F(SealTest, AnIntactModelOpensWithAndWithoutSeal) {
  EXPECT_EQ(Refusal(), "");
  const size_t before = fs::file_size(path_);
  Seal();
  EXPECT_EQ(fs::file_size(path_), before + 32);
  EXPECT_EQ(Refusal(), "");
}

TEST_F(SealTest, EveryFlippedBitIsFound) {
  Seal();
  const std::string sealed = Read(path_);
  // Of the seal, all but its magic: without that it is none.
  const size_t magic = sealed.size() - 32;
  for (size_t at = 0; at < sealed.size(); at += at < magic ? 61 : 1) {
    if (at >= magic && at < magic + 16) continue;
    std::string damaged = sealed;
    damaged[at] ^= static_cast<char>(1 << at % 8);
    Write(damaged);
    EXPECT_NE(Refusal().find("its checksum is wrong"), std::string::npos) << at << Refusal();
  }
}

TEST_F(SealTest, PiecesThatChangedPlacesAreFound) {
  Seal();
  std::string swapped = Read(path_);
  // Two different blocks of all lanes.
  const size_t a = 0, b = 64;
  ASSERT_NE(swapped.compare(a, 32, swapped, b, 32), 0);
  std::swap_ranges(swapped.begin() + a, swapped.begin() + a + 32, swapped.begin() + b);
  Write(swapped);
  EXPECT_NE(Refusal().find("its checksum is wrong"), std::string::npos) << Refusal();
}

TEST_F(SealTest, SealsSmallAndEmptyFiles) {
  for (const char* content : {"", "a", "0123456789012345678901234567890123456789"}) {
    Write(content);
    Seal();
    EXPECT_NE(Refusal().find("not a shared object"), std::string::npos) << Refusal();
    std::string damaged = Read(path_);
    damaged.back() ^= 1;
    Write(damaged);
    EXPECT_NE(Refusal().find("its checksum is wrong"), std::string::npos) << Refusal();
  }
}

}  // namespace
