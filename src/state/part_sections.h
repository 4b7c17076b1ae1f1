// Which parts of an operator's tables lie in files of earlier epochs.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "state/frozen_rows.h"
#include "state/snapshot.h"

namespace strand::state {

/// Makes the sections of keyed tables for snapshots: each part of a table that is worth it has a file of its
/// own, and while it does not change, later snapshots refer to that file. A snapshot is the union of its
/// sections, so nothing has to be merged or taken back when it is read. Small parts are written each time,
/// into the file that a task's sections share.
///
/// A section counts as written when `written` says so for the newest snapshot: files of an earlier one that
/// come late may be removed before anything refers to them. Belongs to one operator.
class PartSections {
 public:
  /// Bytes of state from which a part has a file of its own.
  static constexpr size_t kOwnFileBytes = size_t{64} << 10;

  /// What a section holds; `tag` is whatever else the operator writes into it.
  struct Id {
    int64_t tag = 0;
    uint64_t table = 0;
    size_t first_page = 0;
    friend auto operator<=>(const Id&, const Id&) = default;
  };
  using Encode = std::function<Result<std::string>()>;

  /// A snapshot begins: the memory of the tables has been frozen `freezes` times.
  void begin(Epoch epoch, uint64_t freezes);
  /// Adds a part that has a file of its own. `encode` makes its bytes, on the executor.
  void add(SnapshotBuilder& out, const std::string& name, int32_t version, int64_t tag, const TablePart& part,
           Encode encode);
  /// Adds the rows of a part, with a file of their own if they are worth it.
  template <class F>
  void add_rows(SnapshotBuilder& out, const std::string& name, int32_t version, const TablePart& part,
                F encode) {
    Encode bytes = [rows = part.rows, encode = std::move(encode)] {
      ByteWriter written;
      encode(rows, written);
      return Result<std::string>(written.take());
    };
    if (part.rows.bytes() < kOwnFileBytes) return add_small(out, name, version, std::move(bytes));
    add(out, name, version, 0, part, std::move(bytes));
  }
  /// Adds what is written anew each time.
  void add_small(SnapshotBuilder& out, const std::string& name, int32_t version, Encode encode);
  /// The snapshot is whole: parts that are not in it are gone.
  void end();
  void written(Epoch epoch, const std::vector<SectionRef>& refs);

 private:
  struct Known {
    SectionRef ref;
    uint64_t freezes;
  };
  std::map<Id, Known> known_;
  // The newest snapshot.
  Epoch epoch_{0};
  uint64_t freezes_ = 0;
  std::map<Id, Known> still_;
  std::vector<std::optional<Id>> added_;  // that it has written, in their order
};

}  // namespace strand::state
