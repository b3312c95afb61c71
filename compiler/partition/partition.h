// From a graph to the kernels that compute it.
//
//   MaterializeOutputs(graph); ChannelsLast(graph); DropReducedDimensions(graph);
//   SplitTransposed(graph); CopyIntoConcats(graph); auto partition = PartitionGraph(graph, {});
//
// Not thread-safe as to the graph; pure otherwise.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/partition/candidates.h"
#include "compiler/partition/in_place.h"
#include "compiler/partition/kernel.h"

namespace temper::partition {

// Seconds that a program takes, as known or predicted. Called with verified programs.
using CostFunction = std::function<double(const te::Program&)>;

// Takes groups from the chains such that each node is in exactly one; they come in an order in
// which they can run. `cost` may be null.
using Chooser = std::function<Result<std::vector<Group>>(
    const graph::Graph&, const ops::Halos&, const Candidates&, const CostFunction& cost)>;

// The longest chain wins, heavy nodes first, the heaviest before all. With a cost, a chain is
// followed only as far as the larger group costs no more than its parts. What is then left over
// in front of a group, and read by nothing else, joins it.
Result<std::vector<Group>> ChooseEpilogues(const graph::Graph& graph, const ops::Halos& halos,
                                           const Candidates& candidates, const CostFunction& cost);

// Every node a kernel of its own: for comparison, and for finding which one is wrong.
Result<std::vector<Group>> ChooseSingles(const graph::Graph& graph, const ops::Halos& halos,
                                         const Candidates& candidates, const CostFunction& cost);

struct PartitionOptions {
  Chooser chooser = ChooseEpilogues;
  CostFunction cost;
  // Concatenations and slices as parts of a value's memory, without a kernel (in_place.h).
  bool in_place = true;
};

struct Partition {
  ops::Halos halos;                 // of values between kernels
  InPlace in_place;                 // values in the memory of others, and nodes without a kernel
  std::map<int, Placement> places;  // of those values
  std::vector<Group> groups;        // in an order in which they can run
  std::vector<Kernel> kernels;      // of the groups; none as PlanPartition leaves it
};

// REQUIRES: static types, and outputs that nodes compute (MaterializeOutputs).
Result<Partition> PlanPartition(const graph::Graph& graph, const PartitionOptions& options);
// The kernel of one of its groups. Programs take much room: who has many need not hold all.
Result<Kernel> KernelOf(const graph::Graph& graph, const Partition& partition, const Group& group);

// Both: all kernels.
Result<Partition> PartitionGraph(const graph::Graph& graph, const PartitionOptions& options);

// One line a kernel, for people.
std::string Print(const graph::Graph& graph, const Partition& partition);

}  // namespace temper::partition
