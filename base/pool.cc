#include "base/pool.h"

namespace temper {

struct Pool::Owner {
  ~Owner() {
    ended_ = true;
    for (List& list : lists_) {
      list.most = list.count = 0;
      while (Block* block = list.first) {
        list.first = block->next;
        ::operator delete(block);
      }
    }
  }
};

// False where the list is full or the thread is ending. Under AddressSanitizer nothing is kept, so
// that it sees each use of freed memory.
bool Pool::Grow(List& list) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  (void)list;
  return false;
#else
  if (ended_ || list.most == kMost) return false;
  static thread_local Owner owner;
  (void)owner;
  list.most = kMost;
  return true;
#endif
}

}  // namespace temper
