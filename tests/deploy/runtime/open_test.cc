// Files that temper_open refuses, and what it says; reloading a file that changed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "deploy/runtime/cpu_features.h"
#include "deploy/runtime/temper.h"
#include "tests/deploy/runtime/test_tensor.h"

namespace {

namespace fs = std::filesystem;

const std::string kDir = TEST_MODEL_DIR;

class OpenTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        fs::path(testing::TempDir()) / ("temper_open_" + std::to_string(getpid())) / test->name();
    fs::create_directories(folder_);
  }
  void TearDown() override {
    fs::remove_all(folder_);
    std::error_code not_empty;  // while other tests of this process use it
    fs::remove(folder_.parent_path(), not_empty);
  }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  std::string Write(const std::string& name, const std::string& content) const {
    std::ofstream(Path(name), std::ios::binary) << content;
    return Path(name);
  }

  fs::path folder_;
};

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Expects the open to fail with a message that has all of `parts`.
void ExpectRefused(const std::string& path, std::initializer_list<const char*> parts,
                   int threads = 1) {
  temper_model* model = reinterpret_cast<temper_model*>(1);
  ASSERT_NE(temper_open(path.c_str(), threads, &model), 0) << path;
  EXPECT_EQ(model, nullptr);
  for (const char* part : parts) {
    EXPECT_NE(std::string(temper_error()).find(part), std::string::npos)
        << "no \"" << part << "\" in: " << temper_error();
  }
}

// The loader remembers every name by which a library was opened: a descriptor's number that is
// used again must not stand for the file it named before.
TEST_F(OpenTest, AClosedModelDoesNotStandForTheNextOne) {
  temper_model *first = nullptr, *again = nullptr, *other = nullptr;
  ASSERT_EQ(temper_open((kDir + "toy_model.so").c_str(), 1, &first), 0) << temper_error();
  ASSERT_EQ(temper_open((kDir + "toy_model.so").c_str(), 1, &again), 0) << temper_error();
  temper_close(again);
  ASSERT_EQ(temper_open((kDir + "large_arena.so").c_str(), 1, &other), 0) << temper_error();
  EXPECT_NE(temper_input_count(first), temper_input_count(other));
  temper_close(other);
  ExpectRefused(kDir + "no_model.so", {"not a compiled model"});
  ASSERT_EQ(temper_open((kDir + "large_arena.so").c_str(), 1, &other), 0) << temper_error();
  EXPECT_EQ(temper_input_count(other), 0);
  temper_close(other);
  temper_close(first);
}

TEST_F(OpenTest, FilesThatAreNoModel) {
  ExpectRefused(Path("missing.so"), {"cannot open", "missing.so", "No such file"});
  ExpectRefused(folder_.string(), {"is not a file"});
  ExpectRefused(Write("empty.so", ""), {"empty.so", "not a compiled model"});
  ExpectRefused(Write("text.so", "ELF? No, a text."), {"not a compiled model"});
  ExpectRefused(Write("magic.so", "\177ELF"), {"cut short", "4 bytes"});
  ExpectRefused(kDir + "no_model.so", {"no_model.so", "not a compiled model", "temper compile"});
  ExpectRefused(kDir + "candidate.so", {"single kernel"});
  ExpectRefused(fs::canonical("/proc/self/exe").string(), {"runtime_test"});  // a program
}

TEST_F(OpenTest, ModelsOfAnotherFormatOrCpu) {
  ExpectRefused(kDir + "newer_model.so", {"newer compiler", "format 1000"});
  ExpectRefused(kDir + "zeroth_model.so", {"damaged metadata"});
  ExpectRefused(kDir + "damaged_model.so", {"damaged metadata"});
  ExpectRefused(kDir + "demanding_model.so", {"x86-64-v9", "lacks: feature 63", "--target"});
}

TEST_F(OpenTest, ModelsOfAnotherArchitecture) {
  std::string bytes = Read(kDir + "toy_model.so");
  ASSERT_GT(bytes.size(), 64u);
  bytes[18] = static_cast<char>(243);  // e_machine: RISC-V
  bytes[19] = 0;
  ExpectRefused(Write("riscv.so", bytes), {"compiled for RISC-V", "--target"});
}

// Wherever a copy stopped, the file is refused; the loader alone would die of SIGBUS at some.
TEST_F(OpenTest, ModelsCutShort) {
  const std::string bytes = Read(kDir + "toy_model.so");
  ASSERT_GT(bytes.size(), 1000u);
  for (size_t size : {size_t{20}, size_t{64}, size_t{200}, size_t{1000}, bytes.size() / 2,
                      bytes.size() - 100, bytes.size() - 1}) {
    ExpectRefused(Write("short.so", bytes.substr(0, size)), {"short.so", "cut short"});
  }
  std::string absurd = bytes;
  for (int i = 40; i < 48; ++i) absurd[i] = static_cast<char>(0xff);  // e_shoff
  ExpectRefused(Write("absurd.so", absurd), {"cut short"});
}

TEST_F(OpenTest, MoreMemoryOrThreadsThanThereAre) {
  ExpectRefused(kDir + "absurd_arena.so", {"cannot allocate 576460752303423488 bytes"});
  ExpectRefused(kDir + "toy_model.so", {"-1 threads", "1 to 1024"}, -1);
  ExpectRefused(kDir + "toy_model.so", {"5000 threads"}, 5000);
}

TEST_F(OpenTest, NullArguments) {
  temper_model* model = nullptr;
  EXPECT_NE(temper_open(nullptr, 1, &model), 0);
  EXPECT_NE(temper_open((kDir + "toy_model.so").c_str(), 1, nullptr), 0);
}

// y[1] of a toy model for x = 10 and b = 0.
float FirstOf(temper_model* model) {
  TestTensor x(kDLFloat, {3, 5}, std::vector<float>(15, 10.0f));
  TestTensor b(kDLFloat, {5}, std::vector<float>(5));
  TestTensor k(kDLInt, {1}, std::vector<int32_t>{0});
  DLTensor y = {}, n = {}, picked = {};
  const DLTensor* inputs[] = {&x.tensor, &b.tensor, &k.tensor};
  DLTensor* outputs[] = {&y, &n, &picked};
  EXPECT_EQ(temper_run(model, inputs, outputs), 0) << temper_error();
  return static_cast<float*>(y.data)[1];
}

// Compiling again to the same path replaces the file; the old model goes on, the new one is new.
TEST_F(OpenTest, AReplacedFileIsLoadedAnew) {
  const std::string path = Path("model.so");
  fs::copy_file(kDir + "toy_model.so", path);
  temper_model *old_model = nullptr, *new_model = nullptr;
  ASSERT_EQ(temper_open(path.c_str(), 1, &old_model), 0) << temper_error();
  fs::copy_file(kDir + "toy_model_tripled.so", Path("next.so"));
  fs::rename(Path("next.so"), path);
  ASSERT_EQ(temper_open(path.c_str(), 1, &new_model), 0) << temper_error();
  EXPECT_EQ(FirstOf(new_model), 30);
  EXPECT_EQ(FirstOf(old_model), 20);
  temper_close(old_model);
  EXPECT_EQ(FirstOf(new_model), 30);
  temper_close(new_model);
}

TEST_F(OpenTest, APathWithoutASlashIsOfTheWorkingFolder) {
  fs::copy_file(kDir + "toy_model.so", Path("model.so"));
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  temper_model* model = nullptr;
  EXPECT_EQ(temper_open("model.so", 1, &model), 0) << temper_error();
  fs::current_path(before);
  temper_close(model);
}

TEST_F(OpenTest, ErrorsAreOfTheirThread) {
  temper_model* model = nullptr;
  ASSERT_NE(temper_open("/nowhere/a.so", 1, &model), 0);
  std::string other;
  std::thread([&other] { other = temper_error(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_NE(std::string(temper_error()).find("/nowhere/a.so"), std::string::npos);
}

TEST(CpuFeaturesTest, NamesFeatures) {
  char text[64];
  EXPECT_STREQ(temper_cpu_feature_names(0, text, sizeof text), "");
  EXPECT_STREQ(temper_cpu_feature_names(1, text, sizeof text), "sse3");
  EXPECT_STREQ(temper_cpu_feature_names(1 << 10 | 1 << 15 | UINT64_C(1) << 60, text, sizeof text),
               "avx2, avx512f, feature 60");
  EXPECT_STREQ(temper_cpu_feature_names(1 << 10 | 1 << 15, text, 5), "avx2");
}

#ifdef __x86_64__
TEST(CpuFeaturesTest, AgreesWithTheCompilersOwnDetection) {
  const uint64_t bits = temper_cpu_features();
  const auto has = [bits](int bit) { return (bits >> bit & 1) != 0; };
  EXPECT_EQ(has(0), __builtin_cpu_supports("sse3") != 0);
  EXPECT_EQ(has(3), __builtin_cpu_supports("sse4.2") != 0);
  EXPECT_EQ(has(7), __builtin_cpu_supports("avx") != 0);
  EXPECT_EQ(has(9), __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(has(10), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(has(12), __builtin_cpu_supports("bmi2") != 0);
  EXPECT_EQ(has(15), __builtin_cpu_supports("avx512f") != 0);
  EXPECT_EQ(has(16), __builtin_cpu_supports("avx512bw") != 0);
  EXPECT_EQ(has(18), __builtin_cpu_supports("avx512dq") != 0);
  EXPECT_EQ(has(19), __builtin_cpu_supports("avx512vl") != 0);
  EXPECT_EQ(has(23), __builtin_cpu_supports("avx512vnni") != 0);
}
#endif

}  // namespace
