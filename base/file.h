// Files, descriptors, mappings and temporary folders. Every descriptor opened here is closed on
// exec. Messages name the path and say what the system said.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace temper {

// The system's error `error_number` as a Status whose code fits it, with `context` before it, as in
// "cannot open x.onnx: No such file or directory".
Status ErrnoStatus(int error_number, std::string_view context);

// Owns a file descriptor, or none (-1).
class ScopedFd {
 public:
  ScopedFd() = default;
  explicit ScopedFd(int fd) : fd_(fd) {}
  ~ScopedFd() { Reset(); }
  ScopedFd(ScopedFd&& other) noexcept : fd_(other.Release()) {}
  ScopedFd& operator=(ScopedFd&& other) noexcept {
    if (this != &other) Reset(other.Release());
    return *this;
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

// Both ends of a pipe.
struct Pipe {
  ScopedFd read;
  ScopedFd write;
};
Result<Pipe> MakePipe();

// The whole content of a regular file or, up to the limit, of a device or pipe.
// RESOURCE_EXHAUSTED when it is longer than `max_bytes`.
Result<std::string> ReadFile(const std::string& path, size_t max_bytes = size_t{1} << 32);

// Replaces or makes `path` with `data`, so that a reader or a crash sees the old content or the new
// one, never a part: a new file beside it is written, synced and renamed over it. A symbolic link
// at `path` is replaced, not followed.
Status WriteFileAtomic(const std::string& path, std::string_view data, mode_t mode = 0644);

// All of `data`, past interruptions and short writes.
Status WriteAll(int fd, std::string_view data);

bool FileExists(const std::string& path);

// A new private folder (mode 0700) that is removed with all that is in it, following no links.
class ScopedTempDir {
 public:
  // In `parent`, by default $TMPDIR or else /tmp.
  static Result<ScopedTempDir> Create(std::string_view name_prefix, std::string parent = "");
  ~ScopedTempDir() { Remove(); }
  ScopedTempDir(ScopedTempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScopedTempDir& operator=(ScopedTempDir&& other) noexcept;

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  explicit ScopedTempDir(std::string path) : path_(std::move(path)) {}
  void Remove();

  std::string path_;  // empty: moved from
};

// A regular file's content, mapped read-only and privately. A file that is cut short while it is
// mapped ends the process when the lost part is touched, as for every mapping.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  // Valid as long as this object, also after it was moved. Empty for an empty file.
  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  MappedFile(void* data, size_t size) : data_(data), size_(size) {}

  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace temper
