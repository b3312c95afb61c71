// If and Loop, the operators that hold nested graphs. The importer writes ONNX's three in these
// two forms; a Scan becomes a Loop that gathers its rows.
//
//   If(condition, captured...) {then_branch, else_branch, then_inputs = n}
//       The first n captured values are the inputs of then_branch, the others those of else_branch.
//       The outputs of both are the node's. Where two branches give results of other extents, the
//       node's has the larger ones as a bound.
//       `then_error`, `else_error`: that branch, which is empty, ends the run with this message.
//   Loop(trips or none, condition or none, initial..., captured...)
//           {body, carried = n, conditional = 0 or 1, counts = 0 or 1, max_trips}
//       Runs the body while fewer than `trips` (int64, one element) were taken and the condition
//       (bool, one element) holds. The body's inputs are the number of the trip (int64 scalar),
//       the n carried values, and the captured ones. Its outputs are the next condition if
//       conditional, the next carried values, and rows. The node's outputs are the carried values
//       as they are in the end, if it counts the number of trips that it took (int64 scalar), and
//       for each row all trips' rows, stacked along a new first dimension. `max_trips`: to take
//       more is an error of the run; absent where `trips` is constant or nothing depends on a
//       bound.
//
// A value whose shape only the run knows, but one of finitely many, is memory of one dimension that
// has room for the largest: its elements come first, in the order of their shape. What says which
// shape it is goes beside it. The border of a nested graph is where it gets its shape: an input of
// a nested graph may have another shape, and fewer elements, than such an operand; an output of it
// than such a result. The attribute `room` of an If or Loop has for each output the elements of
// such a result, or -1; a row's are those of all trips.
//
// Nested graphs are closed: what they read from around them are inputs, or constants of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

inline constexpr const char* kThenBranch = "then_branch";
inline constexpr const char* kElseBranch = "else_branch";
inline constexpr const char* kBody = "body";
inline constexpr const char* kThenError = "then_error";
inline constexpr const char* kElseError = "else_error";
inline constexpr const char* kRoom = "room";

bool IsControlFlow(const Node& node);

// The nested graph of that attribute. REQUIRES: the node has it.
const Graph& Nested(const Node& node, const std::string& attribute);
// The names of the attributes that hold nested graphs, in the order in which they would run.
std::vector<std::string> NestedNames(const Node& node);

// What the lists of a Loop mean.
struct LoopLayout {
  explicit LoopLayout(const Node& node);

  static constexpr size_t kTrips = 0, kCondition = 1, kInitial = 2;  // inputs of the node
  size_t carried = 0;
  bool conditional = false;
  bool counts = false;
  size_t captured() const { return kInitial + carried; }        // first such input of the node
  size_t first_carried() const { return conditional ? 1 : 0; }  // output of the body
  size_t first_row() const { return first_carried() + carried; }
  size_t first_row_result() const { return carried + (counts ? 1 : 0); }  // output of the node
  // The attribute, or -1.
  int64_t max_trips = -1;
};

// How many trips the loop takes where nothing that only the run knows decides it; else nothing.
std::optional<int64_t> ExactTrips(const Graph& graph, const Node& loop);
// How many it takes at most; -1 where nothing bounds it.
int64_t MostTrips(const Graph& graph, const Node& loop);

// The elements of result `output` where that is memory for several shapes (`room`); else -1.
int64_t RoomOf(const Node& node, size_t output);
// Whether memory of type `room` may hold a tensor of type `held`: its type, or one dimension of no
// fewer elements.
bool HasRoom(const ValueType& room, const ValueType& held);

// Runs `pass` over every nested graph of the graph, from outer to inner ones, and puts the results
// in place.
Status ForEachNested(Graph& graph, const std::function<Status(Graph& nested)>& pass);

// INTERNAL where a control flow node and its graphs do not fit together.
Status CheckControlFlow(const Graph& graph, const Node& node);

}  // namespace temper::graph
