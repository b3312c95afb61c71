// The graph that nodes are added to, and what its values may be: a value whose shape only the run
// knows, but one of finitely many, varies.
//
//   y = If(c) {[2,3]}{[4,3]}    ->  y, which has room for 12 elements, and id = 0 or 1
//
// Values vary together in families: an int64 scalar of the graph, the family's id, says which
// variant the run has come to. A value that varies is read through a view only (views below): that
// of the nested graph of an If which the id chooses (switch_tree.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/graph/graph.h"

namespace temper::importer {

// What a value is in one variant: a tensor of a static type, or a constant, which may decide
// shapes.
struct Form {
  graph::ValueType type;
  std::shared_ptr<const graph::Tensor> constant;  // integers, and few, or null

  // Forms with the same key are the same.
  std::string Key() const;
};

enum class Truth : uint8_t { kFalse, kTrue, kEither };

struct Varying {
  int family = -1;          // id: a value of the graph
  std::vector<Form> forms;  // one a variant
};

// The main graph, or one that becomes the nested graph of an If or Loop.
struct Region {
  struct View {
    Form form;
    int known = graph::kNone;  // the value here, once it is read
  };

  graph::Graph* graph = nullptr;
  Region* outer = nullptr;
  std::vector<int> captured;           // values of the outer graph that became inputs of this one
  std::unordered_map<int, int> known;  // value of the outer graph -> of this one
  std::unordered_map<int, Varying> varying;  // its values of several shapes
  // By family, by condition of an If: what the condition is in each variant.
  std::unordered_map<int, std::map<int, std::vector<Truth>>> truths;

  // What values of a graph around this one, which vary there, are in this one.
  const Region* views_of = nullptr;
  std::unordered_map<int, View> views;
};

}  // namespace temper::importer
