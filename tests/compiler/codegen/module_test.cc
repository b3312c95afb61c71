// What candidates and compiled models export.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "compiler/codegen/elf_weights.h"
#include "compiler/codegen/module_plan.h"
#include "tests/compiler/codegen/harness.h"

namespace temper::codegen {
namespace {

using tir::Bind;
using tir::Expr;
using tir::For;
using tir::Store;

constexpr DType kF32 = DType::kFloat32;

// c[i] = a[i] * b[i] + t, where t is the kernel's workspace, set to 1 first.
tir::Function Product(std::vector<bool>* outputs) {
  FunctionBuilder f;
  int a = f.Param("a", kF32, {8}), b = f.Param("b", kF32, {8}), c = f.Param("c", kF32, {8}, true);
  int t = f.Local("t", kF32, {1}, tir::Scope::kWorkspace);
  Expr i = f.NewVar("i");
  auto fn = f.Finish(
      tir::Block({Store(t, {Expr(0)}, tir::FloatImm(kF32, 1)),
                  For(i, 0, 8, Bind::kParallel,
                      Store(c, {i}, f.Read(a, {i}) * f.Read(b, {i}) + f.Read(t, {Expr(0)})))}));
  *outputs = f.outputs();
  return fn;
}

void RunAll(temper_context*, temper_parallel_body body, void* closure, int64_t count) {
  body(closure, 0, count);
}

TEST(CandidateTest, ExportsItsArgumentTable) {
  std::vector<bool> outputs;
  auto fn = Product(&outputs);
  fn.buffers[0].halo_before = {2};
  fn.buffers[0].halo_after = {3};
  auto source = MakeSource(fn, outputs, "k");
  source->program.tensors[1].shape = {2, 3};
  source->program.tensors[1].constant = true;
  source->lowered.arguments[1].constant = true;
  source->lowered.arguments[1].pack = {{1, 2, 2}, {0, 2, 1}, {1, 2, 1}};
  auto compiler = MakeLlvmCompiler(DetectTarget());
  ASSERT_TRUE(compiler.ok());
  auto code = (*compiler)->CompileCandidate(source->kernel);
  ASSERT_TRUE(code.ok()) << code.status().ToString();
  EXPECT_EQ(code->inner_spills, 0);
  auto dir = ScopedTempDir::Create("temper-codegen-test");
  ASSERT_TRUE(dir.ok());
  std::string object = dir->File("k.o"), shared = dir->File("k.so");
  std::string_view bytes(reinterpret_cast<const char*>(code->elf.data()), code->elf.size());
  ASSERT_TRUE(WriteFileAtomic(object, bytes).ok());
  ASSERT_TRUE(LinkShared({object}, shared).ok());
  void* library = dlopen(shared.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto* info = static_cast<const temper_candidate_info*>(dlsym(library, TEMPER_CANDIDATE_SYMBOL));
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(dlsym(library, "k"), nullptr) << "kernels are hidden";
  EXPECT_EQ(info->abi_version, TEMPER_ABI_VERSION);
  EXPECT_EQ(info->workspace_bytes, 64);
  ASSERT_EQ(info->arg_count, 3);
  EXPECT_STREQ(info->args[0].name, "a");
  EXPECT_EQ(info->args[0].role, TEMPER_ARG_INPUT);
  EXPECT_EQ(info->args[0].dtype, static_cast<int>(kF32));
  EXPECT_EQ(info->args[0].rank, 1);
  EXPECT_EQ(info->args[0].shape[0], 8);
  EXPECT_EQ(info->args[0].halo_before[0], 2);
  EXPECT_EQ(info->args[0].halo_after[0], 3);
  EXPECT_EQ(info->args[0].pack, nullptr);
  EXPECT_EQ(info->args[2].role, TEMPER_ARG_OUTPUT);
  EXPECT_EQ(info->args[1].role, TEMPER_ARG_CONSTANT);
  EXPECT_EQ(info->args[1].rank, 3) << "of the packed tensor";
  const temper_pack* pack = info->args[1].pack;
  ASSERT_NE(pack, nullptr);
  EXPECT_EQ(pack->element_bytes, 4);
  EXPECT_EQ(pack->src_rank, 2);
  EXPECT_EQ(pack->src_shape[1], 3);
  EXPECT_EQ(pack->dst_rank, 3);
  EXPECT_EQ(pack->dst_shape[0], 2);
  EXPECT_EQ(pack->axis[0], 1);
  EXPECT_EQ(pack->axis[1], 0);
  EXPECT_EQ(pack->step[0], 2);
  EXPECT_EQ(pack->step[2], 1);
  dlclose(library);
}

// y0 = x * w + 1 through the arena, y1 = that * w' + 1; w' lies behind a gap in the weights.
TEST(ModuleTest, RunsItsStepsInOrder) {
  Target target = DetectTarget();
  auto compiler = MakeLlvmCompiler(target);
  ASSERT_TRUE(compiler.ok());
  std::vector<bool> outputs;
  auto fn = Product(&outputs);
  auto first = MakeSource(fn, outputs, "kernel_0"), second = MakeSource(fn, outputs, "kernel_1");
  auto kernels = (*compiler)->CompileKernels({first->kernel, second->kernel});
  ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();

  ModulePlan plan;
  plan.threads = 2;
  plan.producer = "temper test";
  ModuleSpecialization& main_plan = plan.specializations.emplace_back();
  main_plan.inputs = {{"x", kF32, {8}}};
  main_plan.outputs = {{"y", kF32, {2, 4}}};
  main_plan.arena_bytes = 256;
  plan.weight_bytes = 5000 + 32;
  plan.kernels = {{"kernel_0", "abc", "exact", "text", 1.5, 16, 96},
                  {"kernel_1", "", "", "", 0, 0, 0}};
  ModuleStep a, b;
  a.kernel = 0;
  a.args = {{Place::kInput, 0}, {Place::kWeights, 0}, {Place::kArena, 64}};
  a.workspace_offset = 128;
  a.nodes = "Mul_0,Add_0";
  b.kernel = 1;
  b.args = {{Place::kArena, 64}, {Place::kWeights, 5000}, {Place::kOutput, 0}};
  b.workspace_offset = 192;
  main_plan.steps.push_back(std::move(a));
  main_plan.steps.push_back(std::move(b));
  plan.workloads = {{"abc", "Mul 8", "program text"}, {"def", "Add 8", ""}};
  std::vector<ObjectCode> main;
  Status compiled = (*compiler)->CompileModule(plan, [&](ObjectCode object) {
    main.push_back(std::move(object));
    return OkStatus();
  });
  ASSERT_TRUE(compiled.ok()) << compiled.ToString();
  ASSERT_EQ(main.size(), 1u);

  auto dir = ScopedTempDir::Create("temper-codegen-test");
  ASSERT_TRUE(dir.ok());
  auto write = [&](const char* name, const ObjectCode& code) {
    std::string_view bytes(reinterpret_cast<const char*>(code.elf.data()), code.elf.size());
    ASSERT_TRUE(WriteFileAtomic(dir->File(name), bytes).ok());
  };
  write("kernels.o", *kernels);
  write("main.o", main[0]);
  float w0[8], w1[8];
  std::iota(w0, w0 + 8, 1.0f);
  std::iota(w1, w1 + 8, 10.0f);
  std::vector<WeightSpan> spans = {{0, {reinterpret_cast<const uint8_t*>(w0), sizeof(w0)}},
                                   {5000, {reinterpret_cast<const uint8_t*>(w1), sizeof(w1)}}};
  Status written = WriteWeightsObject(dir->File("weights.o"), spans, plan.weight_bytes);
  ASSERT_TRUE(written.ok()) << written.ToString();
  Status linked = LinkShared({dir->File("main.o"), dir->File("kernels.o"), dir->File("weights.o")},
                             dir->File("m.so"));
  ASSERT_TRUE(linked.ok()) << linked.ToString();

  void* library = dlopen(dir->File("m.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto* info = static_cast<const temper_module_info*>(dlsym(library, TEMPER_MODULE_SYMBOL));
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(dlsym(library, kWeightsSymbol), nullptr) << "weights are hidden";
  EXPECT_EQ(info->abi_version, 1);
  EXPECT_EQ(info->threads, 2);
  EXPECT_STREQ(info->producer, "temper test");
  EXPECT_EQ(info->target, TargetText(target));
  EXPECT_EQ(info->arena_bytes, 256);
  EXPECT_EQ(info->weight_bytes, 5032);
  EXPECT_EQ(info->required_features >> 9 & 1, target.Has("fma") ? 1u : 0u);
  EXPECT_EQ(info->output_shape, nullptr);
  ASSERT_EQ(info->input_count, 1);
  ASSERT_EQ(info->output_count, 1);
  EXPECT_STREQ(info->inputs[0].name, "x");
  EXPECT_EQ(info->outputs[0].rank, 2);
  EXPECT_EQ(info->outputs[0].shape[1], 4);
  EXPECT_EQ(info->outputs[0].max_shape[1], 4);
  ASSERT_EQ(info->step_count, 2);
  EXPECT_STREQ(info->steps[0].nodes, "Mul_0,Add_0");
  EXPECT_EQ(info->steps[0].expected_us, 1.5);
  EXPECT_EQ(info->steps[0].flops, 16);
  EXPECT_EQ(info->steps[0].bytes, 96);
  EXPECT_STREQ(info->steps[1].schedule, "");

  auto* table = static_cast<const temper_workload_table*>(dlsym(library, TEMPER_WORKLOADS_SYMBOL));
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->count, 2);
  EXPECT_STREQ(table->workloads[0].hash, "abc");
  EXPECT_STREQ(table->workloads[0].program, "program text");
  EXPECT_STREQ(table->workloads[1].name, "Add 8");

  float x[8], y[8], y2[8];
  std::iota(x, x + 8, 0.5f);
  alignas(64) char arena[256];
  temper_context context{RunAll, nullptr, nullptr, nullptr};
  const void* in[] = {x};
  void* out[] = {y};
  EXPECT_EQ(info->run(&context, in, out, arena), 0);
  for (int i = 0; i < 8; ++i) {
    float middle = x[i] * w0[i] + 1;
    EXPECT_FLOAT_EQ(y[i], middle * w1[i] + 1) << i;
  }
  out[0] = y2;
  std::memset(arena, 0, sizeof(arena));
  EXPECT_EQ(info->run_step(&context, 0, in, out, arena), 0);
  EXPECT_EQ(info->run_step(&context, 1, in, out, arena), 0);
  EXPECT_EQ(std::memcmp(y, y2, sizeof(y)), 0);
  dlclose(library);
}

// Steps in several objects: names and order stay, also of a branch whose steps lie in two of them.
TEST(ModuleTest, ManyStepsAreInPartsThatActAsOne) {
  constexpr int kSteps = 3000, kBranch = 1020, kNested = 8;
  Target target = DetectTarget();
  auto compiler = MakeLlvmCompiler(target);
  ASSERT_TRUE(compiler.ok());
  std::vector<bool> outputs;
  auto fn = Product(&outputs);
  auto source = MakeSource(fn, outputs, "kernel_0");
  auto kernels = (*compiler)->CompileKernels({source->kernel});
  ASSERT_TRUE(kernels.ok());

  ModulePlan plan;
  ModuleSpecialization& main_plan = plan.specializations.emplace_back();
  main_plan.inputs = {{"x", kF32, {8}}, {"c", DType::kBool, {}}};
  main_plan.outputs = {{"y", kF32, {8}}};
  main_plan.arena_bytes = 256;
  plan.weight_bytes = 32;
  plan.kernels = {{"kernel_0", "abc", "prior", "text", 0, 0, 0}};
  auto place = [&](int i) {  // of what step i reads; branches write nothing
    if (i == 0) return ModuleArg{Place::kInput, 0};
    return ModuleArg{Place::kArena, i % 2 * 64};
  };
  int read = 0;  // values so far
  for (int i = 0; i < kSteps; ++i) {
    ModuleStep step;
    step.nodes = "n" + std::to_string(i);
    if (i == kBranch) {
      step.branch = std::make_unique<ModuleIf>();
      step.branch->condition = {Place::kInput, 1};
      step.branch->then_steps = step.nested = kNested;
    } else {
      step.kernel = 0;
      const bool last = i == kSteps - 1;
      step.args = {
          place(read), {Place::kWeights, 0}, last ? ModuleArg{Place::kOutput, 0} : place(read + 1)};
      step.workspace_offset = 128;
      ++read;
    }
    main_plan.steps.push_back(std::move(step));
  }
  auto dir = ScopedTempDir::Create("temper-codegen-test");
  ASSERT_TRUE(dir.ok());
  std::vector<std::string> objects;
  auto write = [&](const ObjectCode& code) {
    objects.push_back(dir->File(std::to_string(objects.size()) + ".o"));
    std::string_view bytes(reinterpret_cast<const char*>(code.elf.data()), code.elf.size());
    return WriteFileAtomic(objects.back(), bytes);
  };
  ASSERT_TRUE(write(*kernels).ok());
  Status compiled = (*compiler)->CompileModule(plan, write);
  ASSERT_TRUE(compiled.ok()) << compiled.ToString();
  EXPECT_GT(objects.size(), 3u);
  const std::vector<float> w(8, 1);
  const std::vector<WeightSpan> spans = {{0, {reinterpret_cast<const uint8_t*>(w.data()), 32}}};
  objects.push_back(dir->File("weights.o"));
  ASSERT_TRUE(WriteWeightsObject(objects.back(), spans, plan.weight_bytes).ok());
  ASSERT_TRUE(LinkShared(objects, dir->File("m.so")).ok());
  void* library = dlopen(dir->File("m.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto* info = static_cast<const temper_module_info*>(dlsym(library, TEMPER_MODULE_SYMBOL));
  ASSERT_NE(info, nullptr);
  ASSERT_EQ(info->step_count, kSteps);
  for (int i = 0; i < kSteps; ++i) ASSERT_EQ(info->steps[i].nodes, "n" + std::to_string(i));

  const std::vector<float> x(8, 0.5f);
  std::vector<float> y(8), stepwise(8);
  const bool yes = true;
  alignas(64) char arena[256];
  temper_context context{RunAll, nullptr, nullptr, nullptr};
  const void* in[] = {x.data(), &yes};
  void* out[] = {y.data()};
  ASSERT_EQ(info->run(&context, in, out, arena), 0);
  for (float v : y) EXPECT_EQ(v, 0.5f + (kSteps - 1));  // each but the branch adds 1
  out[0] = stepwise.data();
  for (int i = 0; i < kSteps; ++i) {
    const bool inside = i > kBranch && i <= kBranch + kNested;
    ASSERT_EQ(info->run_step(&context, i, in, out, arena), inside ? TEMPER_STEP_INSIDE : 0) << i;
  }
  EXPECT_EQ(y, stepwise);
  dlclose(library);
}

TEST(LinkTest, FaultsAreReported) {
  auto dir = ScopedTempDir::Create("temper-codegen-test");
  ASSERT_TRUE(dir.ok());
  EXPECT_FALSE(LinkShared({dir->File("missing.o")}, dir->File("a.so")).ok());
  ASSERT_TRUE(WriteFileAtomic(dir->File("text.o"), "not an object").ok());
  EXPECT_FALSE(LinkShared({dir->File("text.o")}, dir->File("a.so")).ok());
  EXPECT_FALSE(WriteWeightsObject("/nonexistent/weights.o", {}, 1).ok());
}

// A kernel for each target that has a name; those that this machine can run are run.
TEST(TargetsTest, EveryTargetCompiles) {
  Target host = DetectTarget();
  for (const std::string& name : KnownTargets()) {
    Target target = *ParseTarget(name);
    int lanes = target.Lanes(4);
    int rows = target.vector_registers == 32 ? 12 : target.Has("fma") ? 6 : 4;
    FunctionBuilder f;
    int a = f.Param("a", kF32, {rows, 20}), b = f.Param("b", kF32, {20, 2 * lanes});
    int c = f.Param("c", kF32, {rows, 2 * lanes}, true);
    int acc = f.Local("acc", kF32, {rows, 2 * lanes}, tir::Scope::kRegister);
    Expr k = f.NewVar("k");
    std::vector<tir::Stmt> init, step, store;
    for (int r = 0; r < rows; ++r) {
      for (int v = 0; v < 2; ++v) {
        Expr lane = tir::Ramp(Expr(v * lanes), 1, lanes);
        Expr x = tir::Broadcast(f.Read(a, {Expr(r), k}), lanes);
        Expr old = f.Read(acc, {Expr(r), lane});
        init.push_back(Store(acc, {Expr(r), lane}, tir::Broadcast(tir::FloatImm(kF32, 0), lanes)));
        step.push_back(Store(acc, {Expr(r), lane}, old + x * f.Read(b, {k, lane})));
        store.push_back(Store(c, {Expr(r), lane}, tir::Call(tir::Intrinsic::kExp, {old})));
      }
    }
    auto fn = f.Finish(tir::Allocate(
        acc, tir::Block({tir::Block(init), For(k, 0, 20, Bind::kSerial, tir::Block(step)),
                         tir::Block(store)})));
    auto compiler = MakeLlvmCompiler(target);
    ASSERT_TRUE(compiler.ok()) << compiler.status().ToString();
    auto source = MakeSource(fn, f.outputs(), "k");
    auto code = (*compiler)->CompileCandidate(source->kernel);
    ASSERT_TRUE(code.ok()) << name << ": " << code.status().ToString();
    EXPECT_EQ(code->inner_spills, 0) << name;
    auto text = (*compiler)->Assembly(source->kernel);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(text->find("vfmadd") != std::string::npos, target.Has("fma")) << name;
    EXPECT_EQ(text->find("zmm") != std::string::npos, target.vector_bits == 512) << name;
    if (!CanRunOn(target, host).ok()) continue;
    auto kernel = Kernel::Build(fn, f.outputs(), target);
    ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
    std::vector<float> x(rows * 20, 0.25f), y(40 * lanes, 0.5f), z(rows * 2 * lanes);
    EXPECT_EQ((*kernel)->Run({x.data(), y.data(), z.data()}), 0);
    for (float v : z) EXPECT_NEAR(v, 12.182494f, 1e-5f) << name;
  }
}

TEST(SpillsTest, ATileThatDoesNotFitIsCounted) {
  Target target = *ParseTarget("x86-64-v3");
  FunctionBuilder f;
  int a = f.Param("a", kF32, {10, 20}), b = f.Param("b", kF32, {20, 24});
  int c = f.Param("c", kF32, {10, 24}, true);
  int acc = f.Local("acc", kF32, {10, 24}, tir::Scope::kRegister);
  Expr k = f.NewVar("k");
  std::vector<tir::Stmt> init, step, store;
  for (int r = 0; r < 10; ++r) {
    for (int v = 0; v < 3; ++v) {
      Expr lane = tir::Ramp(Expr(v * 8), 1, 8), old = f.Read(acc, {Expr(r), lane});
      Expr x = tir::Broadcast(f.Read(a, {Expr(r), k}), 8);
      init.push_back(Store(acc, {Expr(r), lane}, tir::Broadcast(tir::FloatImm(kF32, 0), 8)));
      step.push_back(Store(acc, {Expr(r), lane}, old + x * f.Read(b, {k, lane})));
      store.push_back(Store(c, {Expr(r), lane}, old));
    }
  }
  auto fn = f.Finish(tir::Allocate(
      acc, tir::Block({tir::Block(init), For(k, 0, 20, Bind::kSerial, tir::Block(step)),
                       tir::Block(store)})));
  auto compiler = MakeLlvmCompiler(target);
  ASSERT_TRUE(compiler.ok());
  auto source = MakeSource(fn, f.outputs(), "k");
  auto code = (*compiler)->CompileCandidate(source->kernel);
  ASSERT_TRUE(code.ok());
  EXPECT_GE(code->inner_spills, 14);  // 30 accumulators in 16 registers
}

// Forty comparisons, each of use twice and in an order that keeps them all: of the eight mask
// registers' sixty and more moves none is of a tile.
TEST(SpillsTest, MasksAreNotCounted) {
  constexpr int kMasks = 40;
  Target target = *ParseTarget("x86-64-v4");
  FunctionBuilder f;
  int a = f.Param("a", kF32, {20, kMasks, 16});
  int c = f.Param("c", kF32, {20, 16}, true);
  int acc = f.Local("acc", kF32, {16}, tir::Scope::kRegister);
  Expr k = f.NewVar("k"), lane = tir::Ramp(Expr(0), 1, 16);
  auto constant = [](float value) { return tir::Broadcast(tir::FloatImm(kF32, value), 16); };
  std::vector<tir::Stmt> body = {Store(acc, {lane}, constant(1))};
  for (float round : {2.0F, 3.0F}) {
    for (int i = 0; i < kMasks; ++i) {
      Expr old = f.Read(acc, {lane});
      Expr mask = tir::Lt(f.Read(a, {k, Expr(i), lane}), constant(0.5F));
      body.push_back(Store(acc, {lane}, tir::Select(mask, old * constant(round), old)));
    }
  }
  body.push_back(Store(c, {k, lane}, f.Read(acc, {lane})));
  auto fn = f.Finish(tir::For(k, 0, 20, Bind::kSerial, tir::Allocate(acc, tir::Block(body))));
  auto compiler = MakeLlvmCompiler(target);
  ASSERT_TRUE(compiler.ok());
  auto source = MakeSource(fn, f.outputs(), "k");
  auto code = (*compiler)->CompileCandidate(source->kernel);
  ASSERT_TRUE(code.ok()) << code.status().message();
  EXPECT_EQ(code->inner_spills, 0);
}

}  // namespace
}  // namespace temper::codegen
