/* A shared object that is no model at all; with TEST_CANDIDATE one kernel made for measuring. */
#include <stddef.h>

#include "deploy/runtime/abi.h"

#ifdef TEST_CANDIDATE
static int Kernel(temper_context* context, void* const* args, void* workspace) {
  (void)context, (void)args, (void)workspace;
  return 0;
}
__attribute__((visibility("default")))
const temper_candidate_info temper_candidate = {TEMPER_ABI_VERSION, 0, NULL, 0, Kernel};
#else
__attribute__((visibility("default"))) int nothing = 1;
#endif
