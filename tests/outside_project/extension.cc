#include "extension.h"

namespace outside {

temper::driver::Extensions AllExtensions() {
  temper::driver::Extensions extensions;
  extensions.operators = {SmoothStep(), RowRange()};
  // Once constants are folded: the bounds of a Clip may have been computed.
  extensions.passes = {{"drop_clips", "fold_constants", DropClips}};
  return extensions;
}

}  // namespace outside
