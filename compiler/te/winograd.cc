#include "compiler/te/winograd.h"

#include <cmath>
#include <functional>
#include <optional>
#include <span>

namespace temper::te {
namespace {

using tir::Expr;
using tir::ExprKind;

// The transforms of F(m x m, 3 x 3), row-major.
struct Transforms {
  int m, r;              // outputs and inputs of a tile, a side
  const double* input;   // B^T, r x r
  const double* kernel;  // G, r x 3
  const double* output;  // A^T, m x r
};

constexpr double kInput2[] = {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1};
constexpr double kKernel2[] = {1, 0, 0, .5, .5, .5, .5, -.5, .5, 0, 0, 1};
constexpr double kOutput2[] = {1, 1, 1, 0, 0, 1, -1, -1};
constexpr double kInput4[] = {4, 0,  -5, 0, 1, 0, 0, -4, -4, 1,  1, 0, 0, 4, -4, -1, 1, 0,
                              0, -2, -1, 2, 1, 0, 0, 2,  -1, -2, 1, 0, 0, 4, 0,  -5, 0, 1};
constexpr double kKernel4[] = {1. / 4,  0,        0,       -1. / 6, -1. / 6, -1. / 6,
                               -1. / 6, 1. / 6,   -1. / 6, 1. / 24, 1. / 12, 1. / 6,
                               1. / 24, -1. / 12, 1. / 6,  0,       0,       1};
constexpr double kOutput4[] = {1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 0,
                               0, 1, 1, 4, 4, 0, 0, 1, -1, 8, -8, 1};
constexpr Transforms kF2 = {2, 4, kInput2, kKernel2, kOutput2};
constexpr Transforms kF4 = {4, 6, kInput4, kKernel4, kOutput4};

// A convolution found in a program: the stage, its operands, and by how much the image's rows
// and columns are shifted.
struct Found {
  int stage;
  int image, kernel;
  int64_t row_shift, column_shift;
};

bool IsVar(const Expr& e, const Axis& axis) {
  return e->kind() == ExprKind::kVar && e->var_id() == axis.var->var_id();
}

// The constant c where e is a + b + c in any nesting, each of a and b once; none otherwise.
std::optional<int64_t> ShiftOf(const Expr& e, const Axis& a, const Axis& b) {
  int64_t constant = 0;
  int a_count = 0, b_count = 0;
  bool ok = true;
  std::function<void(const Expr&, int)> walk = [&](const Expr& n, int sign) {
    if (n->kind() == ExprKind::kAdd || n->kind() == ExprKind::kSub) {
      walk(n->operand(0), sign);
      walk(n->operand(1), n->kind() == ExprKind::kAdd ? sign : -sign);
    } else if (n->kind() == ExprKind::kIntImm) {
      constant += sign * n->int_value();
    } else if (IsVar(n, a)) {
      a_count += sign;
    } else if (IsVar(n, b)) {
      b_count += sign;
    } else {
      ok = false;
    }
  };
  walk(e, 1);
  if (!ok || a_count != 1 || b_count != 1) return std::nullopt;
  return constant;
}

std::optional<Found> MatchStage(const Program& p, int number) {
  const Stage& s = p.stages[number];
  if (s.combiner != Combiner::kSum || s.spatial.size() != 4 || s.reduce.size() != 3) return {};
  if (s.body->kind() != ExprKind::kMul || s.body->type().dtype != DType::kFloat32) return {};
  for (int side : {0, 1}) {
    const Expr& x = s.body->operand(side);
    const Expr& w = s.body->operand(1 - side);
    if (x->kind() != ExprKind::kLoad || w->kind() != ExprKind::kLoad) return {};
    const Tensor& kernel = p.tensors[w->buffer()];
    if (!kernel.constant || kernel.shape.size() != 4 || kernel.shape[2] != 3 ||
        kernel.shape[3] != 3 || x->indices().size() != 4) {
      continue;
    }
    // Which reduction axis is the row, the column and the channel follows from the kernel.
    auto k = w->indices();
    int role[3] = {-1, -1, -1};
    for (int r = 0; r < 3; ++r) {
      for (int d = 0; d < 3; ++d) {
        if (IsVar(k[1 + d], s.reduce[r])) role[d] = r;
      }
    }
    if (!IsVar(k[0], s.spatial[3]) || role[0] < 0 || role[1] < 0 || role[2] < 0) continue;
    auto i = x->indices();
    if (!IsVar(i[0], s.spatial[0]) || !IsVar(i[3], s.reduce[role[0]])) continue;
    auto rows = ShiftOf(i[1], s.spatial[1], s.reduce[role[1]]);
    auto columns = ShiftOf(i[2], s.spatial[2], s.reduce[role[2]]);
    if (!rows || !columns) continue;
    return Found{number, x->buffer(), w->buffer(), *rows, *columns};
  }
  return {};
}

std::optional<Found> Find(const Program& p) {
  for (size_t s = 0; s < p.stages.size(); ++s) {
    if (auto found = MatchStage(p, static_cast<int>(s))) return found;
  }
  return {};
}

// sum over i of row[i] * term(i), without the zeros.
Expr Combination(const double* row, int n, const std::function<Expr(int)>& term) {
  Expr sum;
  for (int i = 0; i < n; ++i) {
    if (row[i] == 0) continue;
    Expr t = term(i);
    if (row[i] != 1 && row[i] != -1) t = t * tir::FloatImm(DType::kFloat32, std::abs(row[i]));
    if (!sum) {
      sum = row[i] < 0 ? tir::FloatImm(DType::kFloat32, 0) - t : t;
    } else {
      sum = row[i] < 0 ? sum - t : sum + t;
    }
  }
  return sum;
}

// The combination of `matrix`'s row number `which`. Each term is made once: combinations share it,
// and what later walks over them can share the work.
Expr RowOf(const double* matrix, int rows, int n, const Expr& which,
           const std::function<Expr(int)>& term) {
  std::vector<Expr> terms(static_cast<size_t>(n));
  auto shared = [&](int i) {
    Expr& made = terms[static_cast<size_t>(i)];
    if (!made) made = term(i);
    return made;
  };
  Expr value = Combination(matrix + (rows - 1) * n, n, shared);
  for (int r = rows - 2; r >= 0; --r) {
    value =
        tir::Select(tir::Eq(which, tir::Index(r)), Combination(matrix + r * n, n, shared), value);
  }
  return value;
}

class Builder {
 public:
  Builder(const Program& source, const Found& found, const Transforms& f)
      : source_(source), found_(found), f_(f) {}

  Program Run() {
    p_.name = source_.name;
    p_.next_var = source_.next_var;
    // Tensors keep their numbers; the kernel becomes its transform, new ones come behind.
    p_.tensors = source_.tensors;
    p_.inputs = source_.inputs;
    p_.outputs = source_.outputs;
    Tensor& kernel = p_.tensors[found_.kernel];
    kernel.transform.rows = f_.r;
    kernel.transform.source_shape = kernel.shape;
    kernel.transform.matrix.assign(f_.kernel, f_.kernel + 3 * f_.r);
    kernel.shape = {f_.r, f_.r, kernel.shape[0], kernel.shape[1]};
    for (size_t s = 0; s < source_.stages.size(); ++s) {
      if (static_cast<int>(s) == found_.stage) {
        AddConvolution();
      } else {
        p_.tensors[source_.stages[s].tensor].producer = static_cast<int>(p_.stages.size());
        p_.stages.push_back(source_.stages[s]);
      }
    }
    return std::move(p_);
  }

 private:
  std::vector<Axis> Axes(std::initializer_list<int64_t> extents) {
    std::vector<Axis> axes;
    for (int64_t e : extents) axes.push_back({p_.NewVar("w"), e});
    return axes;
  }
  Expr Read(int tensor, std::vector<Expr> index) const { return p_.Read(tensor, index); }

  // The image at a row and column that may lie past the stored zeros, where it is zero too.
  Expr ReadImage(const Expr& n, const Expr& row, const Expr& column, const Expr& c,
                 int64_t last_row, int64_t last_column) const {
    const Tensor& t = p_.tensors[found_.image];
    int64_t after1 = t.halo_after.empty() ? 0 : t.halo_after[1];
    int64_t after2 = t.halo_after.empty() ? 0 : t.halo_after[2];
    Expr inside;
    if (last_row >= t.shape[1] + after1) {
      inside = tir::Lt(row, tir::Index(t.shape[1] + after1));
    }
    if (last_column >= t.shape[2] + after2) {
      Expr c2 = tir::Lt(column, tir::Index(t.shape[2] + after2));
      inside = inside ? tir::And(inside, c2) : c2;
    }
    Expr value = Read(found_.image, {n, row, column, c});
    return inside ? tir::Select(inside, value, tir::FloatImm(DType::kFloat32, 0)) : value;
  }

  void AddConvolution() {
    const Stage& conv = source_.stages[found_.stage];
    int64_t batch = conv.spatial[0].extent, height = conv.spatial[1].extent;
    int64_t width = conv.spatial[2].extent, results = conv.spatial[3].extent;
    int64_t channels = p_.tensors[found_.kernel].shape[3];
    int64_t rows = (height + f_.m - 1) / f_.m, columns = (width + f_.m - 1) / f_.m;
    int64_t tiles = batch * rows * columns;
    Expr m = tir::Index(f_.m);

    Stage left;
    left.name = conv.name + ".left";
    left.spatial = Axes({f_.r, f_.r, tiles, channels});
    {
      Expr a = left.spatial[0].var, j = left.spatial[1].var, t = left.spatial[2].var;
      Expr c = left.spatial[3].var;
      Expr tx = tir::FloorMod(t, tir::Index(columns));
      Expr ty = tir::FloorMod(tir::FloorDiv(t, tir::Index(columns)), tir::Index(rows));
      Expr n = tir::FloorDiv(t, tir::Index(columns * rows));
      Expr column = tx * m + j + tir::Index(found_.column_shift);
      Expr first_row = ty * m;
      int64_t last_row = (rows - 1) * f_.m + f_.r - 1 + found_.row_shift;
      int64_t last_column = (columns - 1) * f_.m + f_.r - 1 + found_.column_shift;
      left.body = RowOf(f_.input, f_.r, f_.r, a, [&](int i) {
        Expr row = first_row + tir::Index(i + found_.row_shift);
        return ReadImage(n, row, column, c, last_row, last_column);
      });
    }
    int l = p_.AddStage(std::move(left));

    Stage transformed;
    transformed.name = conv.name + ".input";
    transformed.spatial = Axes({f_.r, f_.r, tiles, channels});
    {
      Expr a = transformed.spatial[0].var, b = transformed.spatial[1].var;
      Expr t = transformed.spatial[2].var, c = transformed.spatial[3].var;
      transformed.body =
          RowOf(f_.input, f_.r, f_.r, b, [&](int j) { return Read(l, {a, tir::Index(j), t, c}); });
    }
    int v = p_.AddStage(std::move(transformed));

    Stage product;
    product.name = conv.name + ".product";
    product.spatial = Axes({f_.r, f_.r, tiles, results});
    product.reduce = Axes({channels});
    product.combiner = Combiner::kSum;
    {
      Expr a = product.spatial[0].var, b = product.spatial[1].var, t = product.spatial[2].var;
      Expr o = product.spatial[3].var, c = product.reduce[0].var;
      product.body = Read(v, {a, b, t, c}) * Read(found_.kernel, {a, b, o, c});
    }
    int d = p_.AddStage(std::move(product));

    Stage half;
    half.name = conv.name + ".right";
    half.spatial = Axes({f_.m, f_.r, tiles, results});
    {
      Expr q = half.spatial[0].var, b = half.spatial[1].var, t = half.spatial[2].var;
      Expr o = half.spatial[3].var;
      half.body =
          RowOf(f_.output, f_.m, f_.r, q, [&](int a) { return Read(d, {tir::Index(a), b, t, o}); });
    }
    int s = p_.AddStage(std::move(half));

    Stage out = conv;  // the same axes and tensor
    out.reduce.clear();
    out.combiner = Combiner::kNone;
    {
      Expr n = out.spatial[0].var, h = out.spatial[1].var, w = out.spatial[2].var;
      Expr o = out.spatial[3].var;
      Expr t =
          (n * tir::Index(rows) + tir::FloorDiv(h, m)) * tir::Index(columns) + tir::FloorDiv(w, m);
      out.body = RowOf(f_.output, f_.m, f_.r, tir::FloorMod(w, m),
                       [&](int b) { return Read(s, {tir::FloorMod(h, m), tir::Index(b), t, o}); });
    }
    p_.tensors[conv.tensor].producer = static_cast<int>(p_.stages.size());
    p_.stages.push_back(std::move(out));
  }

  const Program& source_;
  Found found_;
  const Transforms& f_;
  Program p_;
};

}  // namespace

bool HasWinograd(const Program& program) { return Find(program).has_value(); }

Result<Program> MakeWinograd(const Program& program, int tile) {
  auto found = Find(program);
  if (!found) return FailedPrecondition("the workload has no 3x3 convolution of stride 1");
  return Builder(program, *found, tile == 2 ? kF2 : kF4).Run();
}

}  // namespace temper::te
