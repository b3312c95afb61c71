/* How many CPUs this process may use. */
#ifndef TEMPER_DEPLOY_RUNTIME_CPU_COUNT_H_
#define TEMPER_DEPLOY_RUNTIME_CPU_COUNT_H_

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  TEMPER_CPU_LOGICAL = 0, /* all that the affinity of the calling thread allows */
  TEMPER_CPU_CORES = 1 /* of those that share a core, one; at most what the cgroup's quota pays */
} temper_cpu_kind;

/* At least 1. Reads /sys where the kind asks for it; what cannot be read does not count. */
int temper_cpu_count(temper_cpu_kind kind);

#ifdef __cplusplus
}
#endif
#endif /* TEMPER_DEPLOY_RUNTIME_CPU_COUNT_H_ */
