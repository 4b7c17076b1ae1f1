#include "sql/unparse.h"

#include <algorithm>
#include <array>

#include "sql/full_name.h"
#include "sql/parser_core.h"

namespace strand::sql {

namespace {

template <class List, class F>
std::string join(const List& list, const std::string& separator, F&& text) {
  std::string all;
  bool first = true;
  for (const auto& item : list) {
    all += (first ? "" : separator) + text(item);
    first = false;
  }
  return all;
}

std::string quoted(const std::string& text, char quote) {
  std::string all(1, quote);
  for (const char c : text) all += c == quote ? std::string(2, quote) : std::string(1, c);
  return all + quote;
}

/// Words with a meaning where a name could begin.
bool is_word_of_its_own(std::string_view upper) {
  static constexpr std::array kWords = {
      "ARRAY",    "CONSTRAINT", "CURRENT_DATE",   "CURRENT_TIME", "CURRENT_TIMESTAMP",
      "DISTINCT", "FALSE",      "GROUPING",       "IF",           "INTERVAL",
      "LATERAL",  "LOCALTIME",  "LOCALTIMESTAMP", "MAP",          "NULL",
      "PERMUTE",  "PRIMARY",    "SUBSET",         "TABLE",        "TRUE",
      "UNIQUE",   "UNKNOWN",    "UNNEST",         "WATERMARK"};
  return std::ranges::find(kWords, upper) != kWords.end();
}

}  // namespace

std::string identifier_to_sql(const std::string& text) {
  std::string upper(text);
  bool plain = !text.empty() && !(text[0] >= '0' && text[0] <= '9');
  for (char& c : upper) {
    plain = plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '$');
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return plain && !is_clause_word(upper) && !is_word_of_its_own(upper) ? text : quoted(text, '`');
}

namespace {

std::string name(const std::string& text) { return identifier_to_sql(text); }
std::string names(const std::vector<std::string>& list) { return join(list, ", ", name); }

std::string expr_text(const ast::ExprPtr& e) { return to_sql(*e); }

std::string frame_text(const ast::Frame& frame) {
  const bool current = frame.preceding && frame.preceding->text == "0";
  const std::string start = !frame.preceding ? "UNBOUNDED PRECEDING"
                            : current        ? "CURRENT ROW"
                                             : to_sql(*frame.preceding) + " PRECEDING";
  return std::string(frame.range ? "RANGE" : "ROWS") + " BETWEEN " + start + " AND CURRENT ROW";
}

std::string order_text(const std::vector<ast::OrderItem>& order) {
  return join(order, ", ", [](const ast::OrderItem& item) {
    const std::string nulls = !item.nulls_last ? "" : *item.nulls_last ? " NULLS LAST" : " NULLS FIRST";
    return to_sql(*item.expr) + (item.descending ? " DESC" : "") + nulls;
  });
}

std::string over_text(const ast::Over& over) {
  if (!over.window.empty()) return name(over.window);
  std::string text = "(";
  if (!over.partition_by.empty()) text += "PARTITION BY " + join(over.partition_by, ", ", expr_text);
  if (!over.order_by.empty())
    text += (over.partition_by.empty() ? "ORDER BY " : " ORDER BY ") + order_text(over.order_by);
  if (over.frame) text += (text.size() > 1 ? " " : "") + frame_text(*over.frame);
  return text + ")";
}

std::string hex_text(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  }
  return out;
}

/// SQL/JSON calls: their words are texts among the arguments.
std::string json_text(const ast::Expr& e) {
  const auto& args = e.args;
  const auto part = [&](size_t i) { return to_sql(*args[i]); };
  const auto behavior = [&](size_t i) {
    const std::string& word = args[i]->text;
    return " " + word + (word == "DEFAULT" ? " " + part(i + 1) : "") + " ON ";
  };
  if (e.text == "JSON_OBJECT" || e.text == "JSON_ARRAY") {
    std::string text = e.text + "(";
    const bool object = e.text == "JSON_OBJECT";
    for (size_t i = 1; i < args.size(); ++i) {
      const bool value = object && i % 2 == 0;
      text += (i == 1 ? "" : value ? " VALUE " : ", ") + part(i);
    }
    return text + " " + args[0]->text + " ON NULL)";
  }
  std::string text = e.text + "(" + part(0) + ", " + part(1);
  if (e.text == "JSON_EXISTS") return text + behavior(2) + "ERROR)";
  text += " RETURNING " + columnar::to_string(*args[2]->type);
  if (e.text == "JSON_VALUE") return text + behavior(3) + "EMPTY" + behavior(5) + "ERROR)";
  const std::string& wrapper = args[3]->text;
  return text + (wrapper == "WITHOUT" ? " WITHOUT" : " WITH " + wrapper) + " WRAPPER" + behavior(4) +
         "EMPTY" + behavior(5) + "ERROR)";
}

/// What stands between the brackets of JSON_OBJECTAGG and JSON_ARRAYAGG.
std::string json_aggregate_text(const std::vector<ast::ExprPtr>& args) {
  const std::vector<ast::ExprPtr> values(args.begin(), args.end() - 1);
  return join(values, " VALUE ", expr_text) + " " + args.back()->text + " ON NULL";
}

/// Calls that are not written as `NAME(argument, …)`; empty for the others.
std::string special_text(const ast::Expr& e) {
  const auto& args = e.args;
  if ((e.text == "ARRAY" || e.text == "MAP") && !args.empty() && args[0]->kind != ast::Expr::Kind::kStar)
    return e.text + "[" + join(args, ", ", expr_text) + "]";
  if (e.text == "GET_FIELD" && args.size() == 2 && args[1]->kind == ast::Expr::Kind::kString)
    return "(" + to_sql(*args[0]) + ")." + name(args[1]->text);
  if (e.text == "IS JSON" || e.text == "IS NOT JSON")
    return "(" + to_sql(*args[0]) + " " + e.text + " " + args[1]->text + ")";
  if (e.text == "TIME_BETWEEN" && args.size() == 3)
    return "(" + to_sql(*args[1]) + " - " + to_sql(*args[2]) + ") " + args[0]->text;
  if (e.text == "OVERLAPS" && args.size() == 4) {
    return "((" + to_sql(*args[0]) + ", " + to_sql(*args[1]) + ") OVERLAPS (" + to_sql(*args[2]) + ", " +
           to_sql(*args[3]) + "))";
  }
  if (e.text == "SIMILAR" && args.size() > 1) {
    return "(" + to_sql(*args[0]) + " SIMILAR TO " + to_sql(*args[1]) +
           (args.size() > 2 ? " ESCAPE " + to_sql(*args[2]) : "") + ")";
  }
  const bool json = e.text == "JSON_OBJECT" || e.text == "JSON_ARRAY" || e.text == "JSON_VALUE" ||
                    e.text == "JSON_QUERY" || e.text == "JSON_EXISTS";
  return json ? json_text(e) : "";
}

std::string call_text(const ast::Expr& e) {
  const auto& args = e.args;
  if (e.own) return name_to_sql(e.text) + "(" + join(args, ", ", expr_text) + ")";
  if (std::string special = special_text(e); !special.empty()) return special;
  const auto is_sign = [&] {
    return std::string_view("+-*/%=<>|").find(e.text[0]) != std::string_view::npos;
  };
  if (e.text == "NOT") return "(NOT " + to_sql(*args[0]) + ")";
  if (e.text.starts_with("IS ") && args.size() == 1) return "(" + to_sql(*args[0]) + " " + e.text + ")";
  if (e.text == "EXISTS") return "EXISTS " + to_sql(*args[0]);
  if (e.text == "IN" && args[1]->kind == ast::Expr::Kind::kSubquery)
    return "(" + to_sql(*args[0]) + " IN " + to_sql(*args[1]) + ")";
  if (e.text == "IN") {
    const std::vector<ast::ExprPtr> values(args.begin() + 1, args.end());
    return "(" + to_sql(*args[0]) + " IN (" + join(values, ", ", expr_text) + "))";
  }
  if (e.text == "LIKE" && args.size() == 3) {
    return "(" + to_sql(*args[0]) + " LIKE " + to_sql(*args[1]) + " ESCAPE " + to_sql(*args[2]) + ")";
  }
  if (e.text == "EXTRACT") return "EXTRACT(" + args[0]->text + " FROM " + to_sql(*args[1]) + ")";
  if ((e.text == "FLOOR" || e.text == "CEIL") && args.size() == 2)
    return e.text + "(" + to_sql(*args[0]) + " TO " + args[1]->text + ")";
  if (e.text == "TIMESTAMPDIFF" || e.text == "TIMESTAMPADD") {
    const std::vector<ast::ExprPtr> rest(args.begin() + 1, args.end());
    return e.text + "(" + args[0]->text + ", " + join(rest, ", ", expr_text) + ")";
  }
  if (e.text == "POSITION" && args.size() == 2)
    return "POSITION(" + to_sql(*args[0]) + " IN " + to_sql(*args[1]) + ")";
  if (e.text == "ITEM" && args.size() == 2) return to_sql(*args[0]) + "[" + to_sql(*args[1]) + "]";
  const bool infix = e.text == "AND" || e.text == "OR" || e.text == "LIKE" ||
                     e.text.ends_with("DISTINCT FROM") || (!e.text.empty() && is_sign());
  if (infix && args.size() == 1) {
    const bool number = args[0]->kind == ast::Expr::Kind::kNumber && !args[0]->text.starts_with('-');
    // A sign and a number are one literal.
    const std::string operand = number ? "(" + args[0]->text + ")" : to_sql(*args[0]);
    // Two minus signs are a comment.
    return "(" + e.text + (operand.starts_with('-') ? " " : "") + operand + ")";
  }
  if (e.text == "TRIM" && args.size() == 2)
    return "TRIM(BOTH " + to_sql(*args[1]) + " FROM " + to_sql(*args[0]) + ")";
  if (infix && !args.empty()) return "(" + join(args, " " + e.text + " ", expr_text) + ")";
  if (args.empty() && (e.text.starts_with("CURRENT_") || e.text.starts_with("LOCALTIME")) &&
      e.text != "CURRENT_WATERMARK")
    return e.text;
  const bool json = e.text == "JSON_OBJECTAGG" || e.text == "JSON_ARRAYAGG";
  std::string text = e.text + "(" + (e.distinct ? "DISTINCT " : "") +
                     (json ? json_aggregate_text(args) : join(args, ", ", expr_text)) + ")";
  if (e.filter) text += " FILTER (WHERE " + to_sql(*e.filter) + ")";
  return e.over ? text + " OVER " + over_text(*e.over) : text;
}

std::string case_text(const ast::Expr& e) {
  std::string text = "CASE";
  for (size_t i = 0; i + 1 < e.args.size(); i += 2)
    text += " WHEN " + to_sql(*e.args[i]) + " THEN " + to_sql(*e.args[i + 1]);
  return text + " ELSE " + to_sql(*e.args.back()) + " END";
}

std::string hints_text(const std::vector<ast::Hint>& hints) {
  if (hints.empty()) return "";
  const auto option = [](const ast::HintOption& each) {
    return quoted(each.key, '\'') + (each.value.empty() ? "" : " = " + quoted(each.value, '\''));
  };
  const auto hint = [&](const ast::Hint& each) {
    return each.name + (each.options.empty() ? "" : "(" + join(each.options, ", ", option) + ")");
  };
  return " /*+ " + join(hints, ", ", hint) + " */";
}

std::string partition_text(const ast::WindowCall& call) {
  if (call.partition_by.empty()) return "";
  const auto column = [](const auto& each) { return name(each.first); };
  return " PARTITION BY (" + join(call.partition_by, ", ", column) + ")";
}

std::string table_text(const ast::TableRef& table);

std::string using_text(const ast::Join& tables) {
  if (tables.common.empty()) return "";
  return " USING (" + join(tables.common, ", ", [](const auto& each) { return name(each.first); }) + ")";
}

std::string join_text(const ast::Join& join) {
  static constexpr const char* kWords[] = {"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"};
  const bool crossed = !join.condition && !join.natural && join.common.empty();
  const std::string word = std::string(join.natural ? "NATURAL " : "") +
                           (crossed ? "CROSS JOIN" : kWords[static_cast<size_t>(join.kind)]);
  const bool nested = std::holds_alternative<ast::Join>(join.right->source);
  const std::string right = nested ? "(" + table_text(*join.right) + ")" : table_text(*join.right);
  return table_text(*join.left) + " " + word + " " + right +
         (join.condition ? " ON " + to_sql(*join.condition) : using_text(join));
}

std::string variable_text(const ast::Match::Variable& variable) {
  if (variable.min == 1 && variable.max == 1) return name(variable.name);
  return name(variable.name) + "{" + std::to_string(variable.min) + "," +
         (variable.max ? std::to_string(*variable.max) : "") + "}" + (variable.reluctant ? "?" : "");
}

std::string match_text(const ast::Match& match) {
  const auto measure = [](const ast::SelectItem& each) {
    return to_sql(*each.expr) + " AS " + name(*each.alias);
  };
  const auto definition = [](const ast::Match::Definition& each) {
    return name(each.variable) + " AS " + to_sql(*each.condition);
  };
  static constexpr const char* kSkips[] = {"PAST LAST ROW", "TO NEXT ROW", "TO FIRST ", "TO LAST "};
  std::string text = table_text(*match.table) + " MATCH_RECOGNIZE (";
  if (!match.partition_by.empty()) text += "PARTITION BY " + join(match.partition_by, ", ", expr_text) + " ";
  if (!match.order_by.empty()) text += "ORDER BY " + order_text(match.order_by) + " ";
  if (!match.measures.empty()) text += "MEASURES " + join(match.measures, ", ", measure) + " ";
  text += "AFTER MATCH SKIP " + std::string(kSkips[static_cast<size_t>(match.skip)]) +
          (match.skip_to.empty() ? "" : name(match.skip_to)) + " PATTERN (" +
          join(match.pattern, " ", variable_text) + ")";
  if (match.within) text += " WITHIN " + to_sql(*match.within);
  return text + " DEFINE " + join(match.definitions, ", ", definition) + ")";
}

std::string table_text(const ast::TableRef& table) {
  std::string text;
  if (const auto* plain = std::get_if<std::string>(&table.source)) {
    text = name_to_sql(*plain);
  } else if (const auto* query = std::get_if<ast::QueryPtr>(&table.source)) {
    text = (table.lateral ? "LATERAL (" : "(") + to_sql(**query) + ")";
  } else if (const auto* match = std::get_if<ast::Match>(&table.source)) {
    text = match_text(*match);
  } else if (const auto* unnest = std::get_if<ast::Unnest>(&table.source)) {
    text = "UNNEST(" + to_sql(*unnest->collection) + ")" + (unnest->ordinality ? " WITH ORDINALITY" : "");
  } else if (const auto* joined = std::get_if<ast::Join>(&table.source)) {
    return join_text(*joined);
  } else {
    const auto& call = std::get<ast::WindowCall>(table.source);
    const bool of_query = std::holds_alternative<ast::QueryPtr>(call.table->source);
    text = "TABLE(" + call.function + (of_query ? "(" : "(TABLE ") + table_text(*call.table) +
           partition_text(call) + ", DESCRIPTOR(" + name(call.column) + "), " +
           join(call.intervals, ", ", expr_text) + "))";
  }
  text += hints_text(table.hints);
  if (table.as_of) text += " FOR SYSTEM_TIME AS OF " + to_sql(*table.as_of);
  if (table.alias) text += " AS " + name(*table.alias);
  return table.columns.empty() ? text : text + " (" + names(table.columns) + ")";
}

std::string grouping_text(const ast::Select& select) {
  if (select.grouping_sets.empty())
    return select.group_by.empty() ? "()" : join(select.group_by, ", ", expr_text);
  return "GROUPING SETS (" +
         join(select.grouping_sets, ", ",
              [](const auto& set) { return "(" + join(set, ", ", expr_text) + ")"; }) +
         ")";
}

std::string select_text(const ast::Select& select) {
  const auto item = [](const ast::SelectItem& each) {
    return to_sql(*each.expr) + (each.alias ? " AS " + name(*each.alias) : "");
  };
  std::string text = "SELECT" + hints_text(select.hints) + (select.distinct ? " DISTINCT " : " ") +
                     join(select.items, ", ", item);
  if (select.from) text += " FROM " + table_text(*select.from);
  if (select.where) text += " WHERE " + to_sql(*select.where);
  if (select.grouped) text += " GROUP BY " + grouping_text(select);
  if (select.having) text += " HAVING " + to_sql(*select.having);
  const auto window = [](const auto& each) { return name(each.first) + " AS " + over_text(*each.second); };
  if (!select.windows.empty()) text += " WINDOW " + join(select.windows, ", ", window);
  if (select.qualify) text += " QUALIFY " + to_sql(*select.qualify);
  return text;
}

std::string column_text(const ast::ColumnDefinition& column) {
  std::string text = name(column.name) + " ";
  if (column.kind == ast::ColumnDefinition::Kind::kComputed) return text + "AS " + to_sql(*column.computed);
  text += columnar::to_string(*column.type);
  if (column.kind == ast::ColumnDefinition::Kind::kMetadata) {
    text += " METADATA FROM " + quoted(column.metadata_key, '\'') + (column.is_virtual ? " VIRTUAL" : "");
  }
  return text;
}

std::string insert_text(const ast::Insert& insert) {
  std::string text = "INSERT INTO " + name_to_sql(insert.table) + hints_text(insert.hints);
  if (!insert.partition.empty()) {
    text += " PARTITION (" +
            join(insert.partition, ", ",
                 [](const ast::Insert::Partition& part) {
                   return name(part.name) + (part.value ? " = " + to_sql(*part.value) : "");
                 }) +
            ")";
  }
  if (!insert.columns.empty())
    text += " (" + join(insert.columns, ", ", [](const auto& column) { return name(column.first); }) + ")";
  return text + " " + to_sql(*insert.query) + (insert.deduplicates ? " ON CONFLICT DO DEDUPLICATE" : "") +
         (insert.keeps_first ? " ON CONFLICT DO NOTHING" : "");
}

std::string elements_text(const ast::AlterTable& alter) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < alter.elements.columns.size(); ++i) {
    const std::optional<std::string>& after = alter.after[i];
    parts.push_back(column_text(alter.elements.columns[i]) + (!after           ? ""
                                                              : after->empty() ? " FIRST"
                                                                               : " AFTER " + name(*after)));
  }
  if (alter.elements.watermark) {
    parts.push_back("WATERMARK FOR " + name(*alter.elements.watermark_column) + " AS " +
                    to_sql(*alter.elements.watermark));
  }
  if (!alter.elements.primary_key.empty()) {
    parts.push_back("PRIMARY KEY (" + names(alter.elements.primary_key) + ") NOT ENFORCED");
  }
  return "(" + join(parts, ", ", [](const std::string& part) { return part; }) + ")";
}

std::string alter_text(const ast::AlterTable& alter) {
  const auto option = [&](const ast::Option& each) {
    const bool set = alter.kind == ast::AlterTable::Kind::kSet;
    return quoted(each.key, '\'') + (set ? " = " + quoted(each.value, '\'') : "");
  };
  switch (alter.kind) {
    case ast::AlterTable::Kind::kAdd:
      return " ADD " + elements_text(alter);
    case ast::AlterTable::Kind::kModify:
      return " MODIFY " + elements_text(alter);
    case ast::AlterTable::Kind::kRename:
      return alter.names.size() == 1 ? " RENAME TO " + identifier_to_sql(last_part(alter.names[0]))
                                     : " RENAME " + join(alter.names, " TO ", name);
    case ast::AlterTable::Kind::kDrop:
      return alter.drop_key         ? " DROP PRIMARY KEY"
             : alter.drop_watermark ? " DROP WATERMARK"
                                    : " DROP (" + names(alter.names) + ")";
    case ast::AlterTable::Kind::kSet:
      return " SET (" + join(alter.elements.options, ", ", option) + ")";
    case ast::AlterTable::Kind::kReset:
      return " RESET (" + join(alter.elements.options, ", ", option) + ")";
  }
  return "";
}

std::string like_text(const ast::TableLike& like) {
  static constexpr const char* kTakes[] = {" INCLUDING ", " EXCLUDING ", " OVERWRITING "};
  const auto part = [](ast::TableLike::Take take, const char* name) {
    return kTakes[static_cast<size_t>(take)] + std::string(name);
  };
  return " LIKE " + name_to_sql(like.table) + " (" +
         (part(like.constraints, "CONSTRAINTS") + part(like.generated, "GENERATED") +
          part(like.metadata, "METADATA") + part(like.watermarks, "WATERMARKS") +
          part(like.options, "OPTIONS"))
             .substr(1) +
         ")";
}

std::string create_text(const ast::CreateTable& table) {
  static constexpr const char* kWords[] = {"CREATE ", "REPLACE ", "CREATE OR REPLACE "};
  return kWords[static_cast<size_t>(table.replace)] +
         std::string(table.temporary ? "TEMPORARY TABLE " : "TABLE ") +
         std::string(table.if_not_exists ? "IF NOT EXISTS " : "") + name_to_sql(table.name);
}

std::string show_text(const ast::Show& show) {
  static constexpr const char* kWords[] = {
      "CATALOGS",      "CURRENT CATALOG", "DATABASES",      "CURRENT DATABASE", "TABLES",
      "VIEWS",         "FUNCTIONS",       "USER FUNCTIONS", "MODULES",          "JARS",
      "COLUMNS FROM ", "CREATE TABLE ",   "CREATE VIEW "};
  std::string text = "SHOW " + std::string(kWords[static_cast<size_t>(show.kind)]);
  if (show.kind >= ast::Show::Kind::kColumns) text += name_to_sql(show.name);
  if (!show.like) return text;
  return text + (show.like->negated ? " NOT" : "") + (show.like->any_case ? " ILIKE " : " LIKE ") +
         quoted(show.like->pattern, '\'');
}

struct StatementText {
  std::string operator()(const ast::SetStatement& set) const {
    return set.key.empty() ? "SET" : "SET " + quoted(set.key, '\'') + " = " + quoted(set.value, '\'');
  }
  std::string operator()(const ast::ResetStatement& reset) const {
    return reset.key ? "RESET " + quoted(*reset.key, '\'') : "RESET";
  }
  std::string operator()(const ast::CreateTable& table) const {
    std::string elements = join(table.columns, ", ", column_text);
    const auto add = [&](const std::string& element) {
      elements += (elements.empty() ? "" : ", ") + element;
    };
    if (table.watermark)
      add("WATERMARK FOR " + name(*table.watermark_column) + " AS " + to_sql(*table.watermark));
    if (!table.primary_key.empty()) add("PRIMARY KEY (" + names(table.primary_key) + ") NOT ENFORCED");
    for (const auto& [column, place] : table.order) add(name(column));
    std::string text = create_text(table) + (elements.empty() ? "" : " (" + elements + ")");
    std::string partitions;
    for (const auto& [column, place] : table.partitioned_by)
      partitions += (partitions.empty() ? "" : ", ") + name(column);
    if (!partitions.empty()) text += " PARTITIONED BY (" + partitions + ")";
    const auto option = [](const ast::Option& each) {
      return quoted(each.key, '\'') + " = " + quoted(each.value, '\'');
    };
    return text + (table.options.empty() ? "" : " WITH (" + join(table.options, ", ", option) + ")") +
           (table.like ? like_text(*table.like) : "") + (table.query ? " AS " + to_sql(*table.query) : "");
  }
  std::string operator()(const ast::Database& database) const { return database.words + name(database.name); }
  std::string operator()(const ast::AlterTable& alter) const {
    return std::string("ALTER TABLE ") + (alter.if_exists ? "IF EXISTS " : "") + name_to_sql(alter.name) +
           alter_text(alter);
  }
  std::string operator()(const ast::CreateView& view) const {
    return std::string(view.temporary ? "CREATE TEMPORARY VIEW " : "CREATE VIEW ") +
           (view.if_not_exists ? "IF NOT EXISTS " : "") + name_to_sql(view.name) +
           (view.columns.empty() ? "" : " (" + names(view.columns) + ")") + " AS " + to_sql(*view.query);
  }
  std::string operator()(const ast::Drop& drop) const {
    return std::string("DROP ") + (drop.temporary ? "TEMPORARY " : "") + (drop.view ? "VIEW " : "TABLE ") +
           (drop.if_exists ? "IF EXISTS " : "") + name_to_sql(drop.name);
  }
  std::string operator()(const ast::CreateFunction& create) const {
    return create.words + name_to_sql(create.name) + " AS " + quoted(create.function.entry, '\'') +
           " LANGUAGE CPP USING LIBRARY " + quoted(create.function.path, '\'');
  }
  std::string operator()(const ast::DropFunction& drop) const { return drop.words + name_to_sql(drop.name); }
  std::string operator()(const ast::Insert& insert) const { return insert_text(insert); }
  std::string operator()(const ast::StatementSet& set) const {
    return "EXECUTE STATEMENT SET BEGIN " +
           join(set.inserts, " ", [](const auto& each) { return insert_text(each.second) + ";"; }) + " END";
  }
  std::string operator()(const ast::Print& print) const { return to_sql(*print.query); }
  std::string operator()(const ast::Show& show) const { return show_text(show); }
  std::string operator()(const ast::Describe& describe) const {
    return "DESCRIBE " + name_to_sql(describe.name);
  }
  std::string operator()(const ast::Explain& explain) const {
    std::string text = to_sql(*explain.statement);
    if (text.starts_with("EXECUTE ")) text = text.substr(8);
    return std::string("EXPLAIN ") + (explain.json ? "JSON_EXECUTION_PLAN " : "") + text;
  }
  std::string operator()(const ast::OpenCatalog& catalog) const {
    return "CREATE CATALOG " + name(catalog.name) +
           " WITH ('type' = 'file', 'path' = " + quoted(catalog.path, '\'') + ")";
  }
  std::string operator()(const ast::DropDatabase& drop) const {
    return "DROP DATABASE " + name(drop.name) + (drop.cascade ? " CASCADE" : "");
  }
  std::string operator()(const ast::AlterView& view) const {
    return "ALTER VIEW " + name_to_sql(view.name) +
           (view.query ? " AS " + to_sql(*view.query) : " RENAME TO " + name_to_sql(view.new_name));
  }
};

}  // namespace

std::string to_sql(const ast::Expr& e) {
  switch (e.kind) {
    case ast::Expr::Kind::kName:
      return join(e.parts, ".", name);
    case ast::Expr::Kind::kStar:
      return e.parts.empty() ? "*" : name(e.parts[0]) + ".*";
    case ast::Expr::Kind::kNumber:
      return e.text;
    case ast::Expr::Kind::kBytes:
      return "x'" + hex_text(e.text) + "'";
    case ast::Expr::Kind::kString:
      return quoted(e.text, '\'');
    case ast::Expr::Kind::kBoolean:
      return e.number == 1 ? "TRUE" : "FALSE";
    case ast::Expr::Kind::kNull:
      return "NULL";
    case ast::Expr::Kind::kInterval:
      return "INTERVAL " + e.text;
    case ast::Expr::Kind::kDateTime: {
      using columnar::TypeKind;
      const char* word = e.type->kind == TypeKind::kDate   ? "DATE "
                         : e.type->kind == TypeKind::kTime ? "TIME "
                                                           : "TIMESTAMP ";
      return word + quoted(e.text, '\'');
    }
    case ast::Expr::Kind::kCall:
      return call_text(e);
    case ast::Expr::Kind::kCast:
      return e.text + "(" + to_sql(*e.args[0]) + " AS " + columnar::to_string(*e.type) + ")";
    case ast::Expr::Kind::kCase:
      return case_text(e);
    case ast::Expr::Kind::kSubquery:
      return "(" + to_sql(*e.query) + ")";
  }
  return "";
}

namespace {

std::string set_operation_text(const ast::SetOperation& set) {
  return "(" + to_sql(*set.left) + ") " + (set.intersect ? "INTERSECT" : "EXCEPT") + (set.all ? " ALL" : "") +
         " (" + to_sql(*set.right) + ")";
}

std::string branch_text(const ast::QueryPtr& branch) {
  const bool plain = std::holds_alternative<ast::Select>(branch->body) && !branch->has_tail();
  return plain ? to_sql(*branch) : "(" + to_sql(*branch) + ")";
}

std::string body_text(const ast::Query& query) {
  if (const auto* select = std::get_if<ast::Select>(&query.body)) return select_text(*select);
  if (const auto* set = std::get_if<ast::SetOperation>(&query.body)) return set_operation_text(*set);
  if (const auto* values = std::get_if<ast::Values>(&query.body)) {
    return "VALUES " +
           join(values->rows, ", ", [](const auto& row) { return "(" + join(row, ", ", expr_text) + ")"; });
  }
  return join(std::get<std::vector<ast::QueryPtr>>(query.body), " UNION ALL ", branch_text);
}

std::string tail_text(const ast::Query& query) {
  std::string text = query.order_by.empty() ? "" : " ORDER BY " + order_text(query.order_by);
  if (!query.limit) return text;
  text += " LIMIT " + std::to_string(query.limit->rows);
  return query.limit->offset == 0 ? text : text + " OFFSET " + std::to_string(query.limit->offset);
}

}  // namespace

std::string to_sql(const ast::Query& query) {
  if (!query.with.empty()) {
    ast::Query plain = query;
    plain.with.clear();
    return "WITH " +
           join(query.with, ", ",
                [](const ast::CommonTable& each) {
                  return name(each.name) +
                         (each.columns.empty() ? "" : " (" + join(each.columns, ", ", name) + ")") + " AS (" +
                         to_sql(*each.query) + ")";
                }) +
           " " + to_sql(plain);
  }
  return body_text(query) + tail_text(query);
}

std::string to_sql(const ast::Statement& statement) { return std::visit(StatementText{}, statement.body); }

}  // namespace strand::sql
