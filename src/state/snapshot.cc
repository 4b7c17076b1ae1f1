#include "state/snapshot.h"

#include <limits>
#include <utility>

#include "base/bytes.h"
#include "base/hash.h"

namespace strand::state {

namespace {

constexpr std::string_view kMagic = "STRNDST\n";
constexpr uint32_t kFormat = 1;
constexpr size_t kHeaderBytes = 16;  // magic, format, zero
// A header in front of a large section, so that the section's pages may be written without a copy.
constexpr size_t kPageBytes = size_t{4} << 10;

std::string header() {
  ByteWriter out;
  out.put_raw(kMagic.data(), kMagic.size());
  out.put(kFormat);
  out.put(uint32_t{0});
  return out.take();
}

Status unreadable(const std::string& path, const std::string& what) {
  return Status(ErrorCode::kCheckpointUnreadable, path + ": " + what)
      .hint("choose an older checkpoint with --from, or restore the file from a copy");
}

Status check_header(const std::string& path, std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) {
    return unreadable(path, "expected a state file, found " + std::to_string(bytes.size()) + " bytes");
  }
  if (!bytes.starts_with(kMagic)) return unreadable(path, "expected a state file, found other content");
  uint32_t format = 0;
  std::memcpy(&format, bytes.data() + kMagic.size(), sizeof format);
  if (format > kFormat) {
    return Status(ErrorCode::kNewerFormat, path + ": expected format " + std::to_string(kFormat) +
                                               " or lower, found " + std::to_string(format))
        .hint("run the version of Strandline that wrote it, or a later one");
  }
  return Status();
}

/// The name of a file holds the hash of all of it, also of what no section covers.
Status check_name(const std::string& path, std::string_view bytes) {
  const std::string hash = content_hash(bytes);
  if (path.ends_with("-" + hash)) return Status();
  return unreadable(path, "expected content with the hash in the file's name, found checksum " + hash);
}

/// Writes `dir/e<epoch>-<content hash>` and returns the name.
Result<std::string> write_file(env::FileSystem& files, const std::string& dir, Epoch epoch,
                               const std::vector<std::string_view>& pieces, const std::string& suffix) {
  const std::string prefix = dir + "/e" + std::to_string(epoch.value) + "-";
  const std::string temporary = prefix + suffix;
  STRAND_TRY(const auto file, files.create(temporary));
  Hasher content;
  for (const std::string_view piece : pieces) {
    content.add(piece);
    STRAND_OK(file->append(piece));
  }
  STRAND_OK(file->sync());
  STRAND_OK(file->close());
  const std::string hash = content.content_hash();
  STRAND_OK(files.rename(temporary, prefix + hash));
  return "e" + std::to_string(epoch.value) + "-" + hash;
}

/// Hashes the pieces of a section and sets its length.
void seal(SectionRef& ref, const SectionBytes& bytes) {
  Hasher checksum;
  for (const std::string_view piece : bytes.pieces) {
    checksum.add(piece);
    ref.length += piece.size();
  }
  ref.checksum = checksum.hash64();
}

}  // namespace

Status check_version(const SectionRef& ref, int32_t known) {
  if (ref.version <= known) return Status();
  return Status(ErrorCode::kNewerFormat, ref.file + ": expected version " + std::to_string(known) +
                                             " of section '" + ref.name + "', found " +
                                             std::to_string(ref.version))
      .hint("run the version of Strandline that wrote it, or a later one");
}

SectionBytes::SectionBytes(std::string bytes) {
  auto held = std::make_shared<const std::string>(std::move(bytes));
  pieces = {*held};
  owner = std::move(held);
}

void SnapshotBuilder::start(std::string name, int32_t version, Make make, bool own_file) {
  SectionRef ref;
  ref.operator_id = operator_id_;
  ref.name = std::move(name);
  ref.version = version;
  ref.groups = groups_;
  pending_.push_back({std::move(ref), std::move(make), own_file});
}

void SnapshotBuilder::add(std::string name, int32_t version, std::string bytes) {
  auto owned = std::make_shared<std::string>(std::move(bytes));
  add_deferred(std::move(name), version, [owned]() -> Result<std::string> { return std::move(*owned); });
}

void SnapshotBuilder::add_deferred(std::string name, int32_t version,
                                   std::function<Result<std::string>()> make) {
  const auto wrapped = [make = std::move(make)](SnapshotReader&) -> Result<SectionBytes> {
    STRAND_TRY(std::string bytes, make());
    return SectionBytes(std::move(bytes));
  };
  start(std::move(name), version, wrapped, false);
}

void SnapshotBuilder::add_existing(SectionRef ref) { existing_.push_back(std::move(ref)); }

void SnapshotBuilder::add_own_file(std::string name, int32_t version,
                                   std::function<Result<SectionBytes>()> make) {
  start(std::move(name), version, [make = std::move(make)](SnapshotReader&) { return make(); }, true);
}

void SnapshotBuilder::add_merged(std::string name, int32_t version, Make make) {
  start(std::move(name), version, std::move(make), true);
}

// Tasks write into one folder at the same time and two may write equal bytes: a temporary name is a task's
// own.
std::string SnapshotBuilder::temporary_suffix() const {
  std::string who = std::to_string(groups_.first);
  for (const Pending& pending : pending_) who += "/" + pending.ref.operator_id;
  return "." + std::to_string(hash64(who)) + ".tmp";
}

Result<std::vector<SectionRef>> SnapshotBuilder::write(env::FileSystem& files, const std::string& dir) {
  const std::string suffix = temporary_suffix();
  SnapshotReader reader(files, dir);
  std::vector<SectionRef> written = existing_;
  std::string shared = header();
  std::vector<size_t> in_shared;
  for (Pending& pending : pending_) {
    STRAND_TRY(const SectionBytes bytes, std::exchange(pending.make, nullptr)(reader));
    SectionRef ref = pending.ref;
    seal(ref, bytes);
    if (pending.own_file) {
      std::string head = header();
      if (ref.length >= kPageBytes) head.resize(kPageBytes);
      ref.offset = head.size();
      std::vector<std::string_view> pieces = {head};
      pieces.insert(pieces.end(), bytes.pieces.begin(), bytes.pieces.end());
      STRAND_TRY(ref.file, write_file(files, dir, epoch_, pieces, suffix));
    } else {
      ref.offset = shared.size();
      for (const std::string_view piece : bytes.pieces) shared += piece;
      in_shared.push_back(written.size());
    }
    written.push_back(std::move(ref));
  }
  if (!in_shared.empty()) {
    STRAND_TRY(const std::string name, write_file(files, dir, epoch_, {shared}, suffix));
    for (const size_t i : in_shared) written[i].file = name;
  }
  if (!pending_.empty()) STRAND_OK(files.sync_dir(dir));
  return written;
}

Result<Section> SnapshotReader::read(const SectionRef& ref) {
  const std::string path = dir_ + "/" + ref.file;
  std::shared_ptr<const std::string> bytes;
  for (const auto& [name, cached] : cache_) {
    if (name == ref.file) bytes = cached;
  }
  if (bytes == nullptr) {
    auto found = env::read_all(files_, path, std::numeric_limits<uint64_t>::max());
    if (!found.ok()) {
      if (found.status().code() != ErrorCode::kFileNotFound) return std::move(found).status();
      return unreadable(path, "expected a state file of " + std::to_string(ref.offset + ref.length) +
                                  " bytes or more, found none");
    }
    STRAND_OK(check_header(path, *found));
    STRAND_OK(check_name(path, *found));
    bytes = std::make_shared<const std::string>(*std::move(found));
    cache_.emplace_back(ref.file, bytes);
  }
  if (ref.offset > bytes->size() || ref.length > bytes->size() - ref.offset) {
    return unreadable(path, "expected " + std::to_string(ref.offset + ref.length) + " bytes for section '" +
                                ref.name + "' of operator " + ref.operator_id + ", found " +
                                std::to_string(bytes->size()));
  }
  Section section{ref, bytes, {}};
  const uint64_t checksum = hash64(section.bytes());
  if (checksum != ref.checksum) {
    return unreadable(path, "expected checksum " + std::to_string(ref.checksum) + " for section '" +
                                ref.name + "' of operator " + ref.operator_id + ", found " +
                                std::to_string(checksum));
  }
  return section;
}

}  // namespace strand::state
