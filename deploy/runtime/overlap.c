#include "deploy/runtime/overlap.h"

#include <stddef.h>
#include <stdlib.h>

#include "deploy/runtime/error.h"

static int ByBegin(const void* a, const void* b) {
  const uintptr_t x = (uintptr_t)((const temper_range*)a)->begin;
  const uintptr_t y = (uintptr_t)((const temper_range*)b)->begin;
  return x < y ? -1 : x > y;
}

static uintptr_t End(const temper_range* range) {
  return (uintptr_t)range->begin + (uintptr_t)range->bytes;
}

static int Clash(const temper_range* a, const temper_range* b) {
  const temper_range* output = a->written ? a : b;
  const temper_range* other = a->written ? b : a;
  return temper_set_error("output %s shares memory with %s %s. Give it memory of its own.",
                          output->name, other->written ? "output" : "input", other->name);
}

int temper_check_overlap(temper_range* ranges, int count) {
  qsort(ranges, (size_t)count, sizeof *ranges, ByBegin);
  /* Those that end last of what began before: of all, and of the outputs. */
  const temper_range *any = NULL, *written = NULL;
  for (int i = 0; i < count; ++i) {
    const temper_range* range = &ranges[i];
    if (!range->bytes) continue;
    const temper_range* before = range->written ? any : written;
    if (before && End(before) > (uintptr_t)range->begin) return Clash(before, range);
    if (!any || End(range) > End(any)) any = range;
    if (range->written && (!written || End(range) > End(written))) written = range;
  }
  return 0;
}
