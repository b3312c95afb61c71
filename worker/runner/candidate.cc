#include "worker/runner/candidate.h"

#include <dlfcn.h>

#include <string>
#include <utility>

#include "base/dtype.h"
#include "deploy/runtime/pack.h"

namespace temper::runner {
namespace {

constexpr int kMaxArgs = 256;
constexpr int64_t kMaxBytes = int64_t{1} << 36;  // of one buffer

Result<int64_t> Product(const int64_t* extents, int rank) {
  int64_t product = 1;
  for (int i = 0; i < rank; ++i) {
    if (extents[i] < 0 || __builtin_mul_overflow(product, extents[i], &product) ||
        product > kMaxBytes) {
      return InvalidArgument("an argument of the kernel is too large");
    }
  }
  return product;
}

}  // namespace

Result<ArgLayout> LayoutOf(const temper_arg_info& info) {
  if (info.rank < 0 || info.rank > TEMPER_MAX_DIMS || info.dtype < 0 || info.dtype >= kDTypeCount ||
      info.role < TEMPER_ARG_INPUT || info.role > TEMPER_ARG_OUTPUT) {
    return InvalidArgument("an argument of the kernel has no proper description");
  }
  ArgLayout layout;
  int64_t padded[TEMPER_MAX_DIMS];
  for (int i = 0; i < info.rank; ++i) {
    int64_t before = info.halo_before[i], after = info.halo_after[i];
    if (before < 0 || after < 0 || before > kMaxBytes || after > kMaxBytes || info.shape[i] < 0 ||
        info.shape[i] > kMaxBytes) {
      return InvalidArgument("an argument of the kernel has a negative or huge extent");
    }
    padded[i] = info.shape[i] + before + after;
  }
  TEMPER_ASSIGN_OR_RETURN(layout.logical_elements, Product(info.shape, info.rank));
  TEMPER_ASSIGN_OR_RETURN(layout.elements, Product(padded, info.rank));
  layout.bytes = layout.elements * ByteSize(static_cast<DType>(info.dtype));
  layout.source_elements = layout.logical_elements;
  if (info.pack != nullptr) {
    const temper_pack& pack = *info.pack;
    if (info.role != TEMPER_ARG_CONSTANT || layout.elements != layout.logical_elements ||
        pack.element_bytes != ByteSize(static_cast<DType>(info.dtype)) ||
        temper_pack_dst_bytes(&pack) != layout.bytes) {
      return InvalidArgument("a packed constant of the kernel does not fit its description");
    }
    TEMPER_ASSIGN_OR_RETURN(layout.source_elements, Product(pack.src_shape, pack.src_rank));
  }
  return layout;
}

Result<Candidate> Candidate::Load(int fd) {
  Candidate candidate;
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  candidate.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (candidate.handle_ == nullptr) {
    const char* reason = dlerror();
    return InvalidArgument(std::string("cannot load a built kernel: ") +
                           (reason != nullptr ? reason : "unknown reason"));
  }
  candidate.info_ =
      static_cast<const temper_candidate_info*>(dlsym(candidate.handle_, TEMPER_CANDIDATE_SYMBOL));
  const temper_candidate_info* info = candidate.info_;
  if (info == nullptr) return InvalidArgument("a built kernel lacks " TEMPER_CANDIDATE_SYMBOL);
  if (info->abi_version != TEMPER_ABI_VERSION) {
    return InvalidArgument("a built kernel is of ABI version " + std::to_string(info->abi_version) +
                           ", this program of " + std::to_string(TEMPER_ABI_VERSION) +
                           "; install both from one build");
  }
  if (info->kernel == nullptr || info->args == nullptr || info->arg_count < 1 ||
      info->arg_count > kMaxArgs || info->workspace_bytes < 0) {
    return InvalidArgument("a built kernel has no proper description");
  }
  for (int i = 0; i < info->arg_count; ++i) {
    TEMPER_ASSIGN_OR_RETURN(ArgLayout layout, LayoutOf(info->args[i]));
    candidate.layouts_.push_back(layout);
  }
  return candidate;
}

Candidate::~Candidate() {
  if (handle_ != nullptr) dlclose(handle_);
}
Candidate::Candidate(Candidate&& other) noexcept { *this = std::move(other); }
Candidate& Candidate::operator=(Candidate&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(info_, other.info_);
  std::swap(layouts_, other.layouts_);
  return *this;
}

}  // namespace temper::runner
