// SHOW and DESCRIBE: what they answer.
#pragma once

#include "sql/binder.h"
#include "sql/compile.h"

namespace strand::sql {

Result<Shown> show(const ast::Show& show, const Catalog& catalog);
/// DESCRIBE, and SHOW COLUMNS of the names that `like` lets through.
Result<Shown> describe(const std::string& table, const Place& place,
                       const std::optional<ast::NameFilter>& like, const Catalog& catalog, Binder& binder);
/// SET without a key.
Shown show_settings(const Session& session);

}  // namespace strand::sql
