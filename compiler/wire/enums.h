// Enums of the wire and of the compiler, side by side: private to this folder. The wire's numbers
// stay as they are whatever happens to the compiler's.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "compiler/schedule/schedule.h"
#include "compiler/te/program.h"
#include "proto/schedule.pb.h"
#include "proto/workload.pb.h"

namespace temper::wire {

template <typename Ours, typename Wire, size_t N>
using EnumTable = std::array<std::pair<Ours, Wire>, N>;

template <typename Ours, typename Wire, size_t N>
Wire ToWire(const EnumTable<Ours, Wire, N>& table, Ours value) {
  for (const auto& [ours, wire] : table) {
    if (ours == value) return wire;
  }
  TEMPER_CHECK(false);  // a value of ours that the table forgot
  return table[0].second;
}

template <typename Ours, typename Wire, size_t N>
std::optional<Ours> FromWire(const EnumTable<Ours, Wire, N>& table, Wire value) {
  for (const auto& [ours, wire] : table) {
    if (wire == value) return ours;
  }
  return std::nullopt;
}

inline constexpr EnumTable<DType, proto::DataType, kDTypeCount> kDataTypes = {
    {{DType::kFloat32, proto::DATA_TYPE_FLOAT32},
     {DType::kFloat64, proto::DATA_TYPE_FLOAT64},
     {DType::kFloat16, proto::DATA_TYPE_FLOAT16},
     {DType::kBFloat16, proto::DATA_TYPE_BFLOAT16},
     {DType::kInt8, proto::DATA_TYPE_INT8},
     {DType::kInt16, proto::DATA_TYPE_INT16},
     {DType::kInt32, proto::DATA_TYPE_INT32},
     {DType::kInt64, proto::DATA_TYPE_INT64},
     {DType::kUInt8, proto::DATA_TYPE_UINT8},
     {DType::kUInt16, proto::DATA_TYPE_UINT16},
     {DType::kUInt32, proto::DATA_TYPE_UINT32},
     {DType::kUInt64, proto::DATA_TYPE_UINT64},
     {DType::kBool, proto::DATA_TYPE_BOOL},
     {DType::kFloat8E4M3FN, proto::DATA_TYPE_FLOAT8_E4M3FN},
     {DType::kFloat8E4M3FNUZ, proto::DATA_TYPE_FLOAT8_E4M3FNUZ},
     {DType::kFloat8E5M2, proto::DATA_TYPE_FLOAT8_E5M2},
     {DType::kFloat8E5M2FNUZ, proto::DATA_TYPE_FLOAT8_E5M2FNUZ}}};

// Ramps and broadcasts do not occur in programs.
inline constexpr EnumTable<tir::ExprKind, proto::ExprKind, 26> kExprKinds = {
    {{tir::ExprKind::kIntImm, proto::EXPR_KIND_INTEGER},
     {tir::ExprKind::kFloatImm, proto::EXPR_KIND_NUMBER},
     {tir::ExprKind::kVar, proto::EXPR_KIND_AXIS},
     {tir::ExprKind::kAdd, proto::EXPR_KIND_ADD},
     {tir::ExprKind::kSub, proto::EXPR_KIND_SUB},
     {tir::ExprKind::kMul, proto::EXPR_KIND_MUL},
     {tir::ExprKind::kDiv, proto::EXPR_KIND_DIV},
     {tir::ExprKind::kMod, proto::EXPR_KIND_MOD},
     {tir::ExprKind::kFloorDiv, proto::EXPR_KIND_FLOOR_DIV},
     {tir::ExprKind::kFloorMod, proto::EXPR_KIND_FLOOR_MOD},
     {tir::ExprKind::kMin, proto::EXPR_KIND_MIN},
     {tir::ExprKind::kMax, proto::EXPR_KIND_MAX},
     {tir::ExprKind::kEq, proto::EXPR_KIND_EQ},
     {tir::ExprKind::kNe, proto::EXPR_KIND_NE},
     {tir::ExprKind::kLt, proto::EXPR_KIND_LT},
     {tir::ExprKind::kLe, proto::EXPR_KIND_LE},
     {tir::ExprKind::kAnd, proto::EXPR_KIND_AND},
     {tir::ExprKind::kOr, proto::EXPR_KIND_OR},
     {tir::ExprKind::kXor, proto::EXPR_KIND_XOR},
     {tir::ExprKind::kShl, proto::EXPR_KIND_SHL},
     {tir::ExprKind::kShr, proto::EXPR_KIND_SHR},
     {tir::ExprKind::kNot, proto::EXPR_KIND_NOT},
     {tir::ExprKind::kSelect, proto::EXPR_KIND_SELECT},
     {tir::ExprKind::kCast, proto::EXPR_KIND_CAST},
     {tir::ExprKind::kCall, proto::EXPR_KIND_CALL},
     {tir::ExprKind::kLoad, proto::EXPR_KIND_LOAD}}};

inline constexpr EnumTable<tir::Intrinsic, proto::Function, tir::kIntrinsicCount> kFunctions = {
    {{tir::Intrinsic::kAbs, proto::FUNCTION_ABS},
     {tir::Intrinsic::kExp, proto::FUNCTION_EXP},
     {tir::Intrinsic::kLog, proto::FUNCTION_LOG},
     {tir::Intrinsic::kSqrt, proto::FUNCTION_SQRT},
     {tir::Intrinsic::kRsqrt, proto::FUNCTION_RSQRT},
     {tir::Intrinsic::kTanh, proto::FUNCTION_TANH},
     {tir::Intrinsic::kErf, proto::FUNCTION_ERF},
     {tir::Intrinsic::kFloor, proto::FUNCTION_FLOOR},
     {tir::Intrinsic::kCeil, proto::FUNCTION_CEIL},
     {tir::Intrinsic::kRoundEven, proto::FUNCTION_ROUND_EVEN},
     {tir::Intrinsic::kSin, proto::FUNCTION_SIN},
     {tir::Intrinsic::kCos, proto::FUNCTION_COS},
     {tir::Intrinsic::kTan, proto::FUNCTION_TAN},
     {tir::Intrinsic::kAsin, proto::FUNCTION_ASIN},
     {tir::Intrinsic::kAcos, proto::FUNCTION_ACOS},
     {tir::Intrinsic::kAtan, proto::FUNCTION_ATAN},
     {tir::Intrinsic::kSinh, proto::FUNCTION_SINH},
     {tir::Intrinsic::kCosh, proto::FUNCTION_COSH},
     {tir::Intrinsic::kAsinh, proto::FUNCTION_ASINH},
     {tir::Intrinsic::kAcosh, proto::FUNCTION_ACOSH},
     {tir::Intrinsic::kAtanh, proto::FUNCTION_ATANH},
     {tir::Intrinsic::kPow, proto::FUNCTION_POW},
     {tir::Intrinsic::kFmod, proto::FUNCTION_FMOD},
     {tir::Intrinsic::kIsNan, proto::FUNCTION_IS_NAN},
     {tir::Intrinsic::kIsInf, proto::FUNCTION_IS_INF}}};

inline constexpr EnumTable<te::Combiner, proto::Combiner, 5> kCombiners = {
    {{te::Combiner::kNone, proto::COMBINER_NONE},
     {te::Combiner::kSum, proto::COMBINER_SUM},
     {te::Combiner::kMax, proto::COMBINER_MAX},
     {te::Combiner::kMin, proto::COMBINER_MIN},
     {te::Combiner::kProd, proto::COMBINER_PROD}}};

inline constexpr EnumTable<schedule::Edge, proto::Edge, 3> kEdges = {
    {{schedule::Edge::kDivides, proto::EDGE_DIVIDES},
     {schedule::Edge::kClip, proto::EDGE_CLIP},
     {schedule::Edge::kMask, proto::EDGE_MASK}}};

inline constexpr EnumTable<schedule::Bind, proto::LoopBind, 4> kBinds = {
    {{schedule::Bind::kSerial, proto::LOOP_BIND_SERIAL},
     {schedule::Bind::kParallel, proto::LOOP_BIND_PARALLEL},
     {schedule::Bind::kVector, proto::LOOP_BIND_VECTOR},
     {schedule::Bind::kUnroll, proto::LOOP_BIND_UNROLL}}};

inline constexpr EnumTable<schedule::PlaceKind, proto::PlaceKind, 4> kPlaces = {
    {{schedule::PlaceKind::kRoot, proto::PLACE_KIND_ROOT},
     {schedule::PlaceKind::kInline, proto::PLACE_KIND_INLINE},
     {schedule::PlaceKind::kConstant, proto::PLACE_KIND_CONSTANT},
     {schedule::PlaceKind::kAt, proto::PLACE_KIND_AT}}};

inline constexpr EnumTable<tir::Scope, proto::StorageScope, 4> kScopes = {
    {{tir::Scope::kParam, proto::STORAGE_SCOPE_PARAM},
     {tir::Scope::kWorkspace, proto::STORAGE_SCOPE_WORKSPACE},
     {tir::Scope::kStack, proto::STORAGE_SCOPE_STACK},
     {tir::Scope::kRegister, proto::STORAGE_SCOPE_REGISTER}}};

inline constexpr EnumTable<schedule::StepKind, proto::StepKind, 3> kSteps = {
    {{schedule::StepKind::kPack, proto::STEP_KIND_PACK},
     {schedule::StepKind::kWriteCache, proto::STEP_KIND_WRITE_CACHE},
     {schedule::StepKind::kSplitReduction, proto::STEP_KIND_SPLIT_REDUCTION}}};

}  // namespace temper::wire
