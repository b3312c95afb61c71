#include "compiler/codegen/llvm/single_lane.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

namespace temper::codegen {
namespace {

// The lane that a constant mask has on, where it is one alone; else -1.
int OnlyLane(const llvm::Value* mask) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(mask->getType());
  if (constant == nullptr || type == nullptr) return -1;
  int only = -1;
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    const llvm::Constant* on = constant->getAggregateElement(lane);
    if (on == nullptr || !llvm::isa<llvm::ConstantInt>(on)) return -1;
    if (on->isNullValue()) continue;
    if (only >= 0) return -1;
    only = static_cast<int>(lane);
  }
  return only;
}

}  // namespace

void StoreSingleLanes(llvm::Function& function) {
  std::vector<llvm::IntrinsicInst*> stores;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& i : block) {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
      if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::masked_store) continue;
      if (OnlyLane(call->getArgOperand(call->arg_size() - 1)) >= 0) stores.push_back(call);
    }
  }
  for (llvm::IntrinsicInst* call : stores) {
    const int lane = OnlyLane(call->getArgOperand(call->arg_size() - 1));
    llvm::IRBuilder<> b(call);
    llvm::Value* element = b.CreateExtractElement(call->getArgOperand(0), lane);
    llvm::Value* at = b.CreateConstGEP1_64(element->getType(), call->getArgOperand(1), lane);
    const uint64_t size = element->getType()->getPrimitiveSizeInBits() / 8;
    const llvm::Align align = llvm::commonAlignment(call->getParamAlign(1).valueOrOne(),
                                                    static_cast<uint64_t>(lane) * size);
    b.CreateAlignedStore(element, at, align);
    call->eraseFromParent();
  }
}

}  // namespace temper::codegen
