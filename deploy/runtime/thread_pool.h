/* A pool of threads for parallel loops: static chunks, low latency.
 *
 * A pool of n threads is the calling thread and n - 1 of its own; a pool of one starts none. Chunk
 * i of a loop runs on thread i, chunk 0 on the caller, so data stays in the caches of the core that
 * touched it last; chunks that their threads have not begun when the caller is done with its own,
 * because they sleep or have no core, it runs itself. Idle threads spin for about 100 microseconds,
 * then sleep; where there are more threads than CPUs they sleep at once.
 *
 * One thread at a time may use a pool. A loop started inside a loop of the same pool, or while
 * another thread runs one, runs serially on the thread that started it. The threads inherit the
 * CPU affinity of the thread that creates the pool. A pool does not survive fork() in the child. */
#ifndef TEMPER_DEPLOY_RUNTIME_THREAD_POOL_H_
#define TEMPER_DEPLOY_RUNTIME_THREAD_POOL_H_

#include "deploy/runtime/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TEMPER_MAX_THREADS 1024

typedef struct temper_pool temper_pool;

/* A pool of `threads` threads, 1 to TEMPER_MAX_THREADS; 0: one per core (temper_cpu_count).
 * NULL, with errno set, where `threads` is out of range or a thread cannot be started. */
temper_pool* temper_pool_create(int threads);

/* Ends the threads. No loop may be running. NULL is ignored. */
void temper_pool_destroy(temper_pool* pool);

int temper_pool_threads(const temper_pool* pool);

/* What generated code takes. Lives as long as the pool. */
temper_context* temper_pool_context(temper_pool* pool);

/* Calls body(closure, b, e) for the chunks of [0, count) and returns when all are done. There are
 * min(threads, count) chunks; chunk i is [count*i/chunks, count*(i+1)/chunks). */
void temper_pool_run(temper_pool* pool, temper_parallel_body body, void* closure, int64_t count);

#ifdef __cplusplus
}
#endif
#endif /* TEMPER_DEPLOY_RUNTIME_THREAD_POOL_H_ */
