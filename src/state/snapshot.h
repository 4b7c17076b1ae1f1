// Snapshots: sections of operators' state in immutable files.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "env/env.h"

namespace strand::state {

/// Where a section lies: a byte range of an immutable file in the snapshot store, with its checksum.
struct SectionRef {
  std::string operator_id;
  std::string name;     // the operator's own: "ids", "windows"
  int32_t version = 1;  // the operator's format of this section
  KeyGroupRange groups{0, 127};
  std::string file;  // `e<epoch>-<content hash>`
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t checksum = 0;  // hash64 of the bytes
  friend bool operator==(const SectionRef&, const SectionRef&) = default;
};

/// kNewerFormat where a later version of the operator than `known` wrote the section.
Status check_version(const SectionRef& ref, int32_t known);

/// A section that has been read back and verified. One that is read late (late_sections.h) has been verified
/// only, and must be `loaded` before anybody asks for its bytes.
struct Section {
  SectionRef ref;
  std::shared_ptr<const std::string> file_bytes;
  std::function<Result<Section>()> read = {};
  std::string_view bytes() const { return std::string_view(*file_bytes).substr(ref.offset, ref.length); }
  /// With its bytes, for as long as somebody holds it.
  Result<Section> loaded() const { return file_bytes != nullptr ? Result<Section>(*this) : read(); }
};

/// The bytes of a section, in pieces that somebody owns.
struct SectionBytes {
  SectionBytes() = default;
  SectionBytes(std::vector<std::string_view> parts, std::shared_ptr<const void> holder)
      : pieces(std::move(parts)), owner(std::move(holder)) {}
  explicit SectionBytes(std::string bytes);
  std::vector<std::string_view> pieces;
  std::shared_ptr<const void> owner;
};

class SnapshotReader;

/// What one task adds to the snapshot of one epoch. Sections whose bytes are given at once (or made by
/// deferred work, off the worker) go together into one file of the task; a section that was written for an
/// earlier epoch is only referred to. Belongs to the task until `write`.
class SnapshotBuilder {
 public:
  /// Makes the bytes of a section; the reader reads sections that were written for earlier epochs.
  using Make = std::function<Result<SectionBytes>(SnapshotReader&)>;

  SnapshotBuilder(Epoch epoch, KeyGroupRange groups) : epoch_(epoch), groups_(groups) {}
  Epoch epoch() const { return epoch_; }

  /// Set by the task before each operator adds its sections.
  void set_operator(std::string operator_id) { operator_id_ = std::move(operator_id); }

  void add(std::string name, int32_t version, std::string bytes);
  /// `make` runs on the executor and must own what it reads.
  void add_deferred(std::string name, int32_t version, std::function<Result<std::string>()> make);
  /// A section of an earlier epoch that still holds.
  void add_existing(SectionRef ref);
  /// A section in a file of its own, so that later epochs can refer to it without keeping others alive.
  void add_own_file(std::string name, int32_t version, std::function<Result<SectionBytes>()> make);
  /// The same, made from sections of earlier epochs: they must still be referred to by the newest complete
  /// snapshot.
  void add_merged(std::string name, int32_t version, Make make);

  /// Writes the files, once, and returns every section: existing ones, then the others as they were added.
  /// Runs on the executor. A file is written, synced and named `e<epoch>-<content hash>`; the folder is
  /// synced once at the end. An error leaves only files that nothing refers to.
  Result<std::vector<SectionRef>> write(env::FileSystem& files, const std::string& dir);

 private:
  struct Pending {
    SectionRef ref;
    Make make;
    bool own_file = false;
  };
  void start(std::string name, int32_t version, Make make, bool own_file);
  std::string temporary_suffix() const;

  Epoch epoch_;
  KeyGroupRange groups_;
  std::string operator_id_;
  std::vector<Pending> pending_;
  std::vector<SectionRef> existing_;
};

/// Reads sections back; lengths and checksums are verified. A damaged, short or missing file is
/// kCheckpointUnreadable, with the file's name and what was found.
class SnapshotReader {
 public:
  SnapshotReader(env::FileSystem& files, std::string dir) : files_(files), dir_(std::move(dir)) {}
  Result<Section> read(const SectionRef& ref);

 private:
  env::FileSystem& files_;
  std::string dir_;
  std::vector<std::pair<std::string, std::shared_ptr<const std::string>>> cache_;
};

}  // namespace strand::state
