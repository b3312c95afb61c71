/* Which instructions the CPU and the operating system offer, as the bits of TEMPER_X86_FEATURES. */
#ifndef TEMPER_DEPLOY_RUNTIME_CPU_FEATURES_H_
#define TEMPER_DEPLOY_RUNTIME_CPU_FEATURES_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A feature counts only where the system also saves its registers (XGETBV). 0 on CPUs that are not
 * x86-64. */
uint64_t temper_cpu_features(void);

/* Makes features usable that a process must ask the system for (AMX, on Linux), where `bits` has
 * them; before a thread that is to use them starts. Returns 0, or -1 with errno set. */
int temper_cpu_enable(uint64_t bits);

/* Writes the names of the features in `bits`, ", " between them, cut to `size` bytes; a bit without
 * a name as "feature N". Returns `text`. */
char* temper_cpu_feature_names(uint64_t bits, char* text, size_t size);

#ifdef __cplusplus
}
#endif
#endif /* TEMPER_DEPLOY_RUNTIME_CPU_FEATURES_H_ */
