#include "conformance/sql/judge.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include "conformance/sql/values.h"

namespace strand::conformance::sql {
namespace {

/// Rows that came between two lines of the input.
struct Group {
  int played = 0;
  std::vector<OutputRow> rows;
};

std::string name_of(int played) { return played == kEnd ? "@end" : "@" + std::to_string(played); }

std::string row_text(const OutputRow& row) { return row.kind + " " + row.values.dump(); }

void add(std::vector<Group>& groups, int played, OutputRow row) {
  if (groups.empty() || groups.back().played != played) groups.push_back({played, {}});
  groups.back().rows.push_back(std::move(row));
}

Json normalized_row(const Json& row, const columnar::Schema& schema) {
  if (!row.is_array()) return row;
  Json out = Json::array();
  for (size_t i = 0; i < row.size(); ++i) {
    out.push_back(i < schema.size() ? normalized(row[i], *schema[i].type) : row[i]);
  }
  return out;
}

/// `by_line`: a group for each line of the input that rows came after, else one group of all rows.
std::vector<Group> recorded_groups(const Section& section, const columnar::Schema& schema, bool by_line) {
  std::vector<Group> groups;
  int played = 0;
  for (const std::string& line : section.lines) {
    if (line.empty() || line[0] == '#' || line.starts_with("columns ")) continue;
    if (line[0] == '@') {
      played = line == "@end" ? kEnd : std::stoi(line.substr(1));
      continue;
    }
    const Json values = Json::parse(line.substr(3));
    add(groups, by_line ? played : 0, {played, line.substr(0, 2), normalized_row(values, schema)});
  }
  return groups;
}

std::vector<Group> received_groups(const Received& received, bool by_line) {
  std::vector<Group> groups;
  for (const OutputRow& row : received.rows) add(groups, by_line ? row.played : 0, row);
  return groups;
}

std::vector<std::string> texts(const std::vector<OutputRow>& rows) {
  std::vector<std::string> out;
  for (const OutputRow& row : rows) out.push_back(row_text(row));
  return out;
}

std::string first_difference(const std::vector<std::string>& want, const std::vector<std::string>& found) {
  for (size_t i = 0; i < std::max(want.size(), found.size()); ++i) {
    const std::string& w = i < want.size() ? want[i] : "no more rows";
    const std::string& f = i < found.size() ? found[i] : "no more rows";
    if (w != f) return "expected " + w + ", found " + f;
  }
  return "";
}

/// The columns of the `key` header, by position.
std::vector<size_t> key_columns(const Case& test_case, const columnar::Schema& schema) {
  std::vector<size_t> key;
  std::istringstream names(test_case.option("key"));
  for (std::string name; std::getline(names, name, ',');) {
    name.erase(0, name.find_first_not_of(' '));
    if (const auto column = schema.find(name)) key.push_back(*column);
  }
  return key;
}

std::string key_of(const OutputRow& row, const std::vector<size_t>& key) {
  if (key.empty() || !row.values.is_array()) return row.values.dump();
  std::string text;
  for (const size_t column : key) text += row.values.at(column).dump() + " ";
  return text;
}

/// Rows of equal key keep their order: the rows in an order of keys that is the same for both sides.
std::vector<std::string> ordered_by_key(const std::vector<OutputRow>& rows, const std::vector<size_t>& key) {
  std::map<std::string, std::vector<std::string>> by_key;
  for (const OutputRow& row : rows) by_key[key_of(row, key)].push_back(row_text(row));
  std::vector<std::string> out;
  for (auto& [name, list] : by_key) out.insert(out.end(), list.begin(), list.end());
  return out;
}

std::string groups_differ(const std::vector<Group>& want, const std::vector<Group>& found,
                          const std::string& order, const std::vector<size_t>& key) {
  for (size_t i = 0; i < std::max(want.size(), found.size()); ++i) {
    if (i >= want.size())
      return "unexpected rows at " + name_of(found[i].played) + ": " + row_text(found[i].rows[0]);
    if (i >= found.size())
      return "no rows at " + name_of(want[i].played) + ", expected " + row_text(want[i].rows[0]);
    if (want[i].played != found[i].played) {
      return "expected " + row_text(want[i].rows[0]) + " at " + name_of(want[i].played) + ", found " +
             row_text(found[i].rows[0]) + " at " + name_of(found[i].played);
    }
    const auto arranged = [&](const Group& group) {
      if (order == "exact") return texts(group.rows);
      if (order == "group") return ordered_by_key(group.rows, key);
      std::vector<std::string> sorted = texts(group.rows);
      std::sort(sorted.begin(), sorted.end());
      return sorted;
    };
    const std::string differs = first_difference(arranged(want[i]), arranged(found[i]));
    if (!differs.empty()) return "at " + name_of(want[i].played) + ": " + differs;
  }
  return "";
}

/// The table that a changelog builds up, as sorted lines: by primary key where there is one.
std::vector<std::string> folded(const std::vector<Group>& groups, const columnar::Schema& schema,
                                const std::vector<std::string>& primary_key) {
  std::vector<size_t> key;
  for (const std::string& name : primary_key) {
    if (const auto column = schema.find(name)) key.push_back(*column);
  }
  std::multimap<std::string, std::string> rows;
  for (const Group& group : groups) {
    for (const OutputRow& row : group.rows) {
      const std::string at = key_of(row, key);
      const bool adds = row.kind[0] == '+';
      if (!key.empty() || !adds) {
        const auto old = rows.find(at);
        if (old != rows.end() && (row.kind != "-U" || key.empty())) rows.erase(old);
      }
      if (adds) rows.emplace(at, row.values.dump());
    }
  }
  std::vector<std::string> out;
  for (const auto& [at, row] : rows) out.push_back(row);
  std::sort(out.begin(), out.end());
  return out;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Whether the message or its hint names `wanted`, as whole words. The line of the text that the message
/// quotes does not count: it holds whatever the user wrote.
bool mentions(const Status& error, const std::string& wanted) {
  const std::string& message = error.message();
  const std::string text = " " + lower(message.substr(0, message.find('\n')) + " " + error.hint()) + " ";
  const std::string word = lower(wanted);
  const auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    if (!inside(text[at - 1]) && !inside(text[at + word.size()])) return true;
  }
  return false;
}

}  // namespace

std::string difference(const Case& test_case, const Section& expected, const Received& received,
                       bool by_line) {
  const columnar::Schema& schema = *received.schema;
  const std::string order = test_case.option("order", "group");
  by_line = by_line && order != "free" && test_case.option("positions") != "no" &&
            test_case.option("compare") != "final" && !test_case.text("input").empty();
  const std::vector<Group> want = recorded_groups(expected, schema, by_line);
  const std::vector<Group> found = received_groups(received, by_line);
  if (test_case.option("compare") == "final") {
    return first_difference(folded(want, schema, received.primary_key),
                            folded(found, schema, received.primary_key));
  }
  return groups_differ(want, found, order, key_columns(test_case, schema));
}

std::string tables_differ(const Received& one, const Received& other) {
  // Messages about changes are no table: rows that come together make one change.
  if (!one.rows.empty() && one.rows[0].values.is_string()) return "";
  const auto table = [](const Received& received) {
    return folded(received_groups(received, /*by_line=*/false), *received.schema, received.primary_key);
  };
  return first_difference(table(one), table(other));
}

std::string columns_differ(const Section& expected, const columnar::Schema& schema) {
  for (const std::string& line : expected.lines) {
    if (!line.starts_with("columns ")) continue;
    const Json columns = Json::parse(line.substr(8));
    std::vector<std::string> want;
    std::vector<std::string> found;
    for (const Json& column : columns) {
      want.push_back(column.at(0).get<std::string>() + " " + plain_type(column.at(1).get<std::string>()));
    }
    for (const columnar::Field& field : schema.fields()) {
      found.push_back(field.name + " " + plain_type(columnar::to_string(*field.type)));
    }
    const std::string differs = first_difference(want, found);
    if (!differs.empty()) return "columns: " + differs;
  }
  return "";
}

std::string refusal_differs(const Case& test_case, const Section& expected, const Played& played) {
  if (played.error.ok()) return "expected an error, the job ended well";
  const bool runtime =
      std::find(expected.lines.begin(), expected.lines.end(), "kind: runtime") != expected.lines.end();
  const std::string text = played.error.to_string();
  if (runtime != played.started) {
    return std::string("expected the refusal ") + (runtime ? "after" : "before") +
           " the job started, found " + text;
  }
  const std::string wanted = test_case.option("mention");
  if (!wanted.empty() && !mentions(played.error, wanted))
    return "the message does not mention " + wanted + ": " + text;
  const auto shown = std::find(expected.lines.begin(), expected.lines.end(), "shown:");
  if (shown == expected.lines.end()) return "";
  std::string wanted_text;
  for (auto line = shown + 1; line != expected.lines.end(); ++line)
    wanted_text += (wanted_text.empty() ? "" : "\n") + *line;
  return text == wanted_text ? "" : "expected\n" + wanted_text + "\nfound\n" + text;
}

}  // namespace strand::conformance::sql
