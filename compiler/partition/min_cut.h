// The cheapest way to part a network in two: Dinic's algorithm.
#pragma once

#include <limits>
#include <vector>

namespace temper::partition {

class MinCut {
 public:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();

  explicit MinCut(int nodes) : first_(nodes, -1) {}

  int AddNode();
  // What it costs to have `from` on the source's side and `to` on the sink's; `back`: the other way
  // round. REQUIRES: not negative.
  void AddEdge(int from, int to, double capacity, double back = 0);
  // For each node whether it is on the source's side, of the cheapest partings the one in which
  // fewest nodes are on the sink's. REQUIRES: `source` and `sink` differ, and no path of infinite
  // edges leads from one to the other. Runs once.
  std::vector<bool> Solve(int source, int sink);

 private:
  struct Edge {
    int to = 0, next = -1;
    double left = 0;
  };
  bool Level(int source, int sink);
  double Push(int sink);

  std::vector<int> first_;   // of each node's list of edges
  std::vector<Edge> edges_;  // each beside its reverse
  std::vector<int> level_, at_, path_;
  int source_ = 0;
};

}  // namespace temper::partition
