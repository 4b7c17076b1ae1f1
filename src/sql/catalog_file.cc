#include "sql/catalog_file.h"

#include <sstream>

#include "base/hash.h"

namespace strand::sql {

namespace {

constexpr std::string_view kBegin = "-- strandline catalog ";
constexpr std::string_view kVersion = "1";

Status bad_catalog(const std::string& path, const std::string& what, const std::string& hint) {
  return Status(ErrorCode::kBadCatalog, what).at(path).hint(hint);
}

}  // namespace

std::string catalog_file(const std::string& catalog, const std::string& statements) {
  // A name with a line end in it would end the line.
  return std::string(kBegin) + std::string(kVersion) + " " + content_hash(catalog + "\n" + statements) +
         "\n" + statements;
}

Result<std::string> statements_of(const std::string& file, const std::string& path,
                                  const std::string& catalog) {
  const size_t end = file.find('\n');
  if (!file.starts_with(kBegin) || end == std::string::npos) {
    return bad_catalog(path, "expected the file of a catalog, found another one",
                       "name a file that CREATE CATALOG has made, or one that is not there yet");
  }
  std::istringstream line(file.substr(kBegin.size(), end - kBegin.size()));
  std::string version;
  std::string sum;
  line >> version >> sum;
  if (version != kVersion) {
    return bad_catalog(
        path, "expected version " + std::string(kVersion) + " of a catalog's file, found '" + version + "'",
        "read it with the version of strandline that has written it");
  }
  if (sum != content_hash(catalog + "\n" + file.substr(end + 1))) {
    return bad_catalog(path, "the file is damaged, or of a catalog that is not called '" + catalog + "'",
                       "put a copy back, or open it under the name that it was made with");
  }
  return std::string(end, ' ') + file.substr(end);
}

}  // namespace strand::sql
