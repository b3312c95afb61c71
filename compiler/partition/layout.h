// Which nodes compute in the order of the model (channels first), which channels-last.
//
// Nodes that know both orders have a cost in each, by their multiply-adds, by how far their rows or
// channels fill vectors and by what they copy; a value that is written in one order and read in the
// other costs the change of its bytes, once. Inputs, outputs and operators such as Reshape have the
// model's order. The cheapest choice for all nodes together is a minimum cut:
//
//   a depthwise convolution alone        first: two changes of layout cost more than they gain
//   1x1, depthwise, 1x1 behind a 3x3     last: only the image and the result are changed
//   channel shuffles (Reshape, Transpose, Reshape) between 1x1 and depthwise: first
//
// The costs are those of a core with vectors of 512 bits, whatever the target: what is one kernel
// and what its workload is must not depend on the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "compiler/graph/graph.h"

namespace temper::partition {

// Nodes that are cheaper in the model's order. Where both are as cheap, channels-last wins. Regions
// of more than 4096 nodes are not looked at: all channels-last. REQUIRES: static types.
std::set<int> NodesChannelsFirst(const graph::Graph& graph);

// The permutations of a Transpose between the orders: [0, 2, .., rank - 1, 1] makes channels last,
// [0, rank - 1, 1, .., rank - 2] first.
std::vector<int64_t> ToLast(size_t rank);
std::vector<int64_t> ToFirst(size_t rank);

}  // namespace temper::partition
