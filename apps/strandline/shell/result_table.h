// The rows of a query as they stand, with all changes applied.
#pragma once

#include <map>
#include <mutex>

#include "output.h"

namespace strand::app::shell {

/// Draws the table when the query has ended; on a terminal also meanwhile, over what it has drawn before, and
/// there the newest rows that have room. Thread-safe.
class ResultTable final : public Output {
 public:
  /// More are an error, which says what to do: a shell keeps them in memory.
  static constexpr size_t kRowsMax = 1'000'000;

  ResultTable(std::FILE* out, bool in_place, columnar::SchemaPtr schema)
      : out_(out), in_place_(in_place), schema_(std::move(schema)) {}
  Status take(const columnar::Batch& rows) override;
  void refresh() override;
  void end() override;

 private:
  using Row = std::vector<std::string>;
  void add(Row row);
  void remove(const Row& row);
  std::string drawn(size_t rows_max) const;
  void draw(const std::string& table);

  std::FILE* out_;
  bool in_place_;
  columnar::SchemaPtr schema_;
  std::mutex mutex_;
  int64_t next_ = 0;
  std::optional<int64_t> freed_;  // the place of the row that an update replaces
  std::map<int64_t, Row> rows_;   // by place
  std::multimap<Row, int64_t> places_;
  bool changed_ = true;
  size_t lines_drawn_ = 0;
};

}  // namespace strand::app::shell
