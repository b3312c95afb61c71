#define _GNU_SOURCE
#include "deploy/runtime/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 64
#define HUGE_PAGE ((size_t)2 << 20)
#define LARGE (2 * HUGE_PAGE)

static size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* Maps one huge page more than needed and gives back what lies before and behind. */
static void* AllocateLarge(size_t bytes) {
  const size_t size = RoundUp(bytes, HUGE_PAGE);
  char* mapped =
      mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return NULL;
  const size_t before = RoundUp((uintptr_t)mapped, HUGE_PAGE) - (uintptr_t)mapped;
  if (before) munmap(mapped, before);
  if (before < HUGE_PAGE) munmap(mapped + before + size, HUGE_PAGE - before);
  madvise(mapped + before, size, MADV_HUGEPAGE); /* a wish: refusal costs speed alone */
  return mapped + before;
}

void* temper_arena_allocate(size_t bytes) {
  if (bytes > SIZE_MAX / 4) return NULL;
  if (bytes >= LARGE) return AllocateLarge(bytes);
  const size_t size = RoundUp(bytes ? bytes : 1, ALIGNMENT);
  void* arena = aligned_alloc(ALIGNMENT, size);
  if (arena) memset(arena, 0, size);
  return arena;
}

void temper_arena_free(void* arena, size_t bytes) {
  if (!arena) return;
  if (bytes >= LARGE) {
    munmap(arena, RoundUp(bytes, HUGE_PAGE));
  } else {
    free(arena);
  }
}
