// Which nodes could form one kernel.
#pragma once

#include <set>
#include <vector>

#include "compiler/partition/in_place.h"
#include "compiler/partition/kernel.h"

namespace temper::partition {

// All groups that grow from one node, each with the nodes of the one before and more. The first is
// the node alone. A heavy node (convolution, matrix product, pool, reduction) grows by the
// elementwise operators that follow it and keep its shape; an elementwise or injective one by
// operators of both kinds that do not repeat its elements. A group is left by one value only: where
// a value has several readers, either all are in the group or it ends the group.
//
// A chooser takes at most one group of each chain, so that each node is in exactly one.
using Chain = std::vector<Group>;

// Chains are grown when they are asked for: a node that a group took before needs none. The graph
// and the halos must outlive it.
class Candidates {
 public:
  // An error names the nodes without kernel. Nodes of `in_place` get none.
  static Result<Candidates> Create(const graph::Graph& graph, const ops::Halos& halos,
                                   const InPlace& in_place = {});

  // The nodes that chains grow from, in topological order: all that compute something.
  const std::vector<int>& seeds() const { return seeds_; }
  // The first group of the seed's chain is the seed alone.
  Result<Chain> ChainFrom(int seed) const;

 private:
  Candidates(const graph::Graph& graph, const ops::Halos& halos) : graph_(graph), halos_(halos) {}

  const graph::Graph& graph_;
  const ops::Halos& halos_;
  std::vector<int> seeds_;
  std::set<int> without_;         // nodes that get no kernel
  std::vector<size_t> position_;  // of a node in the order
};

}  // namespace temper::partition
