#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace temper {
namespace {

Code CodeOfErrno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    case EEXIST:
      return Code::kAlreadyExists;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EFBIG:
      return Code::kResourceExhausted;
    case EINVAL:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return Code::kInvalidArgument;
    case EAGAIN:
    case EBUSY:
    case ETXTBSY:
      return Code::kUnavailable;
    default:
      return Code::kUnknown;
  }
}

// A new file beside `path`, under a name that nobody holds yet.
Result<ScopedFd> OpenNewBeside(const std::string& path, mode_t mode, std::string& temporary) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary = path + ".tmp" + std::to_string(getpid()) + "." + std::to_string(attempt);
    int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd >= 0) return ScopedFd(fd);
    if (errno != EEXIST) return ErrnoStatus(errno, "cannot write " + path);
  }
  return AlreadyExists("cannot write " + path + ": remove the files " + path + ".tmp*");
}

// Makes a rename in `path`'s folder last through a power cut. Not every file system can do it.
void SyncFolderOf(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  ScopedFd fd(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.valid()) fsync(fd.get());
}

}  // namespace

Status ErrnoStatus(int error_number, std::string_view context) {
  return {CodeOfErrno(error_number),
          std::string(context) + ": " + std::generic_category().message(error_number)};
}

void ScopedFd::Reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

Result<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus(errno, "cannot make a pipe");
  return Pipe{ScopedFd(fds[0]), ScopedFd(fds[1])};
}

Result<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  ScopedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "cannot open " + path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "cannot read " + path);
  if (S_ISDIR(info.st_mode)) return ErrnoStatus(EISDIR, "cannot read " + path);
  Status too_long = ResourceExhausted("cannot read " + path + ": it is longer than " +
                                      std::to_string(max_bytes) + " bytes");
  bool sized = S_ISREG(info.st_mode) && info.st_size > 0;  // /proc says 0 of its files
  if (sized && static_cast<uint64_t>(info.st_size) > max_bytes) return too_long;

  std::string content;
  size_t used = 0;
  // One byte beyond the size shows the end of the file, or that it grew.
  content.resize(std::min(sized ? static_cast<size_t>(info.st_size) : 4096, max_bytes) + 1);
  for (;;) {
    ssize_t count = read(fd.get(), content.data() + used, content.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "cannot read " + path);
    if (count == 0) break;
    used += static_cast<size_t>(count);
    if (used > max_bytes) return too_long;
    if (used == content.size()) content.resize(std::min(2 * used, max_bytes) + 1);
  }
  content.resize(used);
  return content;
}

Status WriteAll(int fd, std::string_view data) {
  while (!data.empty()) {
    ssize_t count = write(fd, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "cannot write");
    data.remove_prefix(static_cast<size_t>(count));
  }
  return OkStatus();
}

Status WriteFileAtomic(const std::string& path, std::string_view data, mode_t mode) {
  // A rename would put a file in the place of a device or a pipe.
  struct stat there;
  if (lstat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode) &&
      !S_ISDIR(there.st_mode)) {
    return InvalidArgument("cannot write " + path + ": it is there and not a regular file");
  }
  std::string temporary;
  TEMPER_ASSIGN_OR_RETURN(ScopedFd fd, OpenNewBeside(path, mode, temporary));
  Status status = WriteAll(fd.get(), data).WithContext(path);
  if (status.ok() && fsync(fd.get()) != 0) status = ErrnoStatus(errno, "cannot write " + path);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, "cannot write " + path);
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  SyncFolderOf(path);
  return OkStatus();
}

bool FileExists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

Result<ScopedTempDir> ScopedTempDir::Create(std::string_view name_prefix, std::string parent) {
  if (parent.empty()) {
    const char* folder = std::getenv("TMPDIR");
    parent = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  }
  std::string path = parent + "/" + std::string(name_prefix) + "XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return ErrnoStatus(errno, "cannot make a temporary folder in " + parent);
  }
  return ScopedTempDir(std::move(path));
}

ScopedTempDir& ScopedTempDir::operator=(ScopedTempDir&& other) noexcept {
  if (this != &other) {
    Remove();
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

void ScopedTempDir::Remove() {
  if (path_.empty()) return;
  std::error_code ignored;  // what cannot be removed is left to the system's cleaner
  std::filesystem::remove_all(path_, ignored);
  path_.clear();
}

Result<MappedFile> MappedFile::Open(const std::string& path) {
  // Without O_NONBLOCK the opening of a pipe would wait for its writer.
  ScopedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus(errno, "cannot open " + path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "cannot read " + path);
  if (S_ISDIR(info.st_mode)) return ErrnoStatus(EISDIR, "cannot read " + path);
  if (!S_ISREG(info.st_mode)) return InvalidArgument(path + " is not a regular file");
  if (info.st_size == 0) return MappedFile(nullptr, 0);
  auto size = static_cast<size_t>(info.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) return ErrnoStatus(errno, "cannot map " + path);
  return MappedFile(data, size);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace temper
