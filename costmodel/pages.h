// Pages that a store comes back to after others drove their translations out: a transpose that
// writes a few lines in each row of a matrix, rows pages apart, finds hardly one it still knows.
#pragma once

#include <cstddef>

#include "costmodel/access.h"

namespace temper::costmodel {

// How many pages of 4 KB the loops from `level` on touch of an access; what lies between two steps
// of less than a page counts as touched.
double PagesTouched(const StoreView& store, const AccessView& access, size_t level);

// How often the store enters a page that it wrote before while the nest in between touches more
// than `kept` pages. 0 where a page is stayed in for more than two bodies, which hide it, and for a
// store that reads registers or the stack, as the arithmetic there does.
double PagesRevisited(const StoreView& store, double kept);

}  // namespace temper::costmodel
