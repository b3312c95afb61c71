// Concatenations and slices that cost nothing, because parts and whole share memory.
//
//   %a: [1,14,14,96] = temper.Conv(..);  %b: [1,14,14,32] = temper.Conv(..)
//   %y: [1,14,14,128] = Concat(%a, %b) {axis = 3};  %z = temper.Conv(%y, ..)
//
// %a lies in %y's first 96 channels and %b in its last 32: their kernels write there, and no kernel
// computes %y. Likewise the results of a Split or a plain Slice lie in its operand. A part may be
// the whole of other parts (DenseNet's blocks, each of which adds channels to what there is).
//
// Parts are along the last dimension, and then their rows have gaps (a halo of the last dimension,
// ops/halo.h), or along one before which all extents are 1, and then they are dense.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/ops/halo.h"

namespace temper::partition {

struct Part {
  int of = -1;        // the value that it is a part of
  int axis = 0;       // along which
  int64_t begin = 0;  // its first index there
  int node = -1;      // the Concat, Split or Slice that says so
};

struct InPlace {
  std::map<int, Part> parts;  // by value
  std::set<int> nodes;        // that compute nothing: for each, all operands or results are parts
};

// Lets an operand that cannot lie in a concatenation (an input of the graph, a constant, a value
// that is in another one) pass through an Identity, where the operands that can are at least half.
//   before  %y = Concat(%input, %a)
//   after   %i = Identity(%input);  %y = Concat(%i, %a)
Status CopyIntoConcats(graph::Graph& graph);

// Parts and their wholes lie in the model's scratch memory: none is an input, an output or a
// constant of the graph. A function of the runtime sees no gaps. REQUIRES: static types.
InPlace FindInPlace(const graph::Graph& graph);

// Where a value lies: `offset` bytes, a multiple of 64, into the memory of value `of`, which is its
// own for most values.
struct Placement {
  int of = -1;
  int64_t offset = 0;
};

// The placement of each part, and its gaps as a halo of the last dimension. The halos of parts and
// wholes are those of zeros so far. Beside the whole's memory nothing is touched.
std::map<int, Placement> PlaceParts(const graph::Graph& graph, const InPlace& in_place,
                                    ops::Halos& halos);

}  // namespace temper::partition
