// Scales and zero points of an axis or of blocks become ones that broadcast.
#include <fmt/format.h>

#include "compiler/graph/compose/functions.h"

namespace temper::graph {
namespace {

// [size] along `axis`, or one element a block of `block` along it, against a value of `shape`.
int Spread(Composer& c, int by, const Shape& shape, int64_t axis, int64_t block) {
  if (by == kNone || !c.ok()) return kNone;
  const Shape own = c.shape(by);
  if (*ElementCount(own) == 1) return c.Reshape(by, {});
  if (block > 0) {
    Shape apart = own;
    apart.insert(apart.begin() + axis + 1, 1);
    Shape spread = apart;
    spread[axis + 1] = block;
    Shape joined = own;
    joined[axis] = own[axis] * block;
    return c.Slice(c.Reshape(c.Expand(c.Reshape(by, apart), spread), joined), axis, 0, shape[axis]);
  }
  if (own.size() != 1) return by;
  Shape to(shape.size(), 1);
  to[axis] = own[0];
  return c.Reshape(by, to);
}

void Broadcasting(Composer& c) {
  const Node& node = c.node();
  const Shape shape = c.shape(c.In(0));
  const int64_t block = node.Int("block_size", 0);
  int64_t axis = node.Int("axis", 1);
  // Without an axis to name, one scale and one zero point are for all.
  if (*ElementCount(c.shape(c.In(1))) == 1 && (!c.Has(2) || *ElementCount(c.shape(c.In(2))) == 1)) {
    axis = 0;
  } else {
    axis = c.Axis(axis, static_cast<int64_t>(shape.size()));
  }
  const int scale = Spread(c, c.In(1), shape, axis, block);
  const int zero = Spread(c, c.In(2), shape, axis, block);
  Attributes attributes = node.attributes;
  // Of one dimension the axis says so still: what broadcasts has its form.
  if (shape.size() != 1) attributes.erase("axis");
  attributes.erase("block_size");
  std::vector<int> inputs = {c.In(0), scale};
  if (zero != kNone) inputs.push_back(zero);
  c.Replace(0, c.Op(node.op, inputs, attributes));
}

}  // namespace

void ComposeQuantizeLinear(Composer& c) { Broadcasting(c); }
void ComposeDequantizeLinear(Composer& c) { Broadcasting(c); }

}  // namespace temper::graph
