#include "compiler/driver/extension.h"

#include <fmt/format.h>

#include "base/text.h"

namespace temper::driver {
namespace {

Status Check(const ops::OutsideOp& op) {
  const auto refuse = [&](const std::string& what) {
    return InvalidArgument(
        fmt::format("operator {} of domain {}: {}", Quoted(op.name), Quoted(op.domain), what));
  };
  if (op.domain.empty() || op.domain == "ai.onnx" || op.domain == "temper") {
    return refuse("the domain is ONNX's or this compiler's; take one of your own");
  }
  if (op.name.empty()) return refuse("it has no name");
  if (op.infer == nullptr) return refuse("it has no `infer`");
  if (op.kernel.build == nullptr && op.compose == nullptr) {
    return refuse("it has neither a kernel nor a `compose`");
  }
  if (op.kernel.build != nullptr && op.compose != nullptr) {
    return refuse("it has both a kernel and a `compose`");
  }
  if (op.kernel.kind == ops::OpKind::kRuntime) {
    return refuse("its kernel is a function of the runtime, which has those of abi.h alone");
  }
  if (op.min_inputs < 0 || op.min_outputs < 1 ||
      (op.max_inputs >= 0 && op.max_inputs < op.min_inputs) ||
      (op.max_outputs >= 0 && op.max_outputs < op.min_outputs)) {
    return refuse("its numbers of inputs or outputs contradict each other");
  }
  return OkStatus();
}

}  // namespace

Result<std::shared_ptr<const graph::OutsideOps>> OutsideOpsOf(const Extensions& extensions) {
  if (extensions.operators.empty()) return std::shared_ptr<const graph::OutsideOps>();
  auto ops = std::make_shared<graph::OutsideOps>();
  for (const auto& op : extensions.operators) {
    if (op == nullptr) return InvalidArgument("an operator of the extensions is null");
    TEMPER_RETURN_IF_ERROR(Check(*op));
    if (!ops->emplace(std::pair(op->domain, op->name), op).second) {
      return InvalidArgument(fmt::format("operator {} of domain {} is there twice",
                                         Quoted(op->name), Quoted(op->domain)));
    }
  }
  return std::shared_ptr<const graph::OutsideOps>(std::move(ops));
}

}  // namespace temper::driver
