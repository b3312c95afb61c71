// The inference functions that op_list.inc names, by family; infer.cc calls them.
#pragma once

#include "base/status.h"
#include "compiler/graph/infer/context.h"

namespace temper::graph {

// For older operators that never stand in a graph.
inline Status InferNone(InferContext&) { return OkStatus(); }

// elementwise.cc
Status InferSame(InferContext& c);       // one operand, same type
Status InferBroadcast(InferContext& c);  // operands of one dtype, broadcast
Status InferCompare(InferContext& c);    // the same, bool result
Status InferLogic(InferContext& c);      // bool operands, broadcast
Status InferNot(InferContext& c);
Status InferPow(InferContext& c);  // the exponent's dtype may differ
Status InferClip(InferContext& c);
Status InferPRelu(InferContext& c);
Status InferCast(InferContext& c);
Status InferWhere(InferContext& c);
Status InferDropout(InferContext& c);
Status InferFloat(InferContext& c);      // one floating-point operand, same type
Status InferIsSpecial(InferContext& c);  // one floating-point operand, bool result
Status InferBitwise(InferContext& c);
Status InferBitShift(InferContext& c);
Status InferCastLike(InferContext& c);

// conv_pool.cc
Status InferConv(InferContext& c);
Status InferConvTranspose(InferContext& c);
Status InferPool(InferContext& c);
Status InferGlobalPool(InferContext& c);

// matmul.cc
Status InferMatMul(InferContext& c);
Status InferGemm(InferContext& c);

// normalization.cc
Status InferBatchNormalization(InferContext& c);
Status InferLayerNormalization(InferContext& c);
Status InferSoftmax(InferContext& c);  // one operand and an axis
Status InferLRN(InferContext& c);
Status InferGroupNormalization(InferContext& c);
Status InferInstanceNormalization(InferContext& c);
Status InferRmsNormalization(InferContext& c);

// losses.cc
Status InferNegativeLogLikelihoodLoss(InferContext& c);
Status InferSoftmaxCrossEntropyLoss(InferContext& c);

// reduce.cc
Status InferRecurrent(InferContext& c);  // recurrent.cc
Status InferReduce(InferContext& c);
Status InferArg(InferContext& c);

// reshape.cc
Status InferReshape(InferContext& c);
Status InferFlatten(InferContext& c);
Status InferSqueeze(InferContext& c);
Status InferUnsqueeze(InferContext& c);
Status InferTranspose(InferContext& c);
Status InferDepthToSpace(InferContext& c);
Status InferSpaceToDepth(InferContext& c);

// movement.cc
Status InferConcat(InferContext& c);
Status InferSplit(InferContext& c);
Status InferSlice(InferContext& c);
Status InferPad(InferContext& c);
Status InferExpand(InferContext& c);
Status InferTile(InferContext& c);
Status InferGather(InferContext& c);
Status InferGatherElements(InferContext& c);

// ngrams.cc
Status InferTfIdfVectorizer(InferContext& c);

// quantize.cc
Status InferQuantizeLinear(InferContext& c);
Status InferDequantizeLinear(InferContext& c);
Status InferDynamicQuantizeLinear(InferContext& c);
Status InferMatMulInteger(InferContext& c);
Status InferQLinearMatMul(InferContext& c);
Status InferConvInteger(InferContext& c);
Status InferQLinearConv(InferContext& c);

// attention.cc
Status InferAttention(InferContext& c);
Status InferRotaryEmbedding(InferContext& c);

// signal.cc
Status InferDft(InferContext& c);
Status InferStft(InferContext& c);
Status InferWindow(InferContext& c);
Status InferMelWeightMatrix(InferContext& c);

// geometry.cc, resize.cc, einsum.cc
Status InferAffineGrid(InferContext& c);
Status InferCenterCropPad(InferContext& c);
Status InferCol2Im(InferContext& c);
Status InferResize(InferContext& c);
Status InferEinsum(InferContext& c);

// runtime_ops.cc
Status InferCumSum(InferContext& c);
Status InferScatterElements(InferContext& c);
Status InferScatterND(InferContext& c);
Status InferTopK(InferContext& c);
Status InferNonMaxSuppression(InferContext& c);
Status InferNonZero(InferContext& c);
Status InferCompress(InferContext& c);
Status InferUnique(InferContext& c);
Status InferDet(InferContext& c);
Status InferMaxUnpool(InferContext& c);
Status InferGridSample(InferContext& c);
Status InferRoiAlign(InferContext& c);

// indexing.cc
Status InferTrilu(InferContext& c);
Status InferEyeLike(InferContext& c);
Status InferOneHot(InferContext& c);
Status InferGatherND(InferContext& c);
Status InferReverseSequence(InferContext& c);

// control_flow.cc
Status InferIf(InferContext& c);
Status InferLoop(InferContext& c);

// shape_values.cc
Status InferShape(InferContext& c);
Status InferSize(InferContext& c);
Status InferConstant(InferContext& c);
Status InferConstantOfShape(InferContext& c);
Status InferRange(InferContext& c);

}  // namespace temper::graph
