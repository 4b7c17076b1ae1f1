// Partitions of a table of files: columns whose values stand in the names of folders.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "columnar/batch.h"
#include "connect/registry.h"

namespace strand::connect::file {

/// `day=2026-02-08/hour=10`, as Hive and Flink name folders: what a name cannot hold is `%3A`.
std::string partition_path(const std::vector<std::string>& keys, const std::vector<std::string>& values);
/// The values in the folders that a path begins with, in the order of `keys`; nothing where they are others.
std::optional<std::vector<std::string>> partition_values(std::string_view path,
                                                         const std::vector<std::string>& keys);

/// What PARTITIONED BY means for the columns that are read or written (TableContext::schema): which of them
/// stand in files, and which in the names of folders. A NULL and an empty text are the folder
/// `partition.default-name`, and come back as NULL. Remembers the folders that it has seen; belongs to one
/// thread.
class Partitions {
 public:
  /// kUnsupportedSql for types that no name of a folder has; kBadOption.
  static Result<Partitions> make(const TableContext& table);

  bool any() const { return !keys_.empty(); }
  /// Of those read or written, the columns in files.
  const columnar::SchemaPtr& in_files() const { return in_files_; }
  /// Of those of the table.
  const columnar::SchemaPtr& table_in_files() const { return table_in_files_; }

  /// Whether a file lies in folders of the table, and the query wants them. kBadValue.
  Result<bool> wants(const std::string& shard);
  /// Decoded rows of a file with the values of its folders.
  Result<columnar::Batch> with_folders(const std::string& shard, const columnar::Batch& rows);
  /// Rows by the folder that they go into, with the columns in files alone. Without partitions: "".
  std::vector<std::pair<std::string, columnar::Batch>> split(const columnar::Batch& rows) const;

 private:
  /// Where a column of the schema comes from.
  struct Origin {
    bool in_folder = false;
    size_t column = 0;  // of the file's columns or of the keys
  };
  struct Folder {
    columnar::Batch values;  // one row, a column for each key
    bool wanted = true;
  };

  Result<const Folder*> folder_of(const std::string& shard);
  std::string folder_name(const columnar::Batch& rows, int64_t row) const;
  Result<columnar::Batch> typed(const std::vector<std::string>& values) const;

  std::string table_;
  std::vector<std::string> keys_;
  std::string default_name_;
  columnar::SchemaPtr schema_;
  columnar::SchemaPtr in_files_;
  columnar::SchemaPtr table_in_files_;
  columnar::SchemaPtr key_schema_;
  std::vector<Origin> origins_;                     // of each column of the schema
  std::vector<std::optional<size_t>> key_columns_;  // of each key, in the schema
  WantsPartition wants_;
  std::map<std::string, std::optional<Folder>> seen_;  // by the folders of a path; none: not of the table
};

}  // namespace strand::connect::file
