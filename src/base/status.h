// Errors as values: what happened, where, what to do, and how the runtime reacts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/errors.h"

namespace strand {

/// The outcome of an operation. Success is a null pointer. An error carries its number, a message that says what
/// was expected and what was found, a place (`file:line:column`, `shard position`, operator id) and a way out.
/// No exception crosses a folder; third-party ones are caught where they are thrown.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(ErrorCode code, std::string message) : detail_(new Detail{code, std::move(message), {}, {}}) {}

  bool ok() const { return detail_ == nullptr; }
  ErrorCode code() const { return detail_->code; }
  Reaction reaction() const { return error_info(detail_->code).reaction; }
  const std::string& message() const { return detail_->message; }
  const std::string& where() const { return detail_->where; }
  const std::string& hint() const { return detail_->hint; }

  /// Sets the place, if none was set by somebody who knew better.
  Status&& at(std::string where) && {
    if (detail_ && detail_->where.empty()) detail_->where = std::move(where);
    return std::move(*this);
  }
  /// Says what to do about it.
  Status&& hint(std::string hint) && {
    if (detail_) detail_->hint = std::move(hint);
    return std::move(*this);
  }
  /// `STRAND-2003  job.sql:3:8: message` and the hint on a line of its own, indented by two.
  std::string to_string() const;

  Status(const Status& other) : detail_(other.detail_ ? new Detail(*other.detail_) : nullptr) {}
  Status& operator=(const Status& other) {
    if (this != &other) detail_.reset(other.detail_ ? new Detail(*other.detail_) : nullptr);
    return *this;
  }
  Status(Status&&) = default;
  Status& operator=(Status&&) = default;
  ~Status() = default;

 private:
  struct Detail {
    ErrorCode code;
    std::string message;
    std::string where;
    std::string hint;
  };
  std::unique_ptr<Detail> detail_;
};

/// A value or the error that kept it from being made.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}  // NOLINT: implicit on purpose, so that `return value;` works
  Result(Status status) : state_(std::move(status)) { STRAND_CHECK(!std::get<Status>(state_).ok()); }  // NOLINT

  bool ok() const { return std::holds_alternative<T>(state_); }
  const Status& status() const& { return std::get<Status>(state_); }
  Status status() && { return std::get<Status>(std::move(state_)); }
  T& operator*() & { return checked(); }
  const T& operator*() const& { return std::get<T>(state_); }
  T&& operator*() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &std::get<T>(state_); }

 private:
  T& checked() {
    STRAND_CHECK(ok());
    return std::get<T>(state_);
  }
  std::variant<T, Status> state_;
};

}  // namespace strand

#define STRAND_CONCAT_(a, b) a##b
#define STRAND_CONCAT(a, b) STRAND_CONCAT_(a, b)

/// Returns from the function if `expression` is an error.
#define STRAND_OK(expression)                                   \
  do {                                                          \
    ::strand::Status strand_status_ = (expression);             \
    if (!strand_status_.ok()) [[unlikely]]                      \
      return strand_status_;                                    \
  } while (false)

/// STRAND_TRY(auto x, f()); declares x with the value of f(), or returns its error.
#define STRAND_TRY(declaration, expression) \
  STRAND_TRY_(STRAND_CONCAT(strand_result_, __LINE__), declaration, expression)
#define STRAND_TRY_(result, declaration, expression)            \
  auto result = (expression);                                   \
  if (!result.ok()) [[unlikely]]                                \
    return std::move(result).status();                          \
  declaration = *std::move(result)
