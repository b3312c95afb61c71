// The table from operator to the builder of its stages.
//
// Domain "" is ONNX's (graph.h). Domain "temper" has the channels-last forms that the pass
// channels_last makes of Conv, ConvTranspose, MaxPool, AveragePool, BatchNormalization and LRN:
// the image operand and the result have their channels in the last dimension, everything else
// (weights among it) is as ONNX has it. And it has
//   PhaseConv(x, w): a transposed convolution of strides S = `phases` with `offsets` before it,
//   channels last, [n, q, r..., C]: element q * S + r of each dimension at [q, r]. Weight
//   [r.., C, I, t..]: tap t reads x at q + (r + offset) / S - t. kernel_shape and pads are of the
//   window that all phases together read around q.
#pragma once

#include <cstdint>
#include <string_view>

#include "compiler/ops/emitter.h"

namespace temper::ops {

enum class OpKind : uint8_t {
  kElementwise,  // one element of each operand, paired by broadcasting, gives one of the result
  kInjective,    // index arithmetic: an element of the result is an element of an operand
  kReduction,    // one heavy stage, with cheap ones around it: the anchor of a kernel
  kComposite,    // several reductions that belong together (softmax)
  kRuntime,      // a function of the runtime library (runtime_op.h), without builder
  kControl,      // If and Loop, whose graphs have kernels of their own; without builder
};

using Builder = Status (*)(Emitter&);

struct OpEntry {
  std::string_view name;
  OpKind kind;
  Builder build;
  bool channels_last = false;  // there is a form in domain "temper"
};

// Null if there is none.
const OpEntry* FindBuilder(std::string_view domain, std::string_view name);
// That of an operator of an outside project (outside_op.h) too.
const OpEntry* FindBuilder(const graph::Node& node);

// Whether it is no loop nest: it stands alone, and reads and writes plain buffers.
inline bool StandsAlone(OpKind kind) {
  return kind == OpKind::kRuntime || kind == OpKind::kControl;
}

// The builders, one or a few a file.
Status BuildUnary(Emitter& e);                  // unary.cc
Status BuildBinary(Emitter& e);                 // binary.cc
Status BuildVariadic(Emitter& e);               // binary.cc: Max, Min, Sum, Mean
Status BuildClip(Emitter& e);                   // select.cc
Status BuildWhere(Emitter& e);                  // select.cc
Status BuildCast(Emitter& e);                   // select.cc
Status BuildConv(Emitter& e);                   // conv.cc
Status BuildPhaseConv(Emitter& e);              // conv_transpose.cc
Status BuildConvTranspose(Emitter& e);          // conv_transpose.cc
Status BuildMaxPool(Emitter& e);                // pool.cc
Status BuildAveragePool(Emitter& e);            // pool.cc
Status BuildGlobalPool(Emitter& e);             // pool.cc
Status BuildGemm(Emitter& e);                   // matmul.cc
Status BuildMatMul(Emitter& e);                 // matmul.cc
Status BuildReduce(Emitter& e);                 // reduce.cc
Status BuildArgReduce(Emitter& e);              // reduce.cc
Status BuildSoftmax(Emitter& e);                // softmax.cc
Status BuildBatchNormalization(Emitter& e);     // normalization.cc
Status BuildLayerNormalization(Emitter& e);     // normalization.cc
Status BuildLrn(Emitter& e);                    // normalization.cc
Status BuildReshape(Emitter& e);                // reshape.cc: Reshape, Flatten, Squeeze, Unsqueeze
Status BuildTranspose(Emitter& e);              // movement.cc
Status BuildExpand(Emitter& e);                 // movement.cc
Status BuildTile(Emitter& e);                   // movement.cc
Status BuildSlice(Emitter& e);                  // slice.cc
Status BuildSplit(Emitter& e);                  // slice.cc
Status BuildConcat(Emitter& e);                 // slice.cc
Status BuildPad(Emitter& e);                    // pad.cc
Status BuildGather(Emitter& e);                 // movement.cc
Status BuildEinsum(Emitter& e);                 // einsum.cc
Status BuildQuantizeLinear(Emitter& e);         // quantize.cc
Status BuildDequantizeLinear(Emitter& e);       // quantize.cc
Status BuildDynamicQuantizeLinear(Emitter& e);  // quantize.cc
Status BuildLpPool(Emitter& e);                 // pool.cc
Status BuildCol2Im(Emitter& e);                 // pool.cc
Status BuildTrilu(Emitter& e);                  // indexing.cc
Status BuildOneHot(Emitter& e);                 // indexing.cc
Status BuildGatherElements(Emitter& e);         // indexing.cc
Status BuildGatherNd(Emitter& e);               // indexing.cc
Status BuildReverseSequence(Emitter& e);        // indexing.cc
Status BuildDepthToSpace(Emitter& e);           // movement.cc
Status BuildSpaceToDepth(Emitter& e);           // movement.cc

}  // namespace temper::ops
