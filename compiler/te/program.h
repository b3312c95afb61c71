// A tensor-expression program: what one kernel computes, free of how.
//
// A program is a list of stages in topological order. A stage computes one tensor: for every
// point of its spatial axes, `body` (reduced over the reduction axes by the combiner, from the
// combiner's identity). A body reads tensors by Load(tensor id, indices) with indices in terms of
// the stage's axis variables; every tensor is addressed by its logical shape. Injective operators
// are index arithmetic. Padding is either an explicit stage with a Select, or a halo.
//
// Tensor ids, stage numbers and variable ids are positions in the program's tables. Variable ids
// are unique in the program. The canonical form (canonical.h) does not depend on names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "compiler/tir/expr.h"

namespace temper::te {

// Limits that every program obeys (checked by Verify); anything larger is refused by name.
inline constexpr int kMaxRank = 12;
inline constexpr int kMaxStages = 64;
inline constexpr int kMaxTensors = 128;
inline constexpr int64_t kMaxElements = int64_t{1} << 40;

// How a constant of an alternative program is made from the workload's: with `matrix` of `rows`
// rows and 3 columns, t[a, b, o, i] = sum over p, q of matrix[a, p] * matrix[b, q] *
// source[o, i, p, q]. No rows: it is the workload's constant as it is.
struct ConstantTransform {
  int rows = 0;
  std::vector<int64_t> source_shape;
  std::vector<double> matrix;
};

struct Tensor {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  // Zeros stored around the tensor, in each dimension but the last, where others' elements lie;
  // empty: none. A body may index into zeros. Only program inputs and outputs have a halo.
  std::vector<int64_t> halo_before, halo_after;
  bool constant = false;        // a weight: known when the kernel is compiled, packed as it is read
  int producer = -1;            // the stage that computes it, -1 for a program input
  ConstantTransform transform;  // constants of alternatives (alternatives.h) only
};

enum class Combiner : uint8_t { kNone, kSum, kMax, kMin, kProd };

struct Axis {
  tir::Expr var;  // kVar
  int64_t extent = 1;
};

struct Stage {
  std::string name;
  std::vector<Axis> spatial;  // one a dimension of the result, in order
  std::vector<Axis> reduce;   // empty exactly when combiner is kNone
  Combiner combiner = Combiner::kNone;
  tir::Expr body;
  int tensor = -1;  // the tensor it computes

  int axis_count() const { return static_cast<int>(spatial.size() + reduce.size()); }
  // Axes are numbered spatial first, then reduction.
  const Axis& axis(int i) const {
    auto n = static_cast<int>(spatial.size());
    return i < n ? spatial[i] : reduce[i - n];
  }
  bool IsReduction(int i) const { return i >= static_cast<int>(spatial.size()); }
};

struct Program {
  std::string name;  // for people; not part of the identity
  std::vector<Tensor> tensors;
  std::vector<int> inputs;    // tensor ids, constants included, in the order of the arguments
  std::vector<Stage> stages;  // topological order
  std::vector<int> outputs;   // tensor ids, each produced by a stage
  int next_var = 0;

  tir::Expr NewVar(const std::string& name) { return tir::Var(next_var++, name); }
  int AddInput(std::string name, DType dtype, std::vector<int64_t> shape, bool constant = false);
  // Adds the stage and the tensor it computes, whose shape is the spatial extents and whose dtype
  // is the body's. Returns the tensor's id.
  int AddStage(Stage stage);
  tir::Expr Read(int tensor, std::span<const tir::Expr> indices) const {
    return tir::Load(tensor, tensors[tensor].dtype, indices);
  }
};

// The identity of a combiner: 0, -inf or the lowest, +inf or the highest, 1.
tir::Expr Identity(Combiner combiner, DType dtype);
tir::Expr Combine(Combiner combiner, const tir::Expr& a, const tir::Expr& b);

// Checks every rule above and the limits; the message names the stage or tensor.
Status Verify(const Program& program);

// Arithmetic of one run: a multiply and an add count one each; a call counts as 8.
double FlopCount(const Program& program);
// Bytes of the program's inputs and outputs, halos aside.
int64_t ByteCount(const Program& program);

}  // namespace temper::te
