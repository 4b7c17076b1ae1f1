#include "connect/sqlite/lookup.h"

#include "connect/sqlite/database.h"
#include "connect/sqlite/schema.h"
#include "connect/sqlite/values.h"

namespace strand::connect::sqlite {

namespace {

class SqliteLookup final : public flow::Lookup {
 public:
  SqliteLookup(const TableContext& context, std::string path, std::string table, Duration busy_timeout)
      : schema_(context.schema),
        keys_(context.lookup_keys),
        path_(std::move(path)),
        table_(std::move(table)),
        busy_timeout_(busy_timeout) {}

  Status find(const columnar::Batch& keys, int64_t row, columnar::BatchBuilder& found) override {
    if (!database_) STRAND_OK(open());
    for (size_t i = 0; i < keys_.size(); ++i)
      bind_value(query_, static_cast<int>(i) + 1, keys.column(i), row);
    Status read = read_rows(found);
    query_.reset();
    return read.ok() ? Status() : std::move(read).at(path_);
  }

 private:
  Status open() {
    STRAND_TRY(database_, Database::open(path_, Database::Mode::kRead, busy_timeout_));
    std::string columns;
    for (const columnar::Field& field : schema_->fields())
      columns += (columns.empty() ? "" : ", ") + quoted(field.name);
    std::string condition;
    for (const std::string& key : keys_)
      condition += (condition.empty() ? "" : " AND ") + quoted(key) + " = ?";
    STRAND_TRY(query_, database_->prepare("SELECT " + (columns.empty() ? "1" : columns) + " FROM " +
                                          quoted(table_) + " WHERE " + condition + " ORDER BY rowid"));
    return Status();
  }

  Status read_rows(columnar::BatchBuilder& found) {
    for (;;) {
      STRAND_TRY(const bool there, database_->step(query_));
      if (!there) return Status();
      for (size_t i = 0; i < schema_->size(); ++i)
        STRAND_OK(read_value(query_, static_cast<int>(i), found.column(i)));
      found.end_row();
    }
  }

  columnar::SchemaPtr schema_;
  std::vector<std::string> keys_;
  std::string path_;
  std::string table_;
  Duration busy_timeout_;
  std::unique_ptr<Database> database_;  // before the statement, which must not outlive it
  Statement query_;
};

}  // namespace

std::unique_ptr<flow::Lookup> make_sqlite_lookup(const TableContext& context, std::string path,
                                                 std::string table, Duration busy_timeout) {
  return std::make_unique<SqliteLookup>(context, std::move(path), std::move(table), busy_timeout);
}

}  // namespace strand::connect::sqlite
