#include "compiler/partition/min_cut.h"

#include <algorithm>

namespace temper::partition {

namespace {

constexpr double kLeast = 1e-9;  // less than that is what rounding left

}  // namespace

int MinCut::AddNode() {
  first_.push_back(-1);
  return static_cast<int>(first_.size()) - 1;
}

void MinCut::AddEdge(int from, int to, double capacity, double back) {
  edges_.push_back({to, first_[from], capacity});
  first_[from] = static_cast<int>(edges_.size()) - 1;
  edges_.push_back({from, first_[to], back});
  first_[to] = static_cast<int>(edges_.size()) - 1;
}

// How many edges with something left each node is from the source.
bool MinCut::Level(int source, int sink) {
  level_.assign(first_.size(), -1);
  level_[source] = 0;
  std::vector<int> queue{source};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (int e = first_[queue[i]]; e >= 0; e = edges_[e].next) {
      if (edges_[e].left <= kLeast || level_[edges_[e].to] >= 0) continue;
      level_[edges_[e].to] = level_[queue[i]] + 1;
      queue.push_back(edges_[e].to);
    }
  }
  return level_[sink] >= 0;
}

// One path from the source to the sink, without recursion: chains are as long as models.
double MinCut::Push(int sink) {
  path_.clear();
  int node = source_;
  while (node != sink) {
    int& e = at_[node];
    while (e >= 0 && (edges_[e].left <= kLeast || level_[edges_[e].to] != level_[node] + 1)) {
      e = edges_[e].next;
    }
    if (e >= 0) {
      path_.push_back(e);
      node = edges_[e].to;
      continue;
    }
    if (path_.empty()) return 0;
    level_[node] = -1;  // a dead end
    node = edges_[path_.back() ^ 1].to;
    path_.pop_back();
  }
  double least = kInfinite;
  for (int e : path_) least = std::min(least, edges_[e].left);
  for (int e : path_) {
    edges_[e].left -= least;
    edges_[e ^ 1].left += least;
  }
  return least;
}

std::vector<bool> MinCut::Solve(int source, int sink) {
  source_ = source;
  while (Level(source, sink)) {
    at_ = first_;
    while (Push(sink) > 0) {
    }
  }
  // Whatever cannot reach the sink any more is on the source's side.
  std::vector<std::vector<int>> into(first_.size());
  for (size_t e = 0; e < edges_.size(); ++e) {
    if (edges_[e].left > kLeast) into[edges_[e].to].push_back(edges_[e ^ 1].to);
  }
  std::vector<bool> on_source_side(first_.size(), true);
  on_source_side[sink] = false;
  std::vector<int> queue{sink};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (int from : into[queue[i]]) {
      if (!on_source_side[from]) continue;
      on_source_side[from] = false;
      queue.push_back(from);
    }
  }
  return on_source_side;
}

}  // namespace temper::partition
