#include "expr/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <re2/re2.h>

#include <algorithm>

#include "expr/java_pattern.h"

namespace strand::expr {

using std::string_view;

namespace {

constexpr uint32_t kStepsMax = 10'000'000;
constexpr uint32_t kHeapMaxKib = 64 * 1024;

/// Line feed, vertical tab, form feed, carriage return.
bool has_line_end(string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= '\n' && c <= '\r'; });
}
bool is_ascii(string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
}

}  // namespace

class Pattern::Linear {
 public:
  explicit Linear(string_view pattern) : regexp_({pattern.data(), pattern.size()}, quiet()) {}
  bool ok() const { return regexp_.ok(); }
  int groups() const { return regexp_.NumberOfCapturingGroups(); }
  bool find(string_view text, size_t from, std::vector<string_view>& found) {
    pieces_.resize(found.size());
    if (!regexp_.Match({text.data(), text.size()}, from, text.size(), RE2::UNANCHORED, pieces_.data(),
                       static_cast<int>(pieces_.size())))
      return false;
    for (size_t i = 0; i < found.size(); ++i) found[i] = string_view(pieces_[i].data(), pieces_[i].size());
    return true;
  }

 private:
  static RE2::Options quiet() {
    RE2::Options options;
    options.set_log_errors(false);
    return options;
  }
  RE2 regexp_;
  std::vector<re2::StringPiece> pieces_;
};

class Pattern::Backtracking {
 public:
  Backtracking(const std::string& pattern, bool unicode_classes) {
    int error = 0;
    PCRE2_SIZE at = 0;
    compile_.reset(pcre2_compile_context_create(nullptr));
    pcre2_set_newline(compile_.get(), PCRE2_NEWLINE_ANYCRLF);
    const uint32_t options =
        PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C | (unicode_classes ? PCRE2_UCP : 0);
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options, &error,
                              &at, compile_.get()));
    if (code_ == nullptr) return;
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // where it cannot, pcre2_match interprets
    match_.reset(pcre2_match_context_create(nullptr));
    pcre2_set_match_limit(match_.get(), kStepsMax);
    pcre2_set_heap_limit(match_.get(), kHeapMaxKib);
    data_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
    uint32_t groups = 0;
    pcre2_pattern_info(code_.get(), PCRE2_INFO_CAPTURECOUNT, &groups);
    groups_ = static_cast<int>(groups);
  }
  bool ok() const { return data_ != nullptr; }
  int groups() const { return groups_; }
  bool find(string_view text, size_t from, std::vector<string_view>& found) {
    int matched = run(text, from, 0);
    if (matched == PCRE2_ERROR_JIT_STACKLIMIT) matched = run(text, from, PCRE2_NO_JIT);
    if (matched < 0) return false;
    const PCRE2_SIZE* places = pcre2_get_ovector_pointer(data_.get());
    for (size_t i = 0; i < found.size(); ++i) {
      const bool set = i < static_cast<size_t>(matched) && places[2 * i] != PCRE2_UNSET;
      found[i] = set ? text.substr(places[2 * i], places[2 * i + 1] - places[2 * i]) : string_view();
    }
    return true;
  }

 private:
  int run(string_view text, size_t from, uint32_t options) {
    return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from, options,
                       data_.get(), match_.get());
  }

  template <auto Free>
  struct Deleter {
    template <class T>
    void operator()(T* p) const {
      Free(p);
    }
  };
  std::unique_ptr<pcre2_compile_context, Deleter<pcre2_compile_context_free>> compile_;
  std::unique_ptr<pcre2_code, Deleter<pcre2_code_free>> code_;
  std::unique_ptr<pcre2_match_context, Deleter<pcre2_match_context_free>> match_;
  std::unique_ptr<pcre2_match_data, Deleter<pcre2_match_data_free>> data_;
  int groups_ = 0;
};

Pattern::Pattern() = default;
Pattern::~Pattern() = default;

std::unique_ptr<Pattern> Pattern::compile(string_view text) {
  std::optional<JavaPattern> java = read_java_pattern(text);
  if (!java) return nullptr;
  std::unique_ptr<Pattern> pattern(new Pattern());
  pattern->pcre_ = std::move(java->pcre);
  pattern->unicode_classes_ = java->unicode_classes;
  pattern->lines_ = java->lines;
  pattern->words_ = java->words;
  if (!java->differs) pattern->linear_ = std::make_unique<Linear>(text);
  if (pattern->linear_ != nullptr && pattern->linear_->ok()) return pattern;
  pattern->linear_.reset();
  pattern->backtracking_ = std::make_unique<Backtracking>(pattern->pcre_, pattern->unicode_classes_);
  return pattern->backtracking_->ok() ? std::move(pattern) : nullptr;
}

int Pattern::groups() const { return linear_ != nullptr ? linear_->groups() : backtracking_->groups(); }

bool Pattern::find(string_view text, size_t from, std::vector<string_view>& found) {
  if (text.data() == nullptr) text = string_view("", 0);
  if (linear_ != nullptr && !(lines_ && has_line_end(text)) && !(words_ && !is_ascii(text)))
    return linear_->find(text, from, found);
  if (backtracking_ == nullptr) backtracking_ = std::make_unique<Backtracking>(pcre_, unicode_classes_);
  return backtracking_->ok() && backtracking_->find(text, from, found);
}

}  // namespace strand::expr
