/* Whether an output of a run lies in the memory of an input or of another output. */
#ifndef TEMPER_DEPLOY_RUNTIME_OVERLAP_H_
#define TEMPER_DEPLOY_RUNTIME_OVERLAP_H_

#include <stdint.h>

/* Memory of an input (written 0) or output of a run. */
typedef struct {
  const char* begin;
  int64_t bytes; /* 0: of no tensor */
  const char* name;
  int written;
} temper_range;

/* 0, or -1 with the error set, naming both. Sorts the ranges; their time is that of a sort. */
int temper_check_overlap(temper_range* ranges, int count);

#endif /* TEMPER_DEPLOY_RUNTIME_OVERLAP_H_ */
