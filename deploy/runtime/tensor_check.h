/* Whether a caller's tensor is what a model takes. */
#ifndef TEMPER_DEPLOY_RUNTIME_TENSOR_CHECK_H_
#define TEMPER_DEPLOY_RUNTIME_TENSOR_CHECK_H_

#include "deploy/runtime/temper.h"

/* Compares dtype, ndim, shape (with max_shape), strides, device; and that there is data where the
 * tensor has elements. kind: "input" or "output", for the message. 0, or -1 with the error set. */
int temper_tensor_check(const char* kind, const temper_tensor_info* want, const DLTensor* tensor);

/* Whether the tensor is there and has this shape. */
int temper_tensor_has_shape(const DLTensor* tensor, int ndim, const int64_t* shape);

/* Bytes of a dense tensor of max_shape. */
int64_t temper_tensor_max_bytes(const temper_tensor_info* info);

#endif /* TEMPER_DEPLOY_RUNTIME_TENSOR_CHECK_H_ */
