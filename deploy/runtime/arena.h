/* Scratch memory of a model's runs. */
#ifndef TEMPER_DEPLOY_RUNTIME_ARENA_H_
#define TEMPER_DEPLOY_RUNTIME_ARENA_H_

#include <stddef.h>

/* Zeroed memory, aligned to 64 bytes; from 4 MB on aligned to 2 MB and, where the system has them
 * to give, in huge pages. NULL where there is none; a size of 0 gives memory of 64 bytes. */
void* temper_arena_allocate(size_t bytes);

/* `bytes` as given to temper_arena_allocate. NULL is ignored. */
void temper_arena_free(void* arena, size_t bytes);

#endif /* TEMPER_DEPLOY_RUNTIME_ARENA_H_ */
