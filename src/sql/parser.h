// SQL text to statements.
#pragma once

#include <vector>

#include "base/status.h"
#include "sql/ast.h"
#include "sql/catalog_file.h"
#include "sql/source_text.h"

namespace strand::sql {

inline constexpr size_t kTextBytesMax = 8 << 20;       // a whole file
inline constexpr size_t kStatementBytesMax = 1 << 20;  // one statement
inline constexpr int kNestingMax = 200;                // brackets, operators and subqueries inside each other
inline constexpr int kChainMax = 1'000;                // a || b || c …
/// Of an operand that is written once and stands for several: of BETWEEN, of CASE.
inline constexpr size_t kCopiedPartsMax = 1'000;

/// The statements of a script, in order. `source` outlives them. Errors: kSyntax, kUnsupportedSql,
/// kLimitExceeded.
/// `files`: catalogs that lie in files, and what the script has left of them. Errors of those: kBadCatalog.
Result<std::vector<ast::Statement>> parse_script(const SourceText& source, CatalogFiles& files);
/// Without files.
Result<std::vector<ast::Statement>> parse_script(const SourceText& source);
/// One expression (a watermark of a profile).
Result<ast::ExprPtr> parse_expression(const SourceText& source);

}  // namespace strand::sql
