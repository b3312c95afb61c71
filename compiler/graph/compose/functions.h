// The compositions, by family; compose.cc names the operators that they replace.
#pragma once

#include "compiler/graph/compose/composer.h"

namespace temper::graph {

// Replaces the node by others if its operator is a composition. INVALID_ARGUMENT or UNIMPLEMENTED,
// naming the node, for forms that are not supported.
Status ComposeNode(Graph& graph, int node_id);

// casts.cc
void ComposeCastLike(Composer& c);
// ReduceMax and ReduceMin of bool: any and all. Roots and logarithms of integers: in double.
void ComposeCastReduction(Composer& c);

// normalizations.cc
void ComposeGroupNormalization(Composer& c);
void ComposeInstanceNormalization(Composer& c);
void ComposeLpNormalization(Composer& c);
void ComposeMeanVarianceNormalization(Composer& c);
void ComposeRmsNormalization(Composer& c);
void ComposeHardmax(Composer& c);

// losses.cc
void ComposeNegativeLogLikelihoodLoss(Composer& c);
void ComposeSoftmaxCrossEntropyLoss(Composer& c);

// attention.cc
void ComposeAttention(Composer& c);
void ComposeRotaryEmbedding(Composer& c);

// signal.cc
void ComposeDft(Composer& c);
void ComposeStft(Composer& c);

// resize.cc
void ComposeResize(Composer& c);

// geometry.cc
void ComposeAffineGrid(Composer& c);
void ComposeCenterCropPad(Composer& c);
void ComposeGlobalLpPool(Composer& c);

// many.cc: a kernel has bounds on its stages and tensors (te/program.h).
inline constexpr size_t kMaxSplitParts = 32, kMaxConcatParts = 64;
bool IsWide(const Node& node);
void ComposeWideSplit(Composer& c);
void ComposeWideConcat(Composer& c);

// ngrams.cc
void ComposeTfIdfVectorizer(Composer& c);

// quantize.cc
void ComposeQuantizeLinear(Composer& c);
void ComposeDequantizeLinear(Composer& c);

// recurrent.cc
void ComposeGru(Composer& c);
void ComposeLstm(Composer& c);
void ComposeRnn(Composer& c);

// integers.cc
void ComposeConvInteger(Composer& c);
void ComposeMatMulInteger(Composer& c);
void ComposeQLinearConv(Composer& c);
void ComposeQLinearMatMul(Composer& c);

}  // namespace temper::graph
