/* Which specialization of a model serves a call. */
#ifndef TEMPER_DEPLOY_RUNTIME_CHOOSE_H_
#define TEMPER_DEPLOY_RUNTIME_CHOOSE_H_

#include "deploy/runtime/module.h"

/* The first whose inputs have the shapes of `inputs` and of those of `optional` (may be NULL) that
 * are given. -1, with the error set, where none has: the error lists the shapes there are. With one
 * specialization alone it is that; nothing is checked then. */
int temper_module_choose(const temper_module_handle* module, const DLTensor* const* inputs,
                         const DLTensor* const* optional);

#endif /* TEMPER_DEPLOY_RUNTIME_CHOOSE_H_ */
