// Builds a loop nest into a shared object, loads it and runs it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "compiler/codegen/codegen.h"
#include "deploy/runtime/abi.h"

namespace temper::codegen {

// A function under construction: buffers in, statements by the caller.
class FunctionBuilder {
 public:
  explicit FunctionBuilder(std::string name = "kernel") { function_.name = std::move(name); }

  int Param(const std::string& name, DType dtype, std::vector<int64_t> shape, bool output = false,
            std::vector<int64_t> halo_before = {}, std::vector<int64_t> halo_after = {});
  int Local(const std::string& name, DType dtype, std::vector<int64_t> shape, tir::Scope scope);
  tir::Expr NewVar(const std::string& name) { return tir::Var(function_.next_var++, name); }
  tir::Expr Read(int buffer, std::vector<tir::Expr> indices, tir::Expr predicate = {}) const {
    return tir::Load(buffer, function_.buffers[buffer].dtype, indices, predicate);
  }
  // The function with this body.
  tir::Function Finish(tir::Stmt body);
  const std::vector<bool>& outputs() const { return outputs_; }

 private:
  tir::Function function_;
  std::vector<bool> outputs_;  // of the parameters
};

// A loaded kernel.
class Kernel {
 public:
  // `outputs`: which parameters are written.
  static Result<std::unique_ptr<Kernel>> Build(const tir::Function& function,
                                               const std::vector<bool>& outputs,
                                               const Target& target);
  ~Kernel();

  const temper_candidate_info& info() const { return *info_; }
  int64_t inner_spills() const { return inner_spills_; }
  // args: one a parameter. Loops that are parallel run in three chunks, the last one first.
  int Run(const std::vector<void*>& args);

 private:
  Kernel() = default;
  void* library_ = nullptr;
  const temper_candidate_info* info_ = nullptr;
  int64_t inner_spills_ = 0;
  std::vector<uint8_t> workspace_;
};

// What codegen.h asks of a kernel's source, made up for a function alone. Keep it with the
// function.
struct Source {
  te::Program program;
  lower::Lowered lowered;
  KernelSource kernel;
};
std::unique_ptr<Source> MakeSource(const tir::Function& function, const std::vector<bool>& outputs,
                                   const std::string& symbol);

}  // namespace temper::codegen
