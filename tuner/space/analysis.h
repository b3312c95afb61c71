// What the rules ask about a program: how each stage reads each tensor.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/te/program.h"

namespace temper::tuner {

// One dimension of a read's index, in terms of the reading stage's axes.
struct IndexDim {
  bool affine = true;                 // else the coefficients mean nothing
  std::vector<int64_t> coefficients;  // one an axis of the stage
  int64_t constant = 0;

  // The axis when the index is that axis alone, -1 otherwise.
  int Identity() const;
  bool IsConstant() const;
};

struct Read {
  int tensor = -1;
  std::vector<IndexDim> dims;
  // Elements of the dense tensor between neighbours along each axis of the stage; kIrregular
  // where the index is not affine in it.
  std::vector<int64_t> strides;

  static constexpr int64_t kIrregular = INT64_MIN;
  bool DependsOn(int axis) const { return strides[axis] != 0; }
};

struct StageInfo {
  std::vector<Read> reads;     // of other tensors, in the order of the body, without duplicates
  std::vector<int> consumers;  // stages that read its tensor, ascending
  bool output = false;
  bool calls = false;     // the body calls an intrinsic or divides: dear to repeat
  int64_t points = 1;     // product of the spatial extents
  int64_t reduction = 1;  // product of the reduction extents
  bool reduces = false;
};

// REQUIRES: te::Verify(program) is OK.
std::vector<StageInfo> Analyze(const te::Program& program);

}  // namespace temper::tuner
