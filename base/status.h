// The one error idiom of Temper: a Status, or a Result<T> that holds a value or a Status.
//
// Codes are gRPC's (https://grpc.github.io/grpc/core/md_doc_statuscodes.html), so that turning a
// Status into a gRPC status is a cast. A message says what went wrong, where (file, node, line)
// and what to do next. No exception crosses a function of ours; TEMPER_CHECK aborts and is only
// for faults of ours, never for input.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace temper {

enum class Code {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// The code's name as gRPC spells it, such as "INVALID_ARGUMENT".
std::string_view CodeName(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // "OK", or "CODE: message".
  std::string ToString() const;

  // The same code, with `context` and ": " before the message. OK stays OK.
  Status WithContext(std::string_view context) const;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

inline Status OkStatus() { return {}; }
inline Status InvalidArgument(std::string m) { return {Code::kInvalidArgument, std::move(m)}; }
inline Status NotFound(std::string m) { return {Code::kNotFound, std::move(m)}; }
inline Status AlreadyExists(std::string m) { return {Code::kAlreadyExists, std::move(m)}; }
inline Status FailedPrecondition(std::string m) {
  return {Code::kFailedPrecondition, std::move(m)};
}
inline Status ResourceExhausted(std::string m) { return {Code::kResourceExhausted, std::move(m)}; }
inline Status OutOfRange(std::string m) { return {Code::kOutOfRange, std::move(m)}; }
inline Status Unimplemented(std::string m) { return {Code::kUnimplemented, std::move(m)}; }
inline Status Internal(std::string m) { return {Code::kInternal, std::move(m)}; }
inline Status Unavailable(std::string m) { return {Code::kUnavailable, std::move(m)}; }
inline Status DataLoss(std::string m) { return {Code::kDataLoss, std::move(m)}; }
inline Status DeadlineExceeded(std::string m) { return {Code::kDeadlineExceeded, std::move(m)}; }
inline Status PermissionDenied(std::string m) { return {Code::kPermissionDenied, std::move(m)}; }

// A value of type T, or the Status that says why there is none (never OK).
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  // REQUIRES: ok().
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  // By value, so that `for (auto& x : *F())` is safe.
  T operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

namespace internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);
inline const Status& AsStatus(const Status& s) { return s; }
template <typename T>
const Status& AsStatus(const Result<T>& r) {
  return r.status();
}
}  // namespace internal

}  // namespace temper

#define TEMPER_CONCAT_INNER(a, b) a##b
#define TEMPER_CONCAT(a, b) TEMPER_CONCAT_INNER(a, b)

// Returns the Status of `expr` from the enclosing function if it is not OK.
#define TEMPER_RETURN_IF_ERROR(expr)                                      \
  do {                                                                    \
    if (::temper::Status status_ = (expr); !status_.ok()) return status_; \
  } while (false)

// `TEMPER_ASSIGN_OR_RETURN(auto x, F());`: x is F's value, or F's Status is returned.
#define TEMPER_ASSIGN_OR_RETURN(lhs, expr) \
  TEMPER_ASSIGN_OR_RETURN_IMPL(TEMPER_CONCAT(result_, __LINE__), lhs, expr)
#define TEMPER_ASSIGN_OR_RETURN_IMPL(result, lhs, expr) \
  auto result = (expr);                                 \
  if (!result.ok()) return result.status();             \
  lhs = std::move(result).value()

// Aborts with file, line and condition. A failure is a fault of ours, never an input's.
#define TEMPER_CHECK(condition) \
  ((condition) ? (void)0 : ::temper::internal::CheckFailed(__FILE__, __LINE__, #condition))
