#include "compiler/driver/weights.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/file.h"
#include "compiler/codegen/elf_weights.h"
#include "compiler/driver/parallel.h"
#include "deploy/runtime/pack.h"

namespace temper::driver {
namespace {

// A file that was removed already, mapped for writing.
class ScratchFile {
 public:
  static Result<ScratchFile> Create(const std::string& path, int64_t bytes) {
    ScopedFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd.valid()) return ErrnoStatus(errno, "cannot make " + path);
    unlink(path.c_str());
    // posix_fallocate rather than ftruncate: a full disk is an error here, not a signal later.
    if (int error = posix_fallocate(fd.get(), 0, bytes)) {
      return ErrnoStatus(error, "cannot make " + path + " for the packed weights");
    }
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (data == MAP_FAILED) return ErrnoStatus(errno, "cannot map " + path);
    return ScratchFile(static_cast<uint8_t*>(data), bytes);
  }
  ~ScratchFile() {
    if (data_) munmap(data_, bytes_);
  }
  ScratchFile(ScratchFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

  uint8_t* data() const { return data_; }

 private:
  ScratchFile(uint8_t* data, int64_t bytes) : data_(data), bytes_(bytes) {}

  uint8_t* data_;
  int64_t bytes_;
};

}  // namespace

Status WriteWeights(const std::vector<Weight>& weights, int64_t weight_bytes, int threads,
                    const std::string& folder, const std::string& path) {
  int64_t packed_bytes = 0;
  std::vector<int64_t> packed_at(weights.size(), 0);
  for (size_t i = 0; i < weights.size(); ++i) {
    packed_at[i] = packed_bytes;
    if (weights[i].form != nullptr) packed_bytes += weights[i].bytes;
  }
  TEMPER_ASSIGN_OR_RETURN(
      ScratchFile packed,
      ScratchFile::Create(folder + "/packed", std::max<int64_t>(packed_bytes, 1)));
  std::vector<codegen::WeightSpan> spans(weights.size());
  TEMPER_RETURN_IF_ERROR(
      ForEachParallel(static_cast<int>(weights.size()), threads, [&](int i) -> Status {
        const Weight& w = weights[i];
        const auto* source = reinterpret_cast<const uint8_t*>(w.tensor->data);
        spans[i].offset = w.offset;
        if (w.form == nullptr) {
          spans[i].bytes = {source, static_cast<size_t>(w.bytes)};
          return OkStatus();
        }
        uint8_t* to = packed.data() + packed_at[i];
        const temper_pack pack = w.form->Pack();
        if (temper_pack_run(&pack, source, to) != 0) {
          return ResourceExhausted("no memory for packing the weights");
        }
        spans[i].bytes = {to, static_cast<size_t>(w.bytes)};
        return OkStatus();
      }));
  return codegen::WriteWeightsObject(path, spans, weight_bytes);
}

}  // namespace temper::driver
