#include "expr/json_path.h"

#include <charconv>

namespace strand::expr {

/// Reads the steps of a path from front to back.
class JsonPath::Reader {
 public:
  Reader(std::string_view text, JsonPath& path) : text_(text), path_(path) {}

  bool run() {
    if (!text_.starts_with('$')) return false;
    text_.remove_prefix(1);
    while (!text_.empty()) {
      Step step;
      if (text_.starts_with("..")) {
        step.deep = true;
        text_.remove_prefix(2);
        if (!text_.starts_with('[')) {
          if (!name(step)) return false;
        } else if (!brackets(step)) {
          return false;
        }
      } else if (text_.starts_with('.')) {
        text_.remove_prefix(1);
        if (text_.starts_with('[') ? !brackets(step) : !name(step)) return false;
      } else if (!text_.starts_with('[') || !brackets(step)) {
        return false;
      }
      const bool one = step.kind == Step::Kind::kNames
                           ? step.names.size() == 1
                           : step.kind == Step::Kind::kIndices && step.indices.size() == 1;
      path_.definite_ = path_.definite_ && one && !step.deep;
      path_.steps_.push_back(std::move(step));
    }
    return true;
  }

 private:
  bool name(Step& step) {
    const size_t end = std::min(text_.find_first_of(".["), text_.size());
    const std::string_view found = text_.substr(0, end);
    text_.remove_prefix(end);
    if (found.empty()) return false;
    if (found == "*") return true;
    step.kind = Step::Kind::kNames;
    step.names.emplace_back(found);
    return true;
  }

  void skip_blank() {
    while (text_.starts_with(' ')) text_.remove_prefix(1);
  }
  bool take(char c) {
    skip_blank();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }

  bool quoted(Step& step) {
    const char quote = text_[0];
    const size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) return false;
    step.kind = Step::Kind::kNames;
    step.names.emplace_back(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return true;
  }

  std::optional<int64_t> number() {
    skip_blank();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) return std::nullopt;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return value;
  }

  bool brackets(Step& step) {
    text_.remove_prefix(1);
    if (take('*')) return take(']');
    do {
      skip_blank();
      if (text_.starts_with('\'') || text_.starts_with('"')) {
        if (!quoted(step)) return false;
        continue;
      }
      const auto index = number();
      if (take(':')) {
        step.kind = Step::Kind::kSlice;
        step.from = index;
        step.to = number();
        return take(']');
      }
      if (!index) return false;
      step.kind = Step::Kind::kIndices;
      step.indices.push_back(*index);
    } while (take(','));
    return take(']');
  }

  std::string_view text_;
  JsonPath& path_;
};

namespace {

bool take_mode(std::string_view& text, std::string_view mode) {
  std::string_view rest = text;
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  if (rest.size() <= mode.size()) return false;
  for (size_t i = 0; i < mode.size(); ++i) {
    if ((rest[i] | 0x20) != mode[i]) return false;
  }
  rest.remove_prefix(mode.size());
  if (!rest.starts_with(' ')) return false;
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  text = rest;
  return true;
}

}  // namespace

std::optional<JsonPath> JsonPath::parse(std::string_view text) {
  JsonPath path;
  path.lax_ = take_mode(text, "lax");
  if (!path.lax_) take_mode(text, "strict");
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (!Reader(text, path).run()) return std::nullopt;
  return path;
}

void JsonPath::apply(const Step& step, const JsonValue& value, std::vector<const JsonValue*>& out) {
  const auto size = static_cast<int64_t>(value.items.size());
  const auto at = [&](int64_t index) { return index < 0 ? index + size : index; };
  switch (step.kind) {
    case Step::Kind::kAll:
      for (const JsonValue& item : value.items) out.push_back(&item);
      for (const auto& [name, member] : value.members) out.push_back(&member);
      break;
    case Step::Kind::kNames:
      for (const std::string& name : step.names) {
        if (const JsonValue* member = value.member(name)) out.push_back(member);
      }
      break;
    case Step::Kind::kIndices:
      for (const int64_t index : step.indices) {
        if (at(index) >= 0 && at(index) < size) out.push_back(&value.items[static_cast<size_t>(at(index))]);
      }
      break;
    case Step::Kind::kSlice: {
      const int64_t from = std::max<int64_t>(step.from ? at(*step.from) : 0, 0);
      const int64_t to = std::min(step.to ? at(*step.to) : size, size);
      for (int64_t i = from; i < to; ++i) out.push_back(&value.items[static_cast<size_t>(i)]);
      break;
    }
  }
}

void JsonPath::apply_deep(const Step& step, const JsonValue& value, std::vector<const JsonValue*>& out) {
  apply(step, value, out);
  for (const JsonValue& item : value.items) apply_deep(step, item, out);
  for (const auto& [name, member] : value.members) apply_deep(step, member, out);
}

std::optional<JsonValue> JsonPath::read(const JsonValue& root) const {
  std::vector<const JsonValue*> found = {&root};
  for (const Step& step : steps_) {
    std::vector<const JsonValue*> next;
    for (const JsonValue* value : found)
      step.deep ? apply_deep(step, *value, next) : apply(step, *value, next);
    found = std::move(next);
  }
  if (definite_) return found.empty() ? std::nullopt : std::optional<JsonValue>(*found[0]);
  JsonValue all;
  all.kind = JsonValue::Kind::kArray;
  for (const JsonValue* value : found) all.items.push_back(*value);
  return all;
}

}  // namespace strand::expr
