#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace temper {
namespace {

class FileTest : public testing::Test {
 protected:
  ScopedTempDir dir_ = *ScopedTempDir::Create("temper_file_test.");
};

TEST_F(FileTest, WritesAndReads) {
  std::string data("a\0b\n", 4);
  ASSERT_TRUE(WriteFileAtomic(dir_.File("f"), data).ok());
  EXPECT_EQ(*ReadFile(dir_.File("f")), data);
  ASSERT_TRUE(WriteFileAtomic(dir_.File("f"), "").ok());
  EXPECT_EQ(*ReadFile(dir_.File("f")), "");
  EXPECT_TRUE(FileExists(dir_.File("f")));
  EXPECT_FALSE(FileExists(dir_.File("g")));
}

TEST_F(FileTest, ReadsWhatHasNoSize) {
  auto text = ReadFile("/proc/self/status");
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("Pid:"), std::string::npos);
}

TEST_F(FileTest, RefusesWhatIsTooLong) {
  ASSERT_TRUE(WriteFileAtomic(dir_.File("f"), "12345").ok());
  EXPECT_EQ(*ReadFile(dir_.File("f"), 5), "12345");
  EXPECT_EQ(ReadFile(dir_.File("f"), 4).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(ReadFile("/dev/zero", 10000).status().code(), Code::kResourceExhausted);
}

TEST_F(FileTest, MessagesNameThePath) {
  Status missing = ReadFile(dir_.File("nothing")).status();
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_EQ(missing.message(),
            "cannot open " + dir_.File("nothing") + ": No such file or directory");
  EXPECT_EQ(ReadFile(dir_.path()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(WriteFileAtomic(dir_.File("no/such"), "x").code(), Code::kNotFound);
}

TEST_F(FileTest, AtomicWriteReplacesALinkAndLeavesNothingBehind) {
  ASSERT_TRUE(WriteFileAtomic(dir_.File("target"), "old").ok());
  std::filesystem::create_symlink(dir_.File("target"), dir_.File("link"));
  ASSERT_TRUE(WriteFileAtomic(dir_.File("link"), "new").ok());
  EXPECT_EQ(*ReadFile(dir_.File("target")), "old");
  EXPECT_EQ(*ReadFile(dir_.File("link")), "new");
  EXPECT_FALSE(std::filesystem::is_symlink(dir_.File("link")));
  std::filesystem::create_directory(dir_.File("folder"));
  EXPECT_FALSE(WriteFileAtomic(dir_.File("folder"), "x").ok());
  size_t entries = 0;
  for ([[maybe_unused]] auto& e : std::filesystem::directory_iterator(dir_.path())) ++entries;
  EXPECT_EQ(entries, 3u) << "no temporary file is left";
}

TEST_F(FileTest, AtomicWriteLeavesWhatIsNoFile) {
  ASSERT_EQ(mkfifo(dir_.File("pipe").c_str(), 0600), 0);
  const Status status = WriteFileAtomic(dir_.File("pipe"), "x");
  EXPECT_NE(status.message().find("not a regular file"), std::string::npos) << status.message();
  EXPECT_TRUE(std::filesystem::is_fifo(dir_.File("pipe")));
}

TEST_F(FileTest, TempDirIsPrivateAndRemoved) {
  std::string path;
  {
    ScopedTempDir dir = *ScopedTempDir::Create("x.", dir_.path());
    path = dir.path();
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    ASSERT_TRUE(WriteFileAtomic(dir.File("f"), "x").ok());
    ScopedTempDir moved = std::move(dir);
    EXPECT_TRUE(FileExists(path));
  }
  EXPECT_FALSE(FileExists(path));
  EXPECT_FALSE(ScopedTempDir::Create("x.", dir_.File("missing")).ok());
}

TEST_F(FileTest, MapsFiles) {
  ASSERT_TRUE(WriteFileAtomic(dir_.File("f"), "mapped").ok());
  auto map = MappedFile::Open(dir_.File("f"));
  ASSERT_TRUE(map.ok());
  MappedFile moved = std::move(*map);
  EXPECT_EQ(moved.bytes(), "mapped");
  ASSERT_TRUE(WriteFileAtomic(dir_.File("empty"), "").ok());
  EXPECT_EQ(MappedFile::Open(dir_.File("empty"))->bytes(), "");
  EXPECT_EQ(MappedFile::Open(dir_.path()).status().code(), Code::kInvalidArgument);
  ASSERT_EQ(mkfifo(dir_.File("fifo").c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::Open(dir_.File("fifo")).status().code(), Code::kInvalidArgument);
}

TEST_F(FileTest, DescriptorsCloseOnce) {
  ScopedFd a(open("/dev/null", O_RDONLY | O_CLOEXEC));
  int number = a.get();
  ScopedFd b = std::move(a);
  EXPECT_FALSE(a.valid());  // NOLINT: a moved-from ScopedFd is empty
  b.Reset();
  EXPECT_EQ(fcntl(number, F_GETFD), -1);
}

TEST_F(FileTest, PipesCarryDataAndCloseOnExec) {
  Pipe pipe = *MakePipe();
  EXPECT_TRUE(fcntl(pipe.read.get(), F_GETFD) & FD_CLOEXEC);
  ASSERT_TRUE(WriteAll(pipe.write.get(), "hi").ok());
  char buffer[4];
  EXPECT_EQ(read(pipe.read.get(), buffer, sizeof(buffer)), 2);
}

}  // namespace
}  // namespace temper
