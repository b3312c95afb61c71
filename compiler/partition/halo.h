// Which values are stored with a halo of zeros.
#pragma once

#include "compiler/graph/graph.h"
#include "compiler/ops/halo.h"
#include "compiler/partition/in_place.h"

namespace temper::partition {

// For every value between kernels, the widest padding that a channels-last consumer reads around
// it (ops::WantedHalo), the same on both sides of a dimension. Values that elementwise operators
// of equal shape connect (what a residual addition reads and gives) have the same halo. Both rules
// cost a few zeros more to write and make equal layers equal workloads, which are tuned once.
// Inputs, outputs and constants of the graph have none: the caller's buffers are dense. Whoever
// computes such a value writes the zeros too.
//
// Parts along the last dimension have the halo of their whole. Nodes whose parts along another one
// would get a halo leave `in_place`: between such parts there is no room for zeros.
ops::Halos AssignHalos(const graph::Graph& graph, InPlace* in_place);

}  // namespace temper::partition
