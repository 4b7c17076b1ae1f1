// Rows by key that have no room in memory.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "state/snapshot.h"
#include "state/spill/spill.h"

namespace strand::state {

/// The rows that a table has handed over, in a spill store: the newest of each key. What the table itself
/// holds of a key is newer still.
///
/// A key is two bytes of key group (`append_ordered`) and whatever the table makes of its keys; a value is
/// the table's, and an empty one says that the key is gone. Snapshots hold sections of rows, each written
/// once; later ones win over earlier ones, and the table's own sections over all. Rows that came since the
/// last snapshot are also staged, as the bytes that the next one will write, until it is durable. When the
/// sections have twice as many bytes as when they were last written whole, the next snapshot writes all rows
/// anew instead of adding to them: so they stay a few times as large as the rows. Belongs to one operator.
class RowSpill {
 public:
  static constexpr int32_t kSectionVersion = 1;
  /// Gives row `i`.
  using Row = std::function<void(size_t i, std::string& key, std::string& value)>;
  using Visit = std::function<Status(std::string_view key, std::string_view value)>;
  /// Whether a row is of no use any more; called from any thread.
  using Useless = std::function<bool(std::string_view key, std::string_view value)>;

  RowSpill(SpillSpace& space, KeyGroupRange groups, Useless useless = nullptr);
  ~RowSpill() { space_.leave(); }
  RowSpill(const RowSpill&) = delete;
  RowSpill& operator=(const RowSpill&) = delete;

  int64_t budget() const { return space_.share(); }
  bool empty() const { return store_ == nullptr; }
  /// Rows that were handed over and not asked for again, at most.
  int64_t rows() const { return rows_; }
  /// Takes `n` rows over, whose keys ascend, each once.
  Status put(size_t n, const Row& row);
  /// Calls found(i, value) for the keys that are there; the table takes them back.
  Status take(std::span<const std::string_view> keys,
              const std::function<void(size_t i, std::string_view value)>& found);
  /// Visits all rows by key, as they are when it is called.
  Status for_each(const Visit& f) const;
  /// Gives rows other values: change(key, value) says whether it did. An empty one says that the key is gone.
  Status change(const std::function<Result<bool>(std::string_view key, std::string& value)>& change);

  /// No older section may be read any more: the next snapshot writes all rows anew.
  void write_anew() { ++changes_; }

  void snapshot(SnapshotBuilder& out);
  /// Learns of files, and returns the sections that are not of this class.
  std::vector<SectionRef> written(Epoch epoch, const std::vector<SectionRef>& refs);
  /// Takes the rows of the sections that are of this class; the others are left.
  Status restore(const std::vector<Section>& sections);

  static bool is_section(const SectionRef& ref);
  /// Visits the rows of these key groups in the sections of this class, the newest of a key last: for a table
  /// that keeps all of them in memory. `newest_first`: the newest first.
  static Status read(const std::vector<Section>& sections, KeyGroupRange groups, const Visit& f,
                     bool newest_first = false);

 private:
  /// Staged rows, as one section will have them.
  struct Piece {
    uint64_t number;
    bool durable = false;
    std::shared_ptr<const bool> pin = std::make_shared<bool>();  // held by snapshots that are being written
  };
  struct Attempt {
    Epoch epoch{0};
    uint64_t until = 0;  // pieces before it are in it
    bool whole = false;
    int64_t changes = 0;  // that are in it, if it is whole
  };
  Status open();
  Status stage(size_t n, const Row& row);
  bool shall_write_whole() const;
  void add_piece(SnapshotBuilder& out, const Piece& piece) const;
  void add_whole(SnapshotBuilder& out);
  Status drop_staged();

  SpillSpace& space_;
  KeyGroupRange groups_;
  std::shared_ptr<const Useless> useless_;
  std::shared_ptr<SpillStore> store_;
  std::shared_ptr<SpillStore> stage_;
  int64_t rows_ = 0;
  uint64_t next_piece_ = 1;  // numbers of sections ascend, also across restores
  std::deque<Piece> staged_;
  std::vector<SectionRef> durable_;
  uint64_t whole_bytes_ = 0;  // of the sections when all rows were last written
  int64_t changes_ = 0;       // calls of `write_anew`
  int64_t changes_written_ = 0;
  Attempt attempt_;  // the newest
  Status failed_;    // to be told at the next `put`
};

}  // namespace strand::state
