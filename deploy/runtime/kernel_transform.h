/* The transform of 3x3 convolution kernels for Winograd's algorithm (abi.h, temper_pack). */
#ifndef TEMPER_DEPLOY_RUNTIME_KERNEL_TRANSFORM_H_
#define TEMPER_DEPLOY_RUNTIME_KERNEL_TRANSFORM_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEMPER_MAX_TRANSFORM_ROWS 16

/* u[a, b, o, i] = sum over p, q of g[a][p] * g[b][q] * k[o, i, p, q]. g: rows x 3; k: float32,
 * outputs x inputs x 3 x 3, of any alignment; u: rows x rows x outputs x inputs.
 * REQUIRES: 0 < rows <= TEMPER_MAX_TRANSFORM_ROWS. */
void temper_kernel_transform(int rows, const double* g, int64_t outputs, int64_t inputs,
                             const void* k, float* u);

#ifdef __cplusplus
}
#endif
#endif /* TEMPER_DEPLOY_RUNTIME_KERNEL_TRANSFORM_H_ */
