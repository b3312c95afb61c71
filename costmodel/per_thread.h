// The loops of a store as one of several threads runs them: its share of the parallel loops, and
// what it touches of each buffer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/target/target.h"
#include "costmodel/access.h"

namespace temper::costmodel {

inline bool InRegisters(const AccessView& a) { return a.scope == tir::Scope::kRegister; }

inline constexpr int64_t kL1WayBytes = 4096;  // of the first level: sets times a line

// Whether what the loops from `level` on touch of an access (but for `vector`, whose lanes are
// neighbours) does not fit the sets of the first level in which it lies: rows a power of two apart
// lie in few of them.
bool Crowded(const StoreView& s, const AccessView& a, size_t level, const Target& target,
             int vector = -1);

// Borrows the store.
struct PerThread {
  const StoreView& s;
  double workers = 1;          // as many shares as there is work
  size_t first = 0, last = 0;  // the parallel loops are first .. last - 1; none: both 0

  PerThread(const StoreView& store, int threads);

  // Lines touched with loops from `level` on running; never a level between parallel loops.
  double Lines(const AccessView& a, size_t level) const;
  double Bytes(size_t level, const Target& target) const;

  // The next level outwards: a thread's share of the parallel loops is one step.
  size_t Around(size_t level) const { return level == last && first < last ? first : level - 1; }
  // The outermost level whose nest fits `capacity` bytes and, outside of `body`, the sets of the
  // first level.
  size_t Fitting(double capacity, const Target& target, size_t body = 0) const;
  bool AnyCrowded(size_t level, const Target& target) const;

  // Lines that all threads move into a cache whose largest fitting nest starts at `level`: what one
  // loop more touches, which counts what stays from iteration to iteration once, times the loops
  // around.
  double Moved(const AccessView& a, size_t level) const;

  // The dimension of the buffer along which each thread has a run of it of its own; -1: the threads
  // touch the same elements, or one thread all of them.
  int DimOfRuns(const AccessView& a) const;

  // The part that a thread touches of what all touch.
  double Share(const AccessView& a) const;

 private:
  double Times(const AccessView& a, int dim, size_t loop) const;
};

}  // namespace temper::costmodel
