#include <algorithm>

#include "compiler/graph/eval/context.h"
#include "compiler/graph/infer/context.h"
#include "compiler/ops/emitter.h"
#include "compiler/tir/expr.h"
#include "extension.h"

namespace outside {
namespace {

using temper::DType;
using temper::OkStatus;
using temper::Result;
using temper::Status;
using temper::tir::Expr;

Status Infer(temper::graph::InferContext& c) {
  if (c.dtype(0) != DType::kFloat32) return c.Error("it takes float32");
  if (!(c.node().Float("low", 0) < c.node().Float("high", 0))) {
    return c.Error("`low` must be below `high`");
  }
  return c.Set(0, c.dtype(0), c.shape(0));
}

// Of constants, when the model is compiled.
Result<bool> Eval(temper::graph::EvalContext& c) {
  const float low = c.node.Float("low", 0), high = c.node.Float("high", 0);
  std::byte* out = c.Make();
  for (int64_t i = 0; i < c.in[0]->size(); ++i) {
    const float t = std::clamp((c.in[0]->Load<float>(i) - low) / (high - low), 0.0f, 1.0f);
    const float y = t * t * (3 - 2 * t);
    std::copy_n(reinterpret_cast<const std::byte*>(&y), sizeof y, out + i * sizeof y);
  }
  return true;
}

// The kernel: one stage, which the compiler fuses with what is around it.
Status Build(temper::ops::Emitter& e) {
  const float low = e.node().Float("low", 0), high = e.node().Float("high", 0);
  const auto number = [](double v) { return temper::tir::FloatImm(DType::kFloat32, v); };
  e.DefinePoints(0, [&](const temper::ops::Indices& point) {
    const Expr x = e.Read(e.Input(0), point);
    const Expr share = (x - number(low)) * number(1.0 / (high - low));
    const Expr t = temper::tir::Min(temper::tir::Max(share, number(0)), number(1));
    return t * t * (number(3) - number(2) * t);
  });
  return OkStatus();
}

}  // namespace

std::shared_ptr<const temper::ops::OutsideOp> SmoothStep() {
  auto op = std::make_shared<temper::ops::OutsideOp>();
  op->domain = "com.example";
  op->name = "SmoothStep";
  op->attributes = {{"low", 0.0f}, {"high", 1.0f}};
  op->newest_version = 1;
  op->infer = Infer;
  op->eval = Eval;
  op->kernel = {"SmoothStep", temper::ops::OpKind::kElementwise, Build};
  return op;
}

}  // namespace outside
