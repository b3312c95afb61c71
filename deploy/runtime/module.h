/* A compiled model's shared object, loaded and checked. */
#ifndef TEMPER_DEPLOY_RUNTIME_MODULE_H_
#define TEMPER_DEPLOY_RUNTIME_MODULE_H_

#include "deploy/runtime/abi.h"
#include "deploy/runtime/temper.h"

/* Shared by a model and its clones; read only once made. */
typedef struct temper_module_handle temper_module_handle;

/* What a model takes and gives: for one set of shapes, or for all of them together. */
typedef struct {
  int input_count;    /* that must be given */
  int optional_count; /* behind them in `inputs` */
  int output_count;
  temper_tensor_info* inputs;
  temper_tensor_info* outputs;
} temper_signature;

/* Loads the file and checks all that temper.h promises of temper_open but memory and threads:
 * afterwards the metadata is consistent and this CPU can run the code. The caller holds one
 * reference. NULL on failure, with the error set.
 *
 * Two loads of one file share its pages; a file that replaced another under the same name is
 * loaded anew, even while the old one is in use. */
temper_module_handle* temper_module_load(const char* path);

/* Safe from any thread. The last release unloads the code. */
void temper_module_retain(temper_module_handle* module);
void temper_module_release(temper_module_handle* module);

/* Specializations, at least one; 0 <= k < count below. */
int temper_module_count(const temper_module_handle* module);
const temper_module_info* temper_module_get(const temper_module_handle* module, int k);
const temper_specialization_info* temper_module_describe(const temper_module_handle* module, int k);

/* Of all specializations together: -1 in a shape where they differ, the largest in max_shape. With
 * one alone its own. */
const temper_signature* temper_module_signature(const temper_module_handle* module);

/* NULL where the module has none. */
const temper_workload_table* temper_module_workloads(const temper_module_handle* module);

#endif /* TEMPER_DEPLOY_RUNTIME_MODULE_H_ */
