// An operator of an outside project with a kernel of its own, beside those of op_table.h.
#pragma once

#include "compiler/graph/outside_op.h"
#include "compiler/ops/op_table.h"

namespace temper::ops {

struct OutsideOp : graph::OutsideOp {
  // The kind says what it may be fused with, all but kRuntime; the builder appends its stages
  // (emitter.h). Without a builder it needs a `compose`. The name is not looked at.
  OpEntry kernel = {"", OpKind::kReduction, nullptr};
};

}  // namespace temper::ops
