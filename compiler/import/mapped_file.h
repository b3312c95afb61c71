// A file mapped into memory, read-only.
//
// The mapping is private; a file that another program shortens while it is mapped makes reads of
// the lost pages fault, as with any mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

namespace temper::importer {

class MappedFile {
 public:
  // Maps a regular file that is not empty.
  static Result<std::shared_ptr<const MappedFile>> Open(const std::string& path);

  // Maps `relative` below `directory`, both of them named by a model file and so not trusted: no
  // way out of the directory, no symbolic links, and a regular file with one name only, since a
  // second one may lie anywhere.
  static Result<std::shared_ptr<const MappedFile>> OpenBeneath(const std::string& directory,
                                                               const std::string& relative);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}
  static Result<std::shared_ptr<const MappedFile>> Map(int fd, const std::string& shown,
                                                       bool one_link);

  const std::byte* data_;
  size_t size_;
};

}  // namespace temper::importer
