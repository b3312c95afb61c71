// A Loop of which something changes its shape from trip to trip, while how many trips it takes is
// only known at run time: its body once for each shape that what it carries may have.
//
//   y = Loop(m, , x) {s = Concat(s, x)}, m <= 3, x of 1 row
//   ->  y, id = Loop(m, , x, 0) {s, id = switch id {0: Concat([1] of s, x), 1; 1: Concat([2] of s,
//   x), 2;
//                                2: Concat([3] of s, x), 3; 3: never}}      y varies: [1], [2],
//                                [3], [4]
//
// Which shapes there are follows from the initial ones: each is tried in turn until no new one
// comes, or the most trips are taken. Where a shape in the body follows from the number of the trip
// or from carried integers, these are tried with it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/import/merge.h"
#include "compiler/import/native_flow.h"

namespace temper::importer {

class VaryingLoopBuilder {
 public:
  // Both must outlive the builder.
  VaryingLoopBuilder(NativeFlow& flow, const onnx::GraphProto& body)
      : flow_(flow), builder_(flow.builder_), u_(flow.u_), body_(body) {}

  // The values of the node's outputs. NOT_FOUND if nothing varies.
  Result<std::vector<int>> Run();

 private:
  // What the loop carries before a trip, or behind the last.
  struct Tuple {
    std::vector<Form> forms;  // of the carried values, and by trip of the number of trips taken
    int64_t depth = 0;        // the fewest trips after which it is so
    std::string error;        // instead of a trip
  };
  // How a carried value is carried.
  struct Plan {
    bool constant = false;  // in all tuples: not at all
    int64_t room = -1;      // for several shapes
    size_t place = 0;       // among the values that are carried
  };
  struct Body {
    std::vector<int> carried;  // behind the trip; by trip, the number of trips taken is the last
    int condition = graph::kNone;
    std::vector<int> rows;
  };

  Status Explore(bool by_trip);
  Status ExploreFrom(int tuple, int64_t* nodes);
  int Known(std::vector<Form> forms, int64_t depth);
  Result<Body> AddBody(const std::vector<int>& carried, int trip, const Tuple& tuple);
  Status MakePlans();
  Result<NestedGraph> BuildBody();
  Result<GraphBuilder::Outputs> FillBody(const std::vector<int>& carried, int trip, int id);
  Result<std::vector<int>> AddLoop(NestedGraph nested);
  bool Tries(const Tuple& tuple) const { return most_ < 0 || tuple.depth < most_; }
  std::string What() const;
  // What changes, for messages.
  std::string Change() const;

  NativeFlow& flow_;
  GraphBuilder& builder_;
  Upgrader& u_;
  const onnx::GraphProto& body_;
  LoopParts parts_;
  int64_t most_ = -1;
  bool by_trip_ = false;
  std::vector<size_t> rows_;  // outputs of the node that something reads
  std::vector<graph::ValueType> row_types_;
  std::vector<Tuple> tuples_;
  std::map<std::string, int> numbers_;  // of tuples, by key
  std::vector<Plan> plans_;
  std::vector<size_t> places_;  // of the values that are carried
};

}  // namespace temper::importer
