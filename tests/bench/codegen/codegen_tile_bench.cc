// What share of a core's multiply-add peak do generated register tiles reach? Hand-written loop
// nests of a matmul over packed panels and of a direct 3x3 convolution, timed in turns with the
// peak loop. With an argument, prints the assembly of the case of that name instead.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>

#include "compiler/target/peak_loop.h"
#include "tests/compiler/codegen/harness.h"

namespace temper::codegen {
namespace {

using tir::Block;
using tir::Broadcast;
using tir::Expr;
using tir::For;
using tir::Max;
using tir::Ramp;
using tir::Stmt;
using tir::Store;

constexpr int kLanes = 16;
constexpr DType kF32 = DType::kFloat32;

struct Case {
  std::string name;
  tir::Function function;
  std::vector<bool> outputs;
  double flops;
};

Expr Zero() { return Broadcast(tir::FloatImm(kF32, 0), kLanes); }

// c[m, n] = max(sum_k a[m, k] * b[n / nr, k, n % nr] + bias[n], 0) in tiles of mr x nr.
Case Matmul(int64_t m, int64_t n, int64_t k, int64_t mr, int64_t nr, int unroll) {
  FunctionBuilder f;
  m = m / mr * mr;
  n = n / nr * nr;
  int a = f.Param("a", kF32, {m, k}), b = f.Param("b", kF32, {n / nr, k, nr});
  int bias = f.Param("bias", kF32, {n}), c = f.Param("c", kF32, {m, n}, true);
  int acc = f.Local("acc", kF32, {mr, nr}, tir::Scope::kRegister);
  Expr j = f.NewVar("j"), i = f.NewVar("i"), kk = f.NewVar("k");
  std::vector<Stmt> init, step, store;
  for (int64_t r = 0; r < mr; ++r) {
    for (int64_t v = 0; v < nr; v += kLanes) {
      init.push_back(Store(acc, {Expr(r), Ramp(Expr(v), 1, kLanes)}, Zero()));
    }
  }
  for (int u = 0; u < unroll; ++u) {
    Expr at = kk * Expr(unroll) + Expr(u);
    for (int64_t r = 0; r < mr; ++r) {
      for (int64_t v = 0; v < nr; v += kLanes) {
        Expr x = Broadcast(f.Read(a, {i * Expr(mr) + Expr(r), at}), kLanes);
        Expr y = f.Read(b, {j, at, Ramp(Expr(v), 1, kLanes)});
        Expr old = f.Read(acc, {Expr(r), Ramp(Expr(v), 1, kLanes)});
        step.push_back(Store(acc, {Expr(r), Ramp(Expr(v), 1, kLanes)}, old + x * y));
      }
    }
  }
  for (int64_t r = 0; r < mr; ++r) {
    for (int64_t v = 0; v < nr; v += kLanes) {
      Expr column = Ramp(j * Expr(nr) + Expr(v), 1, kLanes);
      Expr sum = f.Read(acc, {Expr(r), Ramp(Expr(v), 1, kLanes)}) + f.Read(bias, {column});
      store.push_back(Store(c, {i * Expr(mr) + Expr(r), column}, Max(sum, Zero())));
    }
  }
  Stmt tile = tir::Allocate(
      acc,
      Block({Block(init), For(kk, 0, k / unroll, tir::Bind::kSerial, Block(step)), Block(store)}));
  Stmt body = For(j, 0, n / nr, tir::Bind::kSerial, For(i, 0, m / mr, tir::Bind::kSerial, tile));
  std::string name = "matmul" + std::to_string(mr) + "x" + std::to_string(nr);
  if (unroll > 1) name += "u" + std::to_string(unroll);
  return {name, f.Finish(body), f.outputs(), 2.0 * m * n * k};
}

// Direct 3x3 convolution of a channels-last image with a halo of one pixel; w[oc/nr, kh, kw, ic,
// nr]; tiles of mr pixels of a row by nr channels.
Case Conv(int64_t size, int64_t ic, int64_t oc, int64_t mr, int64_t nr) {
  FunctionBuilder f;
  int x = f.Param("x", kF32, {size, size, ic}, false, {1, 1, 0}, {1, 1, 0});
  int w = f.Param("w", kF32, {oc / nr, 3, 3, ic, nr}), bias = f.Param("bias", kF32, {oc});
  int y = f.Param("y", kF32, {size, size, oc}, true);
  int acc = f.Local("acc", kF32, {mr, nr}, tir::Scope::kRegister);
  Expr o = f.NewVar("o"), row = f.NewVar("row"), col = f.NewVar("col");
  Expr kh = f.NewVar("kh"), kw = f.NewVar("kw"), c = f.NewVar("c");
  std::vector<Stmt> init, step, store;
  for (int64_t r = 0; r < mr; ++r) {
    for (int64_t v = 0; v < nr; v += kLanes) {
      Expr lane = Ramp(Expr(v), 1, kLanes);
      init.push_back(Store(acc, {Expr(r), lane}, Zero()));
      Expr pixel = col * Expr(mr) + Expr(r);
      Expr in = Broadcast(f.Read(x, {row + kh - Expr(1), pixel + kw - Expr(1), c}), kLanes);
      Expr weight = f.Read(w, {o, kh, kw, c, lane});
      step.push_back(Store(acc, {Expr(r), lane}, f.Read(acc, {Expr(r), lane}) + in * weight));
      Expr channel = Ramp(o * Expr(nr) + Expr(v), 1, kLanes);
      Expr sum = f.Read(acc, {Expr(r), lane}) + f.Read(bias, {channel});
      store.push_back(Store(y, {row, pixel, channel}, Max(sum, Zero())));
    }
  }
  auto serial = tir::Bind::kSerial;
  Stmt reduce = For(kh, 0, 3, serial, For(kw, 0, 3, serial, For(c, 0, ic, serial, Block(step))));
  Stmt tile = tir::Allocate(acc, Block({Block(init), reduce, Block(store)}));
  Stmt body =
      For(o, 0, oc / nr, serial, For(row, 0, size, serial, For(col, 0, size / mr, serial, tile)));
  return {"conv" + std::to_string(size) + "x" + std::to_string(ic) + "_" + std::to_string(mr) +
              "x" + std::to_string(nr),
          f.Finish(body), f.outputs(), 2.0 * size * size * ic * oc * 9};
}

double Seconds(const std::function<void()>& f) {
  auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Measure(const Case& c, const Target& target, Compiler& compiler) {
  auto kernel = Kernel::Build(c.function, c.outputs, target);
  if (!kernel.ok()) {
    std::printf("%s: %s\n", c.name.c_str(), kernel.status().ToString().c_str());
    return;
  }
  auto source = MakeSource(c.function, c.outputs, "k");
  double compile = 1e9;
  for (int i = 0; i < 5; ++i) {
    compile = std::min(compile, Seconds([&] {
                         if (!compiler.CompileCandidate(source->kernel).ok()) std::abort();
                       }));
  }
  std::vector<std::vector<float>> data;
  std::vector<void*> args;
  for (int p : c.function.params) {
    data.emplace_back(c.function.buffers[p].ElementCount() + 16, 0.01f);
    auto at = reinterpret_cast<uintptr_t>(data.back().data());
    args.push_back(reinterpret_cast<void*>((at + 63) / 64 * 64));
  }
  std::vector<double> shares, rates;
  (*kernel)->Run(args);
  for (int turn = 0; turn < 9; ++turn) {
    double peak = PeakGflops(0.002);
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      best = std::min(best, Seconds([&] { (*kernel)->Run(args); }));
    }
    peak = std::max(peak, PeakGflops(0.002));
    shares.push_back(c.flops / best * 1e-9 / peak);
    rates.push_back(c.flops / best * 1e-9);
  }
  std::sort(shares.begin(), shares.end());
  std::sort(rates.begin(), rates.end());
  std::printf("%-24s %6.1f GFLOP/s, %5.1f %% of the peak, %lld spills, compiled in %.1f ms\n",
              c.name.c_str(), rates[rates.size() / 2], 100 * shares[shares.size() / 2],
              static_cast<long long>((*kernel)->inner_spills()), compile * 1e3);
}

int Main(int argc, char** argv) {
  Target target = DetectTarget();
  auto compiler = MakeLlvmCompiler(target);
  if (!compiler.ok()) return 1;
  std::vector<Case> cases = {Matmul(512, 512, 512, 8, 48, 1),  Matmul(512, 512, 512, 12, 32, 1),
                             Matmul(512, 512, 512, 14, 32, 1), Matmul(512, 512, 512, 6, 64, 1),
                             Matmul(512, 512, 512, 8, 48, 4),  Matmul(512, 512, 512, 28, 16, 1),
                             Conv(56, 64, 64, 14, 32),         Conv(14, 256, 256, 14, 32),
                             Conv(56, 64, 64, 7, 64)};
  for (const Case& c : cases) {
    if (argc < 2) {
      Measure(c, target, **compiler);
    } else if (c.name == argv[1]) {
      auto source = MakeSource(c.function, c.outputs, "k");
      auto text = (*compiler)->Assembly(source->kernel);
      std::printf("%s\n", text.ok() ? text->c_str() : text.status().ToString().c_str());
    }
  }
  return 0;
}

}  // namespace
}  // namespace temper::codegen

int main(int argc, char** argv) { return temper::codegen::Main(argc, argv); }
