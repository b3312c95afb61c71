#define _GNU_SOURCE
#include "deploy/runtime/cpu_count.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_CPUS 8192

/* The first CPU of the core that `cpu` belongs to and that `allowed` has; `cpu` where unknown. */
static int FirstSibling(int cpu, const cpu_set_t* allowed, size_t bytes) {
  char path[96];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  FILE* file = fopen(path, "re");
  if (!file) return cpu;
  int found = cpu;
  int begin;
  /* A list such as 0,64 or 0-1. */
  while (found == cpu && fscanf(file, "%d", &begin) == 1) {
    int end = begin;
    int separator = fgetc(file);
    if (separator == '-') {
      if (fscanf(file, "%d", &end) != 1) break;
      separator = fgetc(file);
    }
    for (int i = begin; i <= end && i < cpu; ++i) {
      if (i >= 0 && CPU_ISSET_S(i, bytes, allowed)) {
        found = i;
        break;
      }
    }
    if (separator != ',') break;
  }
  fclose(file);
  return found;
}

/* CPUs that the control group may keep busy, rounded up; 0: no limit. */
static int QuotaCpus(void) {
  FILE* file = fopen("/sys/fs/cgroup/cpu.max", "re");
  if (!file) return 0;
  long long quota, period;
  const int fields = fscanf(file, "%lld %lld", &quota, &period); /* "max 100000": no limit */
  fclose(file);
  if (fields != 2 || quota <= 0 || period <= 0) return 0;
  const long long cpus = quota / period + (quota % period != 0);
  return cpus < MAX_CPUS ? (int)cpus : 0;
}

int temper_cpu_count(temper_cpu_kind kind) {
  cpu_set_t* allowed = CPU_ALLOC(MAX_CPUS);
  if (!allowed) return 1;
  const size_t bytes = CPU_ALLOC_SIZE(MAX_CPUS);
  int count = 0;
  CPU_ZERO_S(bytes, allowed);
  if (sched_getaffinity(0, bytes, allowed) == 0) {
    for (int cpu = 0; cpu < MAX_CPUS; ++cpu) {
      if (!CPU_ISSET_S(cpu, bytes, allowed)) continue;
      if (kind == TEMPER_CPU_CORES && FirstSibling(cpu, allowed, bytes) != cpu) continue;
      ++count;
    }
  }
  CPU_FREE(allowed);
  if (kind == TEMPER_CPU_CORES) {
    const int quota = QuotaCpus();
    if (quota && quota < count) count = quota;
  }
  return count ? count : 1;
}
