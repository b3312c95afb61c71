#include "compiler/import/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace temper::importer {
namespace {

Status FileError(const std::string& shown, const std::string& what) {
  return {errno == ENOENT ? Code::kNotFound : Code::kInvalidArgument,
          fmt::format("{}: {}: {}", shown, what, std::strerror(errno))};
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::Map(int fd, const std::string& shown,
                                                          bool one_link) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return FileError(shown, "cannot be examined");
  if (!S_ISREG(info.st_mode)) return InvalidArgument(shown + ": not a regular file");
  if (one_link && info.st_nlink != 1) {
    return PermissionDenied(shown +
                            ": has several names (hard links), which is not allowed for a "
                            "model's external data; copy the file");
  }
  if (info.st_size == 0) return InvalidArgument(shown + ": the file is empty");
  const size_t size = static_cast<size_t>(info.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return FileError(shown, "cannot be mapped");
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const std::byte*>(data), size));
}

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer; Map then refuses it.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return FileError(path, "cannot be opened");
  auto file = Map(fd, path, false);
  close(fd);
  return file;
}

Result<std::shared_ptr<const MappedFile>> MappedFile::OpenBeneath(const std::string& directory,
                                                                  const std::string& relative) {
  const std::string shown = fmt::format("external data '{}'", relative);
  if (relative.empty() || relative.find('\0') != std::string::npos) {
    return InvalidArgument(shown + ": not a file name");
  }
  const int dir =
      open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (dir < 0) return FileError(directory, "cannot be opened");
  open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const int fd = static_cast<int>(syscall(SYS_openat2, dir, relative.c_str(), &how, sizeof(how)));
  const int error = errno;
  close(dir);
  if (fd < 0) {
    errno = error;
    if (error == EXDEV || error == ELOOP) {
      return PermissionDenied(shown + ": must lie beside the model, without symbolic links");
    }
    return FileError(shown, "cannot be opened");
  }
  auto file = Map(fd, shown, true);
  close(fd);
  return file;
}

MappedFile::~MappedFile() { munmap(const_cast<std::byte*>(data_), size_); }

}  // namespace temper::importer
