#include "expr/library.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/utf8.h"
#include "env/library.h"
#include "expr/kernels.h"
#include "expr/registry.h"
#include "strandline/function_abi.h"

namespace strand::expr {

namespace {

constexpr size_t kArgumentsMax = 1'000;

Status bad_library(const LibraryFunction& f, const std::string& what) {
  return Status(ErrorCode::kBadLibrary, "'" + f.path + "': " + what)
      .hint("build the library with include/strandline/function_abi.h of this version");
}

/// Null for a number that is no type.
TypePtr type_of(uint32_t type) {
  static constexpr std::array kKinds = {
      TypeKind::kNull,      TypeKind::kBoolean,      TypeKind::kTinyInt, TypeKind::kSmallInt, TypeKind::kInt,
      TypeKind::kBigInt,    TypeKind::kFloat,        TypeKind::kDouble,  TypeKind::kDate,     TypeKind::kTime,
      TypeKind::kTimestamp, TypeKind::kTimestampLtz, TypeKind::kString,  TypeKind::kBytes};
  if (type == 0 || type >= kKinds.size()) return nullptr;
  if (is_timestamp(kKinds[type])) return columnar::timestamp_type(3, kKinds[type] == TypeKind::kTimestampLtz);
  return columnar::make_type(kKinds[type]);
}

Status check_signature(const LibraryFunction& f, const strand_function& found) {
  if (found.call == nullptr) return bad_library(f, "function " + f.entry + " has no code");
  if (type_of(found.result) == nullptr)
    return bad_library(
        f, "function " + f.entry + " gives type " + std::to_string(found.result) + ", which there is not");
  if (found.argument_count > kArgumentsMax || (found.argument_count > 0 && found.arguments == nullptr))
    return bad_library(f, "function " + f.entry + " does not say which arguments it takes");
  for (size_t i = 0; i < found.argument_count; ++i) {
    if (type_of(found.arguments[i]) != nullptr) continue;
    return bad_library(f, "argument " + std::to_string(i + 1) + " of function " + f.entry + " has type " +
                              std::to_string(found.arguments[i]) + ", which there is not");
  }
  return Status();
}

Result<const strand_function*> load(const LibraryFunction& f) {
  STRAND_TRY(const void* address, env::library_symbol(f.path, STRAND_FUNCTION_SYMBOL));
  const auto& library = *static_cast<const strand_function_library*>(address);
  if (library.abi != STRAND_FUNCTION_ABI || library.function_size != sizeof(strand_function)) {
    return bad_library(f, "it was built for version " + std::to_string(library.abi) +
                              " of the interface, expected " + std::to_string(STRAND_FUNCTION_ABI));
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < library.function_count && library.functions != nullptr; ++i) {
    const strand_function& each = library.functions[i];
    if (each.name == nullptr) return bad_library(f, "a function has no name");
    if (f.entry != each.name) {
      names.emplace_back(each.name);
      continue;
    }
    STRAND_OK(check_signature(f, each));
    return &each;
  }
  const auto near = nearest(f.entry, names);
  return Status(ErrorCode::kUnknownFunction, "'" + f.path + "' has no function '" + f.entry + "'")
      .hint(near ? "did you mean '" + *near + "'?" : "write behind AS the name that the library gives it");
}

/// Whether a value of `from` is one of `to` without a loss that somebody could see.
bool widens(const Type& from, const Type& to) {
  if (from.kind == to.kind) return !is_timestamp(from.kind) || from.precision <= to.precision;
  if (to.kind == TypeKind::kDouble) return columnar::is_numeric(from.kind);
  if (to.kind == TypeKind::kFloat) return columnar::is_numeric(from.kind) && from.kind != TypeKind::kDouble;
  return columnar::is_integer(from.kind) && columnar::is_integer(to.kind) &&
         columnar::fixed_width(from.kind) < columnar::fixed_width(to.kind);
}

std::string parameters(const strand_function& f) {
  std::string text;
  for (size_t i = 0; i < f.argument_count; ++i)
    text += (i > 0 ? ", " : "") + to_string(*type_of(f.arguments[i]));
  return "(" + text + ")";
}

constexpr size_t kReasonBytesMax = 1'000;

/// What a library says why it fails, as text that a message can hold: `?` for bytes that are no UTF-8.
std::string reason_of(std::string_view said) {
  std::string text;
  const bool whole = said.size() <= kReasonBytesMax;
  if (!whole) said = said.substr(0, kReasonBytesMax);
  while (!said.empty()) {
    const size_t valid = valid_utf8_bytes(said);
    text += said.substr(0, valid);
    said.remove_prefix(valid);
    if (said.empty()) break;
    text += '?';
    said.remove_prefix(1);
  }
  return text + (whole ? "" : "…");
}

/// What a running call has said.
struct Host {
  TextWriter* text = nullptr;
  bool utf8 = false;
  int64_t length = 0;
  int64_t next = 0;  // the first row that may be put
  int64_t failed = -1;
  std::string error = {};

  void fail(uint32_t row, std::string_view why) {
    if (failed >= 0) return;
    failed = std::min<int64_t>(row, length - 1);
    error = reason_of(why);
  }
};

constexpr size_t kTextBytesMax = size_t{1} << 30;  // of all rows of a batch

void put_text(void* host, uint32_t row, const char* bytes, size_t size) {
  Host& h = *static_cast<Host*>(host);
  if (h.failed >= 0) return;
  if (h.text == nullptr) return h.fail(row, "the function gives text, its result is none");
  if (row < h.next || row >= h.length)
    return h.fail(row, "the function does not give its rows in their order");
  if (size > kTextBytesMax - h.text->size()) return h.fail(row, "the function gives too much text");
  if (h.utf8 && !valid_utf8({bytes, size})) return h.fail(row, "the function gives text that is no UTF-8");
  h.text->begin(row);
  h.text->append({bytes, size});
  h.next = int64_t{row} + 1;
}

void fail(void* host, uint32_t row, const char* text) {
  static_cast<Host*>(host)->fail(row, text == nullptr ? "the function failed" : text);
}

/// A column as a library sees it; `kept` are bits that had to be moved to begin with a byte.
strand_column view_of(const Column& column, uint32_t type, std::vector<BufferPtr>& kept) {
  const auto bits = [&](WordReader from) {
    Bits copy(column.length());
    for (int64_t w = 0; w < copy.count(); ++w) copy.words()[w] = from[w];
    kept.push_back(copy.take());
    return kept.back()->data();
  };
  strand_column view = {type, nullptr, nullptr, nullptr};
  if (column.has_nulls())
    view.present = reinterpret_cast<const uint8_t*>(bits(WordReader::of_validity(column, false)));
  if (column.type()->kind == TypeKind::kBoolean) {
    view.values = bits(WordReader::of_values(column, false));
  } else if (is_text(column.type()->kind)) {
    view.values = column.parts().values->data();
    view.offsets = column.offsets();
  } else {
    const int64_t width = columnar::fixed_width(column.type()->kind);
    view.values = column.parts().values->data() + column.parts().offset * width;
  }
  return view;
}

/// Calls a function for the rows of a scope.
class LibraryCall {
 public:
  LibraryCall(std::string name, const strand_function& function, TypePtr type)
      : name_(std::move(name)), function_(&function), type_(std::move(type)) {}

  Result<Value> operator()(const Scope& scope, std::span<const Value> args) {
    list_rows(scope, args);
    std::vector<ColumnPtr> columns;  // kept alive
    std::vector<BufferPtr> bits;
    std::vector<strand_column> views;
    for (size_t i = 0; i < args.size(); ++i) {
      columns.push_back(args[i].constant ? expand(args[i].column, scope.length) : args[i].column);
      views.push_back(view_of(*columns.back(), function_->arguments[i], bits));
    }
    const bool text = is_text(type_->kind);
    TextWriter writer(text ? scope.length : 0);
    Bits present(scope.length, false);
    Host host{text ? &writer : nullptr, type_->kind == TypeKind::kString, scope.length};
    const size_t width = static_cast<size_t>(std::max(columnar::fixed_width(type_->kind), 1));
    auto values =
        text ? nullptr : Buffer::allocate(static_cast<size_t>(word_count(scope.length)) * 64 * width);
    if (values) std::memset(values->mutable_data(), 0, values->size());
    strand_result result = {values ? values->mutable_data() : nullptr,
                            reinterpret_cast<uint8_t*>(present.words()), &host, put_text, fail};
    if (!rows_.empty()) STRAND_OK(call(views, result, host, args));
    keep_asked(present, args, scope.length);
    if (text) return writer.finish(type_, present.take());
    return make_value(type_, scope.length, present.take(), std::move(values));
  }

 private:
  void list_rows(const Scope& scope, std::span<const Value> args) {
    rows_.clear();
    const auto add = [&](int64_t row) {
      rows_.push_back(static_cast<uint32_t>(row));
      return true;
    };
    if (function_->takes_null != 0) {
      scope.each(add);
    } else {
      each_present(scope, combined_validity(args, scope.length), add);
    }
  }

  /// There are no rows behind the last, and a function that takes no NULL gives NULL for it, whatever it
  /// sets.
  void keep_asked(Bits& present, std::span<const Value> args, int64_t length) const {
    if (length % 64 != 0) present.words()[length / 64] &= (uint64_t{1} << (length % 64)) - 1;
    const BufferPtr asked = function_->takes_null != 0 ? nullptr : combined_validity(args, length);
    if (!asked) return;
    const WordReader words(asked->data(), 0);
    for (int64_t w = 0; w < present.count(); ++w) present.words()[w] &= words[w];
  }

  Status call(const std::vector<strand_column>& views, strand_result& result, Host& host,
              std::span<const Value> args) {
    int code = 0;
    std::string thrown;
    try {
      code = function_->call(views.data(), {rows_.data(), rows_.size()}, &result);
    } catch (const std::exception& e) {
      thrown = reason_of(e.what());
    } catch (...) {
      thrown = "something that is no std::exception";
    }
    if (!thrown.empty()) {
      return Status(ErrorCode::kFunctionThrew, name_ + " has thrown: " + thrown)
          .hint("let it catch what it throws, and tell a row without result with strand_fail");
    }
    if (host.failed >= 0) return row_error(ErrorCode::kBadValue, host.error, name_, args, host.failed);
    if (code == 0) return Status();
    return Status(ErrorCode::kBadValue,
                  name_ + " has failed with " + std::to_string(code) + " and does not say why")
        .hint("let it tell the row and the reason with strand_fail");
  }

  std::string name_;
  const strand_function* function_;
  TypePtr type_;
  std::vector<uint32_t> rows_;
};

Result<NodePtr> build_library_call(const Expr& e, Nodes args, const Environment&) {
  const LibraryFunction function{*literal_text(*e.args[0]), *literal_text(*e.args[1]),
                                 *literal_text(*e.args[2])};
  STRAND_TRY(const strand_function* found, load(function));
  args.erase(args.begin(), args.begin() + kLibraryCallHead);
  return make_call(e.type, std::move(args), {.strict = found->takes_null == 0, .fails = true},
                   LibraryCall(function.name, *found, e.type));
}

/// Only resolve_library_call makes calls.
Result<ExprPtr> resolve_written_call(const Function& function, Args) {
  return Status(ErrorCode::kUnknownFunction, "there is no function " + std::string(function.name));
}

constexpr Function kLibraryFunctions[] = {
    {.name = kLibraryCall, .params = "tttl[a*", .build = build_library_call, .resolve = resolve_written_call},
};

}  // namespace

std::span<const Function> library_functions() { return kLibraryFunctions; }

Status check_library_function(const LibraryFunction& function) {
  const auto found = load(function);
  return found.ok() ? Status() : found.status();
}

Result<ExprPtr> resolve_library_call(const LibraryFunction& function, std::vector<ExprPtr> args) {
  STRAND_TRY(const strand_function* found, load(function));
  if (args.size() != found->argument_count) {
    return Status(ErrorCode::kUnknownFunction, function.name + " takes " +
                                                   std::to_string(found->argument_count) +
                                                   (found->argument_count == 1 ? " argument" : " arguments") +
                                                   ", found " + std::to_string(args.size()))
        .hint("it is " + function.name + parameters(*found));
  }
  const TypePtr text = columnar::make_type(TypeKind::kString, false);
  std::vector<ExprPtr> all = {
      literal(function.name, text), literal(function.path, text), literal(function.entry, text),
      literal(int64_t{found->revision}, columnar::make_type(TypeKind::kBigInt, false))};
  for (size_t i = 0; i < args.size(); ++i) {
    const TypePtr type = type_of(found->arguments[i]);
    if (!is_null_literal(*args[i]) && !widens(*args[i]->type, *type))
      return does_not_take(function.name, args,
                           "it is " + function.name + parameters(*found) + ": CAST the arguments");
    all.push_back(coerce(args[i], type));
  }
  return call(std::string(kLibraryCall), std::move(all), type_of(found->result));
}

}  // namespace strand::expr
