/* Reorders a constant into the layout that a kernel reads: carries out a temper_pack of abi.h. */
#ifndef TEMPER_DEPLOY_RUNTIME_PACK_H_
#define TEMPER_DEPLOY_RUNTIME_PACK_H_

#include "deploy/runtime/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the tensor read and of the tensor written; -1 where temper_pack_run would refuse. */
int64_t temper_pack_src_bytes(const temper_pack* pack);
int64_t temper_pack_dst_bytes(const temper_pack* pack);

/* Fills dst, temper_pack_dst_bytes long, from src, temper_pack_src_bytes long; neither need be
 * aligned, and they must not overlap. Returns 0; or -1 with dst untouched where the description is
 * not one: element_bytes is not 1, 2, 4 or 8, a rank or axis is out of range, an extent or a step
 * is negative, a size or a coordinate exceeds 2^60, or a transform is asked of another source than
 * abi.h says; -2 where the memory for a transform was not to be had. */
int temper_pack_run(const temper_pack* pack, const void* src, void* dst);

#ifdef __cplusplus
}
#endif
#endif /* TEMPER_DEPLOY_RUNTIME_PACK_H_ */
