#include "tests/compiler/codegen/harness.h"

#include <dlfcn.h>

#include <map>

namespace temper::codegen {
namespace {

void RunChunks(temper_context*, temper_parallel_body body, void* closure, int64_t count) {
  for (int64_t i = 2; i >= 0; --i) {
    int64_t begin = count * i / 3, end = count * (i + 1) / 3;
    if (begin < end) body(closure, begin, end);
  }
}

}  // namespace

int FunctionBuilder::Param(const std::string& name, DType dtype, std::vector<int64_t> shape,
                           bool output, std::vector<int64_t> halo_before,
                           std::vector<int64_t> halo_after) {
  tir::Buffer b;
  b.name = name;
  b.dtype = dtype;
  b.shape = std::move(shape);
  b.halo_before = std::move(halo_before);
  b.halo_after = std::move(halo_after);
  b.param = static_cast<int>(function_.params.size());
  int id = static_cast<int>(function_.buffers.size());
  function_.buffers.push_back(std::move(b));
  function_.params.push_back(id);
  outputs_.push_back(output);
  return id;
}

int FunctionBuilder::Local(const std::string& name, DType dtype, std::vector<int64_t> shape,
                           tir::Scope scope) {
  tir::Buffer b;
  b.name = name;
  b.dtype = dtype;
  b.shape = std::move(shape);
  b.scope = scope;
  if (scope == tir::Scope::kWorkspace) {
    b.workspace_offset = function_.workspace_bytes;
    function_.workspace_bytes += (b.ElementCount() * ByteSize(dtype) + 63) / 64 * 64;
  }
  int id = static_cast<int>(function_.buffers.size());
  function_.buffers.push_back(std::move(b));
  return id;
}

tir::Function FunctionBuilder::Finish(tir::Stmt body) {
  function_.body = std::move(body);
  return function_;
}

std::unique_ptr<Source> MakeSource(const tir::Function& function, const std::vector<bool>& outputs,
                                   const std::string& symbol) {
  auto s = std::make_unique<Source>();
  s->lowered.function = function;
  for (size_t i = 0; i < function.params.size(); ++i) {
    const tir::Buffer& b = function.buffers[function.params[i]];
    int tensor = s->program.AddInput(b.name, b.dtype, b.shape);
    s->program.tensors[tensor].halo_before = b.halo_before;
    s->program.tensors[tensor].halo_after = b.halo_after;
    lower::Argument a;
    a.tensor = a.source = tensor;
    a.output = outputs[i];
    s->lowered.arguments.push_back(a);
  }
  s->kernel = {symbol, &s->program, &s->lowered, &s->lowered.function};
  return s;
}

Result<std::unique_ptr<Kernel>> Kernel::Build(const tir::Function& function,
                                              const std::vector<bool>& outputs,
                                              const Target& target) {
  // Making a compiler takes longer than using it.
  static std::map<std::string, std::unique_ptr<Compiler>> compilers;
  std::unique_ptr<Compiler>& compiler = compilers[TargetText(target)];
  if (!compiler) {
    TEMPER_ASSIGN_OR_RETURN(compiler, MakeLlvmCompiler(target));
  }
  auto source = MakeSource(function, outputs, "kernel_under_test");
  TEMPER_ASSIGN_OR_RETURN(ObjectCode code, compiler->CompileCandidate(source->kernel));
  TEMPER_ASSIGN_OR_RETURN(ScopedTempDir dir, ScopedTempDir::Create("temper-codegen-test"));
  std::string object = dir.File("kernel.o"), shared = dir.File("kernel.so");
  TEMPER_RETURN_IF_ERROR(
      WriteFileAtomic(object, {reinterpret_cast<const char*>(code.elf.data()), code.elf.size()}));
  TEMPER_RETURN_IF_ERROR(LinkShared({object}, shared));
  std::unique_ptr<Kernel> kernel(new Kernel());
  kernel->library_ = dlopen(shared.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!kernel->library_) return Internal(dlerror());
  kernel->info_ =
      static_cast<const temper_candidate_info*>(dlsym(kernel->library_, TEMPER_CANDIDATE_SYMBOL));
  if (!kernel->info_) return Internal("no candidate in the shared object");
  kernel->inner_spills_ = code.inner_spills;
  kernel->workspace_.resize(kernel->info_->workspace_bytes + 64);
  return kernel;
}

Kernel::~Kernel() {
  if (library_) dlclose(library_);
}

int Kernel::Run(const std::vector<void*>& args) {
  temper_context context{RunChunks, nullptr, nullptr, nullptr};
  auto address = reinterpret_cast<uintptr_t>(workspace_.data());
  void* workspace = workspace_.data() + (64 - address % 64) % 64;
  return info_->kernel(&context, args.data(), workspace);
}

}  // namespace temper::codegen
