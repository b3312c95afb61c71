// A way around a fault of LLVM 22 on AVX-512.
#pragma once

namespace llvm {
class Function;
}

namespace temper::codegen {

// masked.store(v, p, <0, 1, 0, 0>) -> store(v[1], p + 1)
//
// Of a truncation and a masked store whose constant mask has one lane on, instruction selection
// makes a store of the wide element, which writes over what lies behind it.
void StoreSingleLanes(llvm::Function& function);

}  // namespace temper::codegen
