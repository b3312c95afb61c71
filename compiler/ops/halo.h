// Zeros stored around a value, for consumers that read past its edges. Beside the last dimension
// lie no zeros but elements of other values, which nobody reads or writes as this one's.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace temper::ops {

struct Halo {
  std::vector<int64_t> before, after;  // elements in each dimension of the value

  friend bool operator==(const Halo&, const Halo&) = default;
};

// By value id; a value that is not listed has none.
using Halos = std::map<int, Halo>;

}  // namespace temper::ops
