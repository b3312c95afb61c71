// A finished loop nest as LLVM IR.
//
// Frames. Emission keeps a stack of frames: the function, then each loop, branch and let around
// the current position. A value that depends on the variables of outer frames only is placed
// there, just before the next frame opens, and kept for as long as that frame lives: with no
// optimizer behind, this is what takes invariant address arithmetic and masks out of inner loops.
//
// Addresses. Every index is flattened to bytes as a linear form (affine.h). Its terms are added to
// the buffer's base frame by frame, from the outside in, so that accesses share their outer parts;
// the constant is the displacement of each access. In an innermost loop the loop's own term is a
// pointer that the loop advances. Indices may be negative (halos), so no address is `inbounds`.
//
// Accumulators. Memory that an innermost loop reads and writes at an address that it does not
// change is loaded before the loop, kept in a register, and stored behind it.
//
// Functions. The kernel's entry unpacks its arguments and calls a function whose parameters are
// the buffers, none aliasing another. A parallel loop's body is a function of the same kind.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/codegen/affine.h"
#include "compiler/codegen/llvm/ops.h"
#include "compiler/codegen/register_buffers.h"
#include "compiler/tir/stmt.h"

namespace llvm {
class AllocaInst;
class BasicBlock;
class Constant;
class Function;
class Instruction;
class Module;
class PHINode;
}  // namespace llvm

namespace temper::codegen {

// Bytes of stack that one function of a kernel may take.
inline constexpr int64_t kMaxStackBytes = 256 << 10;

class KernelEmitter {
 public:
  KernelEmitter(llvm::IRBuilderBase& builder, llvm::Module& module, const Traits& traits,
                const tir::Function& function);
  ~KernelEmitter();

  // Buffers that never change: what was loaded of them still holds behind a store.
  void SetConstants(std::span<const int> buffers);

  // Defines `symbol`, a hidden temper_kernel_fn. Once.
  Status Emit(const std::string& symbol);

 private:
  struct ExprHash {
    size_t operator()(const tir::Expr& e) const { return tir::HashOf(e); }
  };
  struct ExprEqual {
    bool operator()(const tir::Expr& a, const tir::Expr& b) const { return tir::Equal(a, b); }
  };
  using ValueCache = std::unordered_map<tir::Expr, llvm::Value*, ExprHash, ExprEqual>;

  struct PointerEntry {
    int buffer;
    std::vector<LinearTerm> terms;
    llvm::Value* pointer;
  };
  struct Induction {
    llvm::PHINode* phi;
    int64_t step;
  };
  struct Frame {
    llvm::Instruction* entry = nullptr;  // where code of the frames outside goes; null: no place
    llvm::BasicBlock* header = nullptr;  // of an innermost loop
    int loop_var = -1;                   // of an innermost loop
    llvm::Value* loop_min = nullptr;
    std::vector<Induction> inductions;
    std::vector<PointerEntry> pointers;
    ValueCache values;
  };
  struct Variable {
    llvm::Value* value = nullptr;
    int depth = 0;                     // the frame it is defined in
    std::unique_ptr<LinearForm> form;  // a let's value, when it is an index
  };
  // An element or vector of memory that an innermost loop keeps in a register.
  struct Promoted {
    int buffer;
    LinearForm first;
    int lanes;
    llvm::AllocaInst* slot;
  };
  // What belongs to the LLVM function being emitted.
  struct FunctionState {
    llvm::Function* function = nullptr;
    llvm::Instruction* allocas = nullptr;  // they go before it
    std::vector<Frame> frames;
    std::unordered_map<int, Variable> variables;
    std::unordered_map<int, llvm::Value*> bases;           // of buffers
    std::unordered_map<int64_t, llvm::AllocaInst*> slots;  // buffer << 32 | first element
    llvm::Value* context = nullptr;
    llvm::Value* workspace = nullptr;
    std::vector<Promoted> promoted;  // of the innermost loop around
    int64_t stack_bytes = 0;
    bool parallel_body = false;
  };
  struct AddressAt {
    llvm::Value* pointer;  // bytes
    uint64_t align;        // provable, at least 1
  };
  // An access in elements: where lane 0 is and how far the lanes are apart.
  struct Access {
    LinearForm first;
    int64_t lane_step = 0;
    bool linear = true;
  };

  // Four loads of neighbouring elements, lanes apart: block.first + {0, 1, 2, 3}.
  struct Block4 {
    int buffer;
    int lanes;
    int64_t on;  // lanes that are loaded
    int64_t lane_step;
    LinearForm first;
    std::array<llvm::Value*, 4> values;  // null until the first is asked for
  };

  // The even and the odd elements of one run: lane i of part p is element first + 2 * i + p.
  struct Pair {
    int buffer = -1;
    int lanes = 0;
    LinearForm first;
    tir::Expr on[2];  // predicates, null: none
    llvm::Value* off = nullptr;
    llvm::Value* halves[2] = {};  // of the run, once loaded
  };

  // Stores of as many vectors as their lanes are apart, which together fill a range.
  struct Woven {
    int buffer;
    int lanes;
    int64_t lane_step;
    LinearForm first;
    std::vector<llvm::Value*> parts;  // the stores' values so far
    int64_t known = 0;                // how many of them
  };

  // kernel_emitter.cc: functions and statements.
  llvm::Function* BeginFunction(const std::string& name, const std::vector<llvm::Type*>& params);
  void EmitStmt(const tir::Stmt& s);
  void EmitFor(const tir::StmtNode& s);
  void EmitParallel(const tir::StmtNode& s);
  void EmitCountedLoop(const tir::Expr& var, llvm::Value* min, llvm::Value* end, bool guard,
                       bool innermost, const std::function<void()>& body);
  void EmitIf(const tir::StmtNode& s);
  void EmitStore(const tir::StmtNode& s);
  void EmitPrefetch(const tir::StmtNode& s);
  void Define(const tir::Expr& var, llvm::Value* value, std::unique_ptr<LinearForm> form);
  void Fail(std::string message);

  // kernel_expr.cc: expressions and loads.
  llvm::Value* Emit(const tir::Expr& e);
  llvm::Value* EmitNode(const tir::Expr& e);
  llvm::Value* EmitAdd(const tir::Expr& e);
  llvm::Value* EmitReduceLanes(const tir::Expr& e);
  llvm::Value* EmitTailMask(const tir::Expr& e);
  llvm::Value* EmitLoad(const tir::Expr& e);
  // select(c, load if c, number) as one load of the element or of the number; null for others.
  llvm::Value* EmitPaddedLoad(const tir::Expr& select);
  // `padding`: what a lane that is off gives, an immediate of one lane; null: zero.
  llvm::Value* LoadLanes(const tir::ExprNode& e, const Access& access, const tir::Expr& padding);
  // every_second.cc: loads whose lanes are two apart. `off`: what lanes that are off give; null
  // without a predicate.
  void FindPairs(const tir::Stmt& block);  // of the stores of a block
  llvm::Value* LoadEverySecond(const tir::ExprNode& e, const LinearForm& first, llvm::Value* off);
  llvm::Value* LoadOfPair(const tir::ExprNode& e, const LinearForm& first, llvm::Value* off);
  llvm::Value* Unchanging(llvm::Instruction* load, int buffer);  // marks a load of a constant
  static bool IsWhole(const llvm::Type* type);
  llvm::Value* LoadWhole(int buffer, const LinearForm& first, llvm::Type* type, llvm::Value* mask,
                         llvm::Value* off);
  llvm::Value* LoadScalar(int buffer, DType dtype, const LinearForm& element,
                          const tir::Expr& predicate, const tir::Expr& padding);
  // A constant in memory with `padding` in each of the lanes.
  llvm::Constant* PaddingBlock(tir::Type type, const tir::Expr& padding);
  llvm::Value* LoadRegister(const tir::ExprNode& e, const Access& access);
  void StoreRegister(const tir::StmtNode& s, const Access& access, llvm::Value* value);
  void StoreLanes(const tir::StmtNode& s, const Access& access, llvm::Value* value);
  bool IsHoistable(const tir::Expr& e) const;

  // transpose.cc: loads whose lanes lie apart.
  void FindBlocks(const tir::Stmt& block);  // of the stores of a block
  Block4* FindBlock(int buffer, int lanes, int64_t lane_step, const LinearForm& first);
  llvm::Value* LoadFromBlock(const tir::ExprNode& e, const Access& access);  // or null
  void EmitBlock(Block4& block, DType dtype);

  // interleave.cc: stores whose lanes lie apart.
  void FindWoven(const tir::Stmt& block);  // of the stores of a block
  bool StoreWoven(int buffer, const Access& access, llvm::Value* value);  // false: not one of them
  void EmitWoven(const Woven& w);

  // promote.cc: accumulators in memory.
  std::vector<Promoted> FindAccumulators(const tir::StmtNode& loop);
  void LoadPromoted(std::vector<Promoted> found);                          // before the loop
  void StorePromoted();                                                    // behind it
  llvm::AllocaInst* PromotedSlot(int buffer, const Access& access) const;  // or null

  // kernel_address.cc: where things are.
  int Depth(const tir::Expr& e) const;
  // Moves the builder to where code of frame `depth` goes; the caller restores it.
  void MoveToFrame(int depth);
  llvm::Value* Base(int buffer);
  llvm::AllocaInst* Slot(int buffer, int64_t first);
  bool InRegisters(int buffer) const;
  Access Flatten(int buffer, std::span<const tir::Expr> indices);
  AddressAt Address(int buffer, const LinearForm& element);
  llvm::Value* Pointer(int buffer, const std::vector<LinearTerm>& byte_terms);
  llvm::Value* GatherPointers(int buffer, std::span<const tir::Expr> indices, int lanes);
  const LinearForm* FormOf(int var_id) const;

  llvm::IRBuilderBase& b_;
  llvm::Module& module_;
  const Traits& traits_;
  const tir::Function& fn_;
  Ops ops_;
  std::vector<RegisterBuffer> registers_;
  std::vector<std::vector<int64_t>> strides_;
  std::vector<bool> constant_;  // by buffer
  std::string symbol_;
  FunctionState state_;
  std::vector<Block4> blocks_;  // of the block of statements that is being emitted
  std::vector<Woven> woven_;    // the same
  std::vector<Pair> pairs_;     // the same
  std::unordered_map<const tir::ExprNode*, llvm::Value*> memo_;              // of the statement
  std::vector<std::pair<llvm::Constant*, llvm::Constant*>> padding_blocks_;  // value, its address
  int parallel_count_ = 0;
  Status status_;
};

}  // namespace temper::codegen
