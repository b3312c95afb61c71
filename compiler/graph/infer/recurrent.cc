// RNN, GRU and LSTM.
#include <fmt/format.h>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {

// X [steps, batch, inputs], W [directions, gates * hidden, inputs], R [directions, gates * hidden,
// hidden], B [directions, 2 * gates * hidden], lengths [batch], initial_h and initial_c
// [directions, batch, hidden], P [directions, 3 * hidden]; with layout = 1 the batch comes first.
Status InferRecurrent(InferContext& c) {
  const int64_t gates = c.node().op == "LSTM" ? 4 : c.node().op == "GRU" ? 3 : 1;
  for (size_t i = 0; i < 3; ++i) {
    TEMPER_RETURN_IF_ERROR(c.CheckRank(i, 3, 3));
    TEMPER_RETURN_IF_ERROR(c.SameDType(0, i));
  }
  if (!IsFloat(c.dtype(0))) return c.Error("its operands must be floats");
  const bool batch_first = c.node().Int("layout", 0) != 0;
  const Shape& x = c.shape(0);
  const int64_t steps = x[batch_first ? 1 : 0], batch = x[batch_first ? 0 : 1];
  const int64_t hidden = c.shape(2)[2];
  const std::string direction = c.node().String("direction", "forward");
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  if (directions == 1 && direction != "forward" && direction != "reverse") {
    return c.Error("its direction is '" + direction + "'");
  }
  const Shape state =
      batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  const Shape expected[] = {x,
                            {directions, gates * hidden, x[2]},
                            {directions, gates * hidden, hidden},
                            {directions, 2 * gates * hidden},
                            {batch},
                            state,
                            state,
                            {directions, 3 * hidden}};
  for (size_t i = 0; i < 8; ++i) {
    if (!c.Has(i) || c.shape(i) == expected[i]) continue;
    return c.Error(fmt::format("input {} is {} instead of {}", i, ShapeToString(c.shape(i)),
                               ShapeToString(expected[i])));
  }
  if (hidden < 1 || c.node().Int("hidden_size", hidden) != hidden) {
    return c.Error("hidden_size does not fit its weights");
  }
  TEMPER_RETURN_IF_ERROR(c.Set(0, c.dtype(0),
                               batch_first ? Shape{batch, steps, directions, hidden}
                                           : Shape{steps, directions, batch, hidden}));
  TEMPER_RETURN_IF_ERROR(c.Set(1, c.dtype(0), state));
  return c.Set(2, c.dtype(0), state);
}

}  // namespace temper::graph
