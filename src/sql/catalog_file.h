// Catalogs that lie in files.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "sql/source_text.h"

namespace strand::sql {

/// A catalog that a script has opened from a file, and what stands in it behind the script's statements. The
/// parser keeps names of databases and functions; those of tables and views come with compile().
struct OpenCatalog {
  std::string name;
  std::string path;
  std::optional<std::string> before;         // the file as it was read; none: it was not there
  std::vector<std::string> statements = {};  // CREATE DATABASE and CREATE FUNCTION
  std::unique_ptr<SourceText> text = {};     // places of its statements lead here
};

/// The files of a script's catalogs. Outlives the statements that were parsed with it.
struct CatalogFiles {
  /// The content of a file, or nothing where there is none.
  using Read = std::function<Result<std::optional<std::string>>(const std::string& path)>;
  Read read = {};  // not set: catalogs of files are refused
  std::vector<OpenCatalog> open = {};
};

/// The file of a catalog: a line with a check sum, and the statements that make the catalog.
std::string catalog_file(const std::string& catalog, const std::string& statements);
/// The statements of the file, with blanks for its first line. Errors: kBadCatalog.
Result<std::string> statements_of(const std::string& file, const std::string& path,
                                  const std::string& catalog);

}  // namespace strand::sql
