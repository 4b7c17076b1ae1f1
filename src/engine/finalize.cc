#include "engine/finalize.h"

#include <algorithm>
#include <numeric>

#include "engine/buckets.h"

namespace strand::engine {

namespace {

using columnar::TypeKind;
using connect::table::Answer;
using connect::table::Request;
using connect::table::WriterSpec;

const plan::TableSpec* table_of(const plan::Plan& plan, const std::string& name) {
  for (const plan::NodePtr& sink : plan.sinks) {
    const auto* write = std::get_if<plan::SinkWrite>(&sink->detail);
    if (write != nullptr && write->table.name == name) return &write->table;
  }
  return nullptr;
}

/// Cells are texts; a key goes back into the table as what it was.
Status append_key(const Cell& cell, const columnar::Field& field, columnar::ColumnBuilder& into) {
  if (!cell) {
    into.append_null();
    return Status();
  }
  if (field.type->kind == TypeKind::kString) {
    into.append_string(*cell);
    return Status();
  }
  const auto number = whole(cell);
  if (number && field.type->kind == TypeKind::kBigInt) {
    into.append<int64_t>(*number);
    return Status();
  }
  if (number && field.type->kind == TypeKind::kInt) {
    into.append<int32_t>(static_cast<int32_t>(*number));
    return Status();
  }
  return Status(ErrorCode::kTypeMismatch,
                "final values need key columns of type STRING, INT or BIGINT, found " + field.name +
                    " of type " + columnar::to_string(*field.type))
      .hint("CAST it to STRING in the job");
}

}  // namespace

EventTime reached(const checkpoint::Manifest& snapshot) {
  std::optional<EventTime> lowest;
  for (const auto& [id, parts] : snapshot.operators) {
    for (const auto& part : parts) {
      for (const auto& floor : part.floors) lowest = std::min(lowest.value_or(floor.floor), floor.floor);
    }
  }
  return lowest.value_or(EventTime::min());
}

Result<Duration> accepted_after(const plan::Plan& plan) {
  std::optional<Duration> longest;
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* ids = std::get_if<plan::Deduplicate>(&node->detail);
    if (ids != nullptr && ids->retention)
      longest = std::max(longest.value_or(ids->retention->after), ids->retention->after);
  }
  if (longest) return *longest;
  return Status(ErrorCode::kBadUsage,
                "expected a deduplication with STATE_RETENTION, which says how long rows are accepted, found "
                "none")
      .hint("say when an hour can no longer change: --final-after '2 h'");
}

Result<WriterSpec> final_writer(const plan::Plan& plan, const ComparedTable& table) {
  const plan::TableSpec* declared = table_of(plan, table.name);
  STRAND_CHECK(declared != nullptr);
  WriterSpec spec;
  spec.job = plan.job + "/recount";
  spec.table = table.table_name;
  spec.writer = kFinalWriter;
  std::vector<columnar::Field> key;
  for (const std::string& name : table.key) {
    const auto at = declared->schema->find(name);
    STRAND_CHECK(at.has_value());
    key.push_back((*declared->schema)[*at]);
  }
  std::vector<columnar::Field> values;
  for (const std::string& name : final_columns(table))
    values.push_back({name, columnar::make_type(TypeKind::kBigInt)});
  values.push_back({kFinalDirty, columnar::make_type(TypeKind::kBigInt)});
  std::vector<columnar::Field> all = declared->schema->fields();
  for (const columnar::Field& field : values) {
    if (!declared->schema->find(field.name)) all.push_back(field);
  }
  spec.key = std::make_shared<columnar::Schema>(std::move(key));
  spec.values = std::make_shared<columnar::Schema>(std::move(values));
  spec.table_schema = std::make_shared<columnar::Schema>(std::move(all));
  return spec;
}

Result<FinalWriter> FinalWriter::open(WriterSpec spec, const checkpoint::Manifest& snapshot,
                                      std::unique_ptr<connect::table::TableStore> store, size_t batch_rows) {
  FinalWriter writer(std::move(spec), std::move(store), batch_rows);
  writer.tag_ = {snapshot.generation, snapshot.attempt, snapshot.epoch, 0};
  STRAND_OK(writer.store_->open(writer.spec_));
  connect::table::WriterClaim claim;
  claim.generation = snapshot.generation;
  claim.attempt = snapshot.attempt;
  STRAND_OK(writer.store_->claim(claim));
  return writer;
}

Status FinalWriter::mark_dirty(const std::vector<Hour>& hours, const connect::sqlite::TableRows& found) {
  std::map<Key, size_t> row_of;
  for (size_t row = 0; row < found.rows.size(); ++row) {
    Key key;
    for (const columnar::Field& field : spec_.key->fields()) key.push_back(found.value(row, field.name));
    row_of[key] = row;
  }
  std::vector<Row> rows;
  for (const Hour& hour : hours) {
    if (hour.state != HourState::kDirty) continue;
    const size_t row = row_of.at(hour.key);
    if (whole(found.value(row, kFinalDirty)) == 1) continue;
    Row marked{hour.key, {}};
    for (const columnar::Field& field : spec_.values->fields()) {
      const Cell cell = found.value(row, field.name);
      marked.values.push_back(cell ? whole(cell) : std::nullopt);
    }
    marked.values.back() = 1;
    rows.push_back(std::move(marked));
  }
  STRAND_TRY([[maybe_unused]] const int64_t marked, apply(rows));
  return Status();
}

Result<int64_t> FinalWriter::write(const std::vector<Hour>& hours) {
  std::vector<Row> rows;
  for (const Hour& hour : hours) {
    if (!hour.to_write()) continue;
    Row row{hour.key, {}};
    for (const columnar::Field& field : spec_.values->fields()) {
      const auto at = std::find_if(hour.columns.begin(), hour.columns.end(),
                                   [&](const Reconciled& r) { return r.column == field.name; });
      row.values.push_back(at == hour.columns.end() ? std::nullopt : std::optional(at->final));
    }
    row.values.back() = 0;
    rows.push_back(std::move(row));
  }
  return apply(rows);
}

Result<connect::table::BatchPtr> FinalWriter::batch(std::span<const Row> rows) const {
  columnar::BatchBuilder builder(row_schema(spec_));
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.key.size(); ++i)
      STRAND_OK(append_key(row.key[i], (*spec_.key)[i], builder.column(i)));
    for (size_t i = 0; i < row.values.size(); ++i) {
      columnar::ColumnBuilder& column = builder.column(row.key.size() + i);
      row.values[i] ? column.append<int64_t>(*row.values[i]) : column.append_null();
    }
    builder.end_row();
  }
  return connect::table::BatchPtr(std::make_shared<const columnar::Batch>(builder.finish()));
}

Result<int64_t> FinalWriter::apply(const std::vector<Row>& rows) {
  std::vector<size_t> key(spec_.key->size());
  std::iota(key.begin(), key.end(), size_t{0});
  int64_t written = 0;
  for (size_t from = 0; from < rows.size(); from += batch_rows_) {
    const auto some = std::span(rows).subspan(from, std::min(batch_rows_, rows.size() - from));
    STRAND_TRY(const connect::table::BatchPtr values, batch(some));
    std::vector<Request> requests(some.size());
    for (size_t i = 0; i < some.size(); ++i) {
      requests[i].batch = values;
      requests[i].row = static_cast<int64_t>(i);
      requests[i].tag = tag_;
      encode_key(*values, key, requests[i].row, requests[i].key);
    }
    STRAND_TRY(const std::vector<Answer> answers, store_->apply(requests));
    written += std::count(answers.begin(), answers.end(), Answer::kWritten);
  }
  return written;
}

}  // namespace strand::engine
