// Index arithmetic of a change of shape.
#pragma once

#include "compiler/ops/emitter.h"

namespace temper::ops {

// The indices into a tensor of shape `from` of the element that has the indices `point` in shape
// `to`, in the same row-major order. Dimensions that stay as they are need no division.
// REQUIRES: as many elements, more than none.
Indices ReshapeIndices(const graph::Shape& from, const graph::Shape& to, const Indices& point);

}  // namespace temper::ops
