// Which nodes could form one kernel.
#pragma once

#include <vector>

#include "compiler/partition/kernel.h"

namespace temper::partition {

// All groups that grow from one node, each with the nodes of the one before and more. The first is
// the node alone. A heavy node (convolution, matrix product, pool, reduction) grows by the
// elementwise operators that follow it and keep its shape; an elementwise or injective one by
// operators of both kinds that do not repeat its elements. A group is left by one value only: where
// a value has several readers, either all are in the group or it ends the group.
using Chain = std::vector<Group>;

// One chain a node, in topological order of their first nodes. A chooser takes at most one group
// of each chain, so that each node is in exactly one. A status names a node without kernel.
Result<std::vector<Chain>> CandidateChains(const graph::Graph& graph, const ops::Halos& halos);

}  // namespace temper::partition
