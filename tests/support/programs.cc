#include "tests/support/programs.h"

#include <limits>

#include "compiler/te/split_groups.h"

namespace temper::testing {
namespace {

using te::Combiner;
using te::Program;
using te::Stage;
using tir::Expr;

// A stage under construction: its axes are made as they are named.
struct StageBuilder {
  Program& p;
  Stage s;

  StageBuilder(Program& program, std::string name) : p(program) { s.name = std::move(name); }
  Expr Spatial(const char* name, int64_t extent) {
    s.spatial.push_back({p.NewVar(name), extent});
    return s.spatial.back().var;
  }
  Expr Reduce(const char* name, int64_t extent) {
    s.reduce.push_back({p.NewVar(name), extent});
    return s.reduce.back().var;
  }
  int Done(Expr body, Combiner combiner = Combiner::kNone) {
    s.body = std::move(body);
    s.combiner = combiner;
    return p.AddStage(std::move(s));
  }
};

Expr F(double value) { return tir::FloatImm(DType::kFloat32, value); }

Expr Read(const Program& p, int tensor, std::vector<Expr> indices) {
  return p.Read(tensor, indices);
}

int64_t OutExtent(const ConvSize& s, int64_t extent) {
  return (extent + 2 * s.pad - s.kernel) / s.stride + 1;
}

// max(value + bias[channel], 0) over [1, height, width, channels].
int BiasRelu(Program& p, int value, int bias) {
  StageBuilder b(p, "y");
  const std::vector<int64_t> shape = p.tensors[value].shape;
  std::vector<Expr> at;
  static constexpr const char* kNames[] = {"i", "j", "k", "l"};
  for (int64_t extent : shape) at.push_back(b.Spatial(kNames[at.size()], extent));
  Expr channel = at.back();
  return b.Done(tir::Max(p.Read(value, at) + Read(p, bias, {channel}), F(0)));
}

// The condition that an index lies in [0, extent), and both together.
Expr Inside(const Expr& y, int64_t height, const Expr& x, int64_t width) {
  Expr rows = tir::And(tir::Le(0, y), tir::Lt(y, height));
  return tir::And(rows, tir::And(tir::Le(0, x), tir::Lt(x, width)));
}

struct Window {
  Expr n, y, x, c;  // of the result
  Expr ky, kx;      // reduction axes
  Expr in_y, in_x;  // of the input
};

Window OpenWindow(StageBuilder& b, const ConvSize& s, int64_t channels) {
  Window w;
  w.n = b.Spatial("n", 1);
  w.y = b.Spatial("y", OutExtent(s, s.height));
  w.x = b.Spatial("x", OutExtent(s, s.width));
  w.c = b.Spatial("c", channels);
  w.ky = b.Reduce("ky", s.kernel);
  w.kx = b.Reduce("kx", s.kernel);
  w.in_y = w.y * s.stride + w.ky - s.pad;
  w.in_x = w.x * s.stride + w.kx - s.pad;
  return w;
}

}  // namespace

Program MatmulBiasRelu(int64_t m, int64_t n, int64_t k) {
  Program p;
  p.name = "matmul_bias_relu";
  const int x = p.AddInput("x", DType::kFloat32, {m, k});
  const int w = p.AddInput("w", DType::kFloat32, {k, n}, true);
  const int bias = p.AddInput("bias", DType::kFloat32, {n}, true);
  StageBuilder b(p, "acc");
  Expr i = b.Spatial("i", m), j = b.Spatial("j", n), r = b.Reduce("k", k);
  const int acc = b.Done(Read(p, x, {i, r}) * Read(p, w, {r, j}), Combiner::kSum);
  p.outputs = {BiasRelu(p, acc, bias)};
  return p;
}

Program BatchMatmul(int64_t batch, int64_t m, int64_t n, int64_t k) {
  Program p;
  p.name = "batch_matmul";
  const int x = p.AddInput("x", DType::kFloat32, {batch, m, k});
  const int y = p.AddInput("y", DType::kFloat32, {batch, k, n});
  StageBuilder b(p, "c");
  Expr a = b.Spatial("b", batch), i = b.Spatial("i", m), j = b.Spatial("j", n);
  Expr r = b.Reduce("k", k);
  p.outputs = {b.Done(Read(p, x, {a, i, r}) * Read(p, y, {a, r, j}), Combiner::kSum)};
  return p;
}

Program Conv(const ConvSize& s) {
  Program p;
  p.name = "conv";
  const int x = p.AddInput("x", DType::kFloat32, {1, s.height, s.width, s.in});
  if (s.pad) p.tensors[x].halo_before = p.tensors[x].halo_after = {0, s.pad, s.pad, 0};
  const int w = p.AddInput("w", DType::kFloat32, {s.kernel, s.kernel, s.in, s.out}, true);
  const int bias = p.AddInput("bias", DType::kFloat32, {s.out}, true);
  StageBuilder b(p, "acc");
  Window v = OpenWindow(b, s, s.out);
  Expr ci = b.Reduce("ci", s.in);
  const int acc = b.Done(Read(p, x, {v.n, v.in_y, v.in_x, ci}) * Read(p, w, {v.ky, v.kx, ci, v.c}),
                         Combiner::kSum);
  p.outputs = {BiasRelu(p, acc, bias)};
  return p;
}

Program PaddedConv(const ConvSize& s) {
  Program p;
  p.name = "padded_conv";
  const int x = p.AddInput("x", DType::kFloat32, {1, s.height, s.width, s.in});
  const int w = p.AddInput("w", DType::kFloat32, {s.kernel, s.kernel, s.in, s.out}, true);
  const int bias = p.AddInput("bias", DType::kFloat32, {s.out}, true);
  StageBuilder pad(p, "pad");
  Expr pn = pad.Spatial("n", 1), py = pad.Spatial("y", s.height + 2 * s.pad);
  Expr px = pad.Spatial("x", s.width + 2 * s.pad), pc = pad.Spatial("c", s.in);
  const int padded = pad.Done(tir::Select(Inside(py - s.pad, s.height, px - s.pad, s.width),
                                          Read(p, x, {pn, py - s.pad, px - s.pad, pc}), F(0)));
  StageBuilder b(p, "acc");
  ConvSize inner = s;
  inner.pad = 0;
  inner.height += 2 * s.pad;
  inner.width += 2 * s.pad;
  Window v = OpenWindow(b, inner, s.out);
  Expr ci = b.Reduce("ci", s.in);
  const int acc =
      b.Done(Read(p, padded, {v.n, v.in_y, v.in_x, ci}) * Read(p, w, {v.ky, v.kx, ci, v.c}),
             Combiner::kSum);
  p.outputs = {BiasRelu(p, acc, bias)};
  return p;
}

Program GroupedConv(const ConvSize& s, int64_t groups) {
  Program p;
  p.name = "grouped_conv";
  const int x = p.AddInput("x", DType::kFloat32, {1, s.height, s.width, s.in});
  if (s.pad) p.tensors[x].halo_before = p.tensors[x].halo_after = {0, s.pad, s.pad, 0};
  const int64_t channels = s.in / groups, results = s.out / groups;
  const int w = p.AddInput("w", DType::kFloat32, {s.out, channels, s.kernel, s.kernel}, true);
  const int bias = p.AddInput("bias", DType::kFloat32, {s.out}, true);
  StageBuilder b(p, "acc");
  Window v = OpenWindow(b, s, s.out);
  Expr ci = b.Reduce("ci", channels);
  Expr channel = tir::FloorDiv(v.c, tir::Index(results)) * tir::Index(channels) + ci;
  const int acc =
      b.Done(Read(p, x, {v.n, v.in_y, v.in_x, channel}) * Read(p, w, {v.c, ci, v.ky, v.kx}),
             Combiner::kSum);
  p.outputs = {BiasRelu(p, acc, bias)};
  return p;
}

Program Depthwise(const ConvSize& s) {
  Program p;
  p.name = "depthwise";
  const int x = p.AddInput("x", DType::kFloat32, {1, s.height, s.width, s.in});
  if (s.pad) p.tensors[x].halo_before = p.tensors[x].halo_after = {0, s.pad, s.pad, 0};
  const int w = p.AddInput("w", DType::kFloat32, {s.kernel, s.kernel, s.in}, true);
  const int bias = p.AddInput("bias", DType::kFloat32, {s.in}, true);
  StageBuilder b(p, "acc");
  Window v = OpenWindow(b, s, s.in);
  const int acc = b.Done(Read(p, x, {v.n, v.in_y, v.in_x, v.c}) * Read(p, w, {v.ky, v.kx, v.c}),
                         Combiner::kSum);
  p.outputs = {BiasRelu(p, acc, bias)};
  return p;
}

Program DepthwiseRows(const ConvSize& s) {
  Program p;
  p.name = "depthwise_rows";
  const int x = p.AddInput("x", DType::kFloat32, {1, s.in, s.height, s.width});
  const int w = p.AddInput("w", DType::kFloat32, {s.in, s.kernel, s.kernel}, true);
  const int bias = p.AddInput("bias", DType::kFloat32, {s.in}, true);
  const int64_t columns = (s.width + 2 * s.pad + s.stride - 1) / s.stride;
  StageBuilder pad(p, "pad");
  Expr pn = pad.Spatial("n", 1), pc = pad.Spatial("c", s.in);
  Expr py = pad.Spatial("y", s.height + 2 * s.pad) - s.pad;
  Expr phase = pad.Spatial("p", s.stride), q = pad.Spatial("q", columns);
  Expr px = q * s.stride + phase - s.pad;
  const int padded =
      pad.Done(tir::Select(Inside(py, s.height, px, s.width), Read(p, x, {pn, pc, py, px}), F(0)));
  StageBuilder b(p, "acc");
  Expr n = b.Spatial("n", 1), c = b.Spatial("c", s.in);
  Expr y = b.Spatial("y", OutExtent(s, s.height)), o = b.Spatial("x", OutExtent(s, s.width));
  Expr ky = b.Reduce("ky", s.kernel), kx = b.Reduce("kx", s.kernel);
  const int acc = b.Done(Read(p, padded,
                              {n, c, y * s.stride + ky, tir::FloorMod(kx, tir::Index(s.stride)),
                               o + tir::FloorDiv(kx, tir::Index(s.stride))}) *
                             Read(p, w, {c, ky, kx}),
                         Combiner::kSum);
  StageBuilder r(p, "y");
  Expr rn = r.Spatial("n", 1), rc = r.Spatial("c", s.in);
  Expr ry = r.Spatial("y", OutExtent(s, s.height)), ro = r.Spatial("x", OutExtent(s, s.width));
  p.outputs = {r.Done(tir::Max(Read(p, acc, {rn, rc, ry, ro}) + Read(p, bias, {rc}), F(0)))};
  return p;
}

Program MaxPool(const ConvSize& s) {
  Program p;
  p.name = "max_pool";
  const int x = p.AddInput("x", DType::kFloat32, {1, s.height, s.width, s.in});
  StageBuilder b(p, "y");
  Window v = OpenWindow(b, s, s.in);
  Expr value = Read(p, x, {v.n, v.in_y, v.in_x, v.c});
  if (s.pad) {
    value = tir::Select(Inside(v.in_y, s.height, v.in_x, s.width), value,
                        F(-std::numeric_limits<double>::infinity()));
  }
  p.outputs = {b.Done(value, Combiner::kMax)};
  return p;
}

Program AvgPool(const ConvSize& s) {
  Program p;
  p.name = "avg_pool";
  const int x = p.AddInput("x", DType::kFloat32, {1, s.height, s.width, s.in});
  if (s.pad) p.tensors[x].halo_before = p.tensors[x].halo_after = {0, s.pad, s.pad, 0};
  StageBuilder b(p, "sum");
  Window v = OpenWindow(b, s, s.in);
  const int sum = b.Done(Read(p, x, {v.n, v.in_y, v.in_x, v.c}), Combiner::kSum);
  StageBuilder d(p, "y");
  Expr n = d.Spatial("n", 1), y = d.Spatial("y", OutExtent(s, s.height));
  Expr o = d.Spatial("x", OutExtent(s, s.width)), c = d.Spatial("c", s.in);
  // Rows and columns of the window that are inside the input.
  auto inside = [&](const Expr& at, int64_t extent) {
    Expr first = tir::Max(at * s.stride - s.pad, 0);
    Expr last = tir::Min(at * s.stride - s.pad + s.kernel, extent);
    return last - first;
  };
  Expr count = tir::Cast(DType::kFloat32, inside(y, s.height) * inside(o, s.width));
  p.outputs = {d.Done(tir::Div(Read(p, sum, {n, y, o, c}), count))};
  return p;
}

Program GlobalAvgPool(int64_t height, int64_t width, int64_t channels) {
  Program p;
  p.name = "global_avg_pool";
  const int x = p.AddInput("x", DType::kFloat32, {1, height, width, channels});
  StageBuilder b(p, "sum");
  Expr n = b.Spatial("n", 1), c = b.Spatial("c", channels);
  Expr y = b.Reduce("y", height), o = b.Reduce("x", width);
  const int sum = b.Done(Read(p, x, {n, y, o, c}), Combiner::kSum);
  StageBuilder d(p, "y");
  Expr m = d.Spatial("n", 1), e = d.Spatial("c", channels);
  p.outputs = {d.Done(Read(p, sum, {m, e}) * F(1.0 / static_cast<double>(height * width)))};
  return p;
}

Program Softmax(int64_t rows, int64_t columns) {
  Program p;
  p.name = "softmax";
  const int x = p.AddInput("x", DType::kFloat32, {rows, columns});
  StageBuilder b(p, "max");
  Expr i = b.Spatial("i", rows), r = b.Reduce("j", columns);
  const int max = b.Done(Read(p, x, {i, r}), Combiner::kMax);
  StageBuilder e(p, "exp");
  Expr ei = e.Spatial("i", rows), ej = e.Spatial("j", columns);
  const int exp =
      e.Done(tir::Call(tir::Intrinsic::kExp, {Read(p, x, {ei, ej}) - Read(p, max, {ei})}));
  StageBuilder s(p, "sum");
  Expr si = s.Spatial("i", rows), sr = s.Reduce("j", columns);
  const int sum = s.Done(Read(p, exp, {si, sr}), Combiner::kSum);
  StageBuilder d(p, "y");
  Expr di = d.Spatial("i", rows), dj = d.Spatial("j", columns);
  p.outputs = {d.Done(tir::Div(Read(p, exp, {di, dj}), Read(p, sum, {di})))};
  return p;
}

Program LayerNorm(int64_t rows, int64_t columns) {
  Program p;
  p.name = "layer_norm";
  const int x = p.AddInput("x", DType::kFloat32, {rows, columns});
  const int scale = p.AddInput("scale", DType::kFloat32, {columns}, true);
  const Expr inverse = F(1.0 / static_cast<double>(columns));
  StageBuilder s(p, "sum");
  Expr si = s.Spatial("i", rows), sj = s.Reduce("j", columns);
  const int sum = s.Done(Read(p, x, {si, sj}), Combiner::kSum);
  StageBuilder m(p, "mean");
  Expr mi = m.Spatial("i", rows);
  const int mean = m.Done(Read(p, sum, {mi}) * inverse);
  StageBuilder q(p, "squares");
  Expr qi = q.Spatial("i", rows), qj = q.Reduce("j", columns);
  const Expr off = Read(p, x, {qi, qj}) - Read(p, mean, {qi});
  const int squares = q.Done(off * off, Combiner::kSum);
  StageBuilder v(p, "deviation");
  Expr vi = v.Spatial("i", rows);
  const int deviation = v.Done(tir::Div(
      F(1), tir::Call(tir::Intrinsic::kSqrt, {Read(p, squares, {vi}) * inverse + F(1e-5)})));
  StageBuilder y(p, "y");
  Expr yi = y.Spatial("i", rows), yj = y.Spatial("j", columns);
  p.outputs = {y.Done((Read(p, x, {yi, yj}) - Read(p, mean, {yi})) * Read(p, deviation, {yi}) *
                      Read(p, scale, {yj}))};
  return p;
}

Program RowMean(int64_t rows, int64_t columns) {
  Program p;
  p.name = "row_mean";
  const int x = p.AddInput("x", DType::kFloat32, {rows, columns});
  StageBuilder s(p, "sum");
  Expr i = s.Spatial("i", rows), k = s.Reduce("k", columns);
  const int sum = s.Done(Read(p, x, {i, k}), Combiner::kSum);
  StageBuilder y(p, "y");
  Expr yi = y.Spatial("i", rows);
  p.outputs = {y.Done(Read(p, sum, {yi}) * F(1.0 / static_cast<double>(columns)))};
  return p;
}

Program IntRowSum(int64_t rows, int64_t middle, int64_t columns) {
  Program p;
  p.name = "int_row_sum";
  const int x = p.AddInput("x", DType::kInt8, {rows, middle, columns});
  StageBuilder s(p, "y");
  Expr i = s.Spatial("i", rows), j = s.Reduce("j", middle), k = s.Reduce("k", columns);
  p.outputs = {s.Done(tir::Cast(DType::kInt32, Read(p, x, {i, j, k})), Combiner::kSum)};
  return p;
}

Program RowMax(int64_t rows, int64_t columns) {
  Program p;
  p.name = "row_max";
  const int x = p.AddInput("x", DType::kFloat32, {rows, columns});
  StageBuilder s(p, "y");
  Expr i = s.Spatial("i", rows), k = s.Reduce("k", columns);
  p.outputs = {s.Done(Read(p, x, {i, k}), Combiner::kMax)};
  return p;
}

Program MatVec(int64_t n, int64_t k) {
  Program p;
  p.name = "mat_vec";
  const int w = p.AddInput("w", DType::kFloat32, {n, k});
  const int x = p.AddInput("x", DType::kFloat32, {k});
  StageBuilder s(p, "y");
  Expr i = s.Spatial("n", n), r = s.Reduce("k", k);
  p.outputs = {s.Done(Read(p, w, {i, r}) * Read(p, x, {r}), Combiner::kSum)};
  return p;
}

Program ElementwiseChain(std::vector<int64_t> shape) {
  Program p;
  p.name = "elementwise_chain";
  const int64_t channels = shape.back();
  const int x = p.AddInput("x", DType::kFloat32, shape);
  const int residual = p.AddInput("residual", DType::kFloat32, shape);
  const int scale = p.AddInput("scale", DType::kFloat32, {channels}, true);
  const int shift = p.AddInput("shift", DType::kFloat32, {channels}, true);
  auto axes = [&](StageBuilder& b) {
    std::vector<Expr> at;
    static constexpr const char* kNames[] = {"i", "j", "k", "l"};
    for (int64_t extent : shape) at.push_back(b.Spatial(kNames[at.size()], extent));
    return at;
  };
  StageBuilder a(p, "affine");
  std::vector<Expr> at = axes(a);
  const int affine =
      a.Done(p.Read(x, at) * Read(p, scale, {at.back()}) + Read(p, shift, {at.back()}));
  StageBuilder h(p, "swish");
  at = axes(h);
  Expr v = p.Read(affine, at);
  const int swish = h.Done(v * tir::Min(tir::Max(v * F(1.0 / 6) + F(0.5), F(0)), F(1)));
  StageBuilder r(p, "y");
  at = axes(r);
  p.outputs = {r.Done(p.Read(swish, at) + p.Read(residual, at))};
  return p;
}

Program Pad(int64_t height, int64_t width, int64_t by) {
  Program p;
  p.name = "pad";
  const int x = p.AddInput("x", DType::kFloat32, {height, width});
  StageBuilder b(p, "y");
  Expr i = b.Spatial("i", height + 2 * by), j = b.Spatial("j", width + 2 * by);
  p.outputs = {b.Done(
      tir::Select(Inside(i - by, height, j - by, width), Read(p, x, {i - by, j - by}), F(0)))};
  return p;
}

Program TransposeReshape(int64_t rows, int64_t columns) {
  Program p;
  p.name = "transpose_reshape";
  const int x = p.AddInput("x", DType::kFloat32, {rows, columns});
  StageBuilder b(p, "y");
  Expr i = b.Spatial("i", rows * columns);
  p.outputs = {b.Done(Read(p, x, {tir::FloorMod(i, rows), tir::FloorDiv(i, rows)}))};
  return p;
}

Program Int8Matmul(int64_t m, int64_t n, int64_t k) {
  Program p;
  p.name = "int8_matmul";
  const int x = p.AddInput("x", DType::kInt8, {m, k});
  const int w = p.AddInput("w", DType::kInt8, {k, n}, true);
  StageBuilder b(p, "c");
  Expr i = b.Spatial("i", m), j = b.Spatial("j", n), r = b.Reduce("k", k);
  p.outputs = {b.Done(
      tir::Cast(DType::kInt32, Read(p, x, {i, r})) * tir::Cast(DType::kInt32, Read(p, w, {r, j})),
      Combiner::kSum)};
  return p;
}

std::vector<NamedProgram> SmallPrograms() {
  std::vector<NamedProgram> out;
  auto add = [&](std::string name, Program p) { out.push_back({std::move(name), std::move(p)}); };
  add("matmul", MatmulBiasRelu(7, 20, 9));
  add("batch_matmul", BatchMatmul(2, 5, 17, 6));
  add("conv3x3", Conv({.height = 7, .width = 6, .in = 3, .out = 10}));
  add("conv3x3_s2", Conv({.height = 9, .width = 8, .in = 3, .out = 8, .stride = 2}));
  add("conv1x1", Conv({.height = 5, .width = 4, .in = 6, .out = 18, .kernel = 1, .pad = 0}));
  add("padded_conv", PaddedConv({.height = 5, .width = 6, .in = 3, .out = 8}));
  const Program grouped = GroupedConv({.height = 5, .width = 4, .in = 6, .out = 10}, 2);
  add("grouped_conv", grouped);
  add("split_groups", SplitGroups(grouped));
  add("depthwise", Depthwise({.height = 7, .width = 6, .in = 12}));
  add("depthwise_rows", DepthwiseRows({.height = 6, .width = 19, .in = 3}));
  add("depthwise_rows_s2", DepthwiseRows({.height = 7, .width = 37, .in = 2, .stride = 2}));
  add("max_pool", MaxPool({.height = 7, .width = 8, .in = 5, .stride = 2}));
  add("avg_pool", AvgPool({.height = 7, .width = 8, .in = 5, .stride = 2}));
  add("global_avg_pool", GlobalAvgPool(5, 4, 19));
  add("softmax", Softmax(5, 21));
  add("softmax_wide", Softmax(3, 197));
  add("layer_norm", LayerNorm(4, 75));
  add("row_mean", RowMean(6, 64));
  add("int_row_sum", IntRowSum(5, 2, 83));
  add("row_max", RowMax(3, 10));
  add("mat_vec", MatVec(9, 49));
  add("elementwise", ElementwiseChain({2, 3, 18}));
  add("pad", Pad(4, 5, 2));
  add("transpose_reshape", TransposeReshape(6, 7));
  add("int8_matmul", Int8Matmul(5, 18, 7));
  return out;
}

}  // namespace temper::testing
