#define _GNU_SOURCE
#include "deploy/runtime/thread_pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "deploy/runtime/cpu_count.h"
#include "deploy/runtime/op.h"

#if defined(__x86_64__) || defined(__i386__)
#define CPU_RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define CPU_RELAX() __asm__ volatile("yield")
#else
#define CPU_RELAX() ((void)0)
#endif

/* How often an idle thread looks before it sleeps. A pause takes 15 to 50 ns, so this is 60 to 200
 * microseconds: about what waking a thread costs (100 on a virtual machine), longer than the gap
 * between most kernels, shorter than anyone notices. */
#define SPINS 4000

/* Slots of two threads share no cache line, nor a pair of lines fetched together. */
#define APART 128

/* A loop being run. Lives on the stack of the thread that started it: a worker's last touch of it
 * is the decrement of `pending`. */
typedef struct {
  temper_parallel_body body;
  void* closure;
  int64_t count;
  int chunks;
  alignas(APART) atomic_int pending; /* workers that have not finished their chunk */
} job;

/* Where a worker is given jobs. `next` is the worker's or, until it took it, the caller's again.
 * `next` and `sleeping`, like `pending` and `caller_sleeping`, are
 * each written by one side before it reads the other, sequentially consistent: so either the
 * sleeper sees the news or the bringer sees the sleeper and wakes it. */
typedef struct {
  alignas(APART) _Atomic(job*) next;
  atomic_int sleeping;
  int index; /* of the chunk that it runs */
  temper_pool* pool;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t wake;
} worker;

struct temper_pool {
  temper_context context; /* first: a context is cast to its pool */
  int threads;
  int spins;
  worker* workers; /* threads - 1 */
  job stop;        /* given to a worker that is to end */
  alignas(APART) atomic_flag busy;
  alignas(APART) atomic_int caller_sleeping;
  pthread_mutex_t mutex;
  pthread_cond_t done;
};

/* count * i / chunks without overflow. */
static int64_t ChunkBegin(int64_t count, int i, int chunks) {
  return count / chunks * i + count % chunks * i / chunks;
}

static void RunChunk(const job* j, int i) {
  j->body(j->closure, ChunkBegin(j->count, i, j->chunks), ChunkBegin(j->count, i + 1, j->chunks));
}

/* Takes what the worker was given, unless there is nothing or the caller took it back: whoever
 * empties `next` runs the chunk. */
static job* TakeJob(worker* w) {
  job* j = atomic_load(&w->next);
  if (!j || !atomic_compare_exchange_strong(&w->next, &j, NULL)) return NULL;
  return j;
}

static job* WaitForJob(worker* w) {
  for (;;) {
    for (int i = 0; i < w->pool->spins; ++i) {
      job* j = TakeJob(w);
      if (j) return j;
      CPU_RELAX();
    }
    pthread_mutex_lock(&w->mutex);
    atomic_store(&w->sleeping, 1);
    job* j = TakeJob(w);
    if (!j) {
      pthread_cond_wait(&w->wake, &w->mutex);
      j = TakeJob(w);
    }
    atomic_store(&w->sleeping, 0);
    pthread_mutex_unlock(&w->mutex);
    if (j) return j;
    /* The caller was quicker. More loops will follow. */
  }
}

static void GiveJob(worker* w, job* j) {
  atomic_store(&w->next, j);
  if (!atomic_load(&w->sleeping)) return;
  pthread_mutex_lock(&w->mutex);
  pthread_cond_signal(&w->wake);
  pthread_mutex_unlock(&w->mutex);
}

static void WaitForWorkers(temper_pool* pool, job* j) {
  for (int i = 0; i < pool->spins; ++i) {
    if (!atomic_load_explicit(&j->pending, memory_order_acquire)) return;
    CPU_RELAX();
  }
  pthread_mutex_lock(&pool->mutex);
  atomic_store(&pool->caller_sleeping, 1);
  while (atomic_load(&j->pending)) pthread_cond_wait(&pool->done, &pool->mutex);
  atomic_store(&pool->caller_sleeping, 0);
  pthread_mutex_unlock(&pool->mutex);
}

static void FinishJob(temper_pool* pool, job* j) {
  if (atomic_fetch_sub(&j->pending, 1) != 1) return;
  /* *j may be gone by now. A wake meant for an earlier loop does no harm. */
  if (!atomic_load(&pool->caller_sleeping)) return;
  pthread_mutex_lock(&pool->mutex);
  pthread_cond_signal(&pool->done);
  pthread_mutex_unlock(&pool->mutex);
}

static void* Work(void* argument) {
  worker* w = argument;
  temper_pool* pool = w->pool;
  for (;;) {
    job* j = WaitForJob(w);
    if (j == &pool->stop) return NULL;
    RunChunk(j, w->index);
    FinishJob(pool, j);
  }
}

/* Runs the chunk of a worker that has not begun it: one that sleeps takes as long to wake as most
 * loops take, and one whose core another program has may not come for milliseconds. */
static void TakeBack(worker* w, job* j) {
  job* expected = j;
  if (!atomic_compare_exchange_strong(&w->next, &expected, NULL)) return;
  RunChunk(j, w->index);
  atomic_fetch_sub(&j->pending, 1);
}

void temper_pool_run(temper_pool* pool, temper_parallel_body body, void* closure, int64_t count) {
  if (count <= 0) return;
  if (count == 1 || pool->threads == 1 ||
      atomic_flag_test_and_set_explicit(&pool->busy, memory_order_acquire)) {
    body(closure, 0, count);
    return;
  }
  job j = {.body = body, .closure = closure, .count = count};
  j.chunks = count < pool->threads ? (int)count : pool->threads;
  atomic_init(&j.pending, j.chunks - 1);
  for (int i = 0; i + 1 < j.chunks; ++i) GiveJob(&pool->workers[i], &j);
  RunChunk(&j, 0);
  for (int i = 0; i + 1 < j.chunks; ++i) TakeBack(&pool->workers[i], &j);
  WaitForWorkers(pool, &j);
  atomic_flag_clear_explicit(&pool->busy, memory_order_release);
}

static void ParallelFor(temper_context* self, temper_parallel_body body, void* closure,
                        int64_t count) {
  temper_pool_run((temper_pool*)self, body, closure, count);
}

/* Signals belong to the program's own threads: a handler may run on none of the pool's. */
static int StartThread(worker* w) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&w->thread, NULL, Work, w);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

static void StopWorkers(temper_pool* pool, int started) {
  for (int i = 0; i < started; ++i) GiveJob(&pool->workers[i], &pool->stop);
  for (int i = 0; i < started; ++i) {
    pthread_join(pool->workers[i].thread, NULL);
    pthread_mutex_destroy(&pool->workers[i].mutex);
    pthread_cond_destroy(&pool->workers[i].wake);
  }
}

static void FreePool(temper_pool* pool) {
  pthread_mutex_destroy(&pool->mutex);
  pthread_cond_destroy(&pool->done);
  free(pool->workers);
  free(pool);
}

temper_pool* temper_pool_create(int threads) {
  const int cpus = temper_cpu_count(TEMPER_CPU_LOGICAL);
  if (threads == 0) threads = temper_cpu_count(TEMPER_CPU_CORES);
  if (threads < 1 || threads > TEMPER_MAX_THREADS) {
    errno = EINVAL;
    return NULL;
  }
  temper_pool* pool = aligned_alloc(APART, sizeof *pool);
  if (!pool) return NULL;
  pool->context.parallel_for = ParallelFor;
  pool->context.ops = temper_op_table;
  pool->context.at_step = NULL;
  pool->context.watcher = NULL;
  pool->threads = threads;
  pool->spins = threads > cpus ? 0 : SPINS;
  pool->workers = NULL;
  atomic_flag_clear(&pool->busy);
  atomic_init(&pool->caller_sleeping, 0);
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->done, NULL);
  if (threads == 1) return pool;
  pool->workers = aligned_alloc(APART, (size_t)(threads - 1) * sizeof *pool->workers);
  if (!pool->workers) {
    FreePool(pool);
    errno = ENOMEM;
    return NULL;
  }
  for (int i = 0; i < threads - 1; ++i) {
    worker* w = &pool->workers[i];
    atomic_init(&w->next, NULL);
    atomic_init(&w->sleeping, 0);
    w->index = i + 1;
    w->pool = pool;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, NULL);
    const int error = StartThread(w);
    if (error) {
      pthread_mutex_destroy(&w->mutex);
      pthread_cond_destroy(&w->wake);
      StopWorkers(pool, i);
      FreePool(pool);
      errno = error;
      return NULL;
    }
  }
  return pool;
}

void temper_pool_destroy(temper_pool* pool) {
  if (!pool) return;
  StopWorkers(pool, pool->threads - 1);
  FreePool(pool);
}

int temper_pool_threads(const temper_pool* pool) { return pool->threads; }

temper_context* temper_pool_context(temper_pool* pool) { return &pool->context; }
