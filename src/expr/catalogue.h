// The functions of Flink 2.3, and which of them there are here.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace strand::expr {

struct CatalogueEntry {
  std::string_view family;
  std::string_view name;  // as Flink's documentation calls it
  std::string_view
      call;  // the registry's name where it is another; `-`: not a scalar function of the registry
};

std::span<const CatalogueEntry> catalogue();
/// Whether the registry has it.
bool has_function(const CatalogueEntry& entry);
/// docs/sql/functions.md.
std::string catalogue_text();

}  // namespace strand::expr
