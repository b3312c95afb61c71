// Lines of a result that several threads write, each a part: where the threads share out a
// dimension whose rows are no whole lines, as 27 channels, such a line lies at the border in every
// row, and goes from core to core with every store.
#pragma once

#include "compiler/target/target.h"
#include "costmodel/access.h"

namespace temper::costmodel {

// How many such lines the store's threads write.
double TornLines(const StoreView& store, const Target& target, int threads);

}  // namespace temper::costmodel
