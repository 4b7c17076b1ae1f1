#include "connect/table/names.h"

namespace strand::connect::table {

std::string quoted(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string joined(const std::vector<std::string>& parts, const std::string& separator,
                   const std::string& suffix) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part + suffix;
  return text;
}

WriterNames::WriterNames(const WriterSpec& spec)
    : table(quoted(spec.table)),
      ckpt(quoted(spec.writer + "_ckpt")),
      gen(quoted(spec.writer + "_gen")),
      attempt(quoted(spec.writer + "_attempt")),
      ix(quoted(spec.writer + "_ix")) {
  for (const columnar::Field& field : spec.key->fields()) key.push_back(quoted(field.name));
  for (const columnar::Field& field : spec.values->fields()) values.push_back(quoted(field.name));
}

}  // namespace strand::connect::table
