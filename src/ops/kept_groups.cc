#include "ops/kept_groups.h"

#include <algorithm>
#include <utility>

#include "ops/rows.h"
#include "state/spill/spill.h"

namespace strand::ops {

Status KeptGroups::spill_to(state::SpillSpace* space) {
  space_ = space;
  STRAND_OK(logged_.spill_to(space));
  return values_.spill_to(space);
}

Result<KeptGroups::Id> KeptGroups::find(uint64_t hash, std::string_view key, bool add) {
  if (cold_ > 0) {
    if (const Id hot = groups_.find(hash, key); hot != kNone) return hot;
    const LoggedGroups::Id logged = find_logged(hash, key);
    STRAND_OK(logged_.intact());
    if (logged != LoggedGroups::kNone) return load(logged);
  }
  return add ? groups_.find_or_add(hash, key) : groups_.find(hash, key);
}

KeptGroups::LoggedGroups::Id KeptGroups::find_logged(uint64_t hash, std::string_view key) {
  ByteWriter bytes;
  state::KeyTable::encode_key(hash, key, bytes);
  key_bytes_ = bytes.take();
  return by_key_.find(hash, [&](LoggedGroups::Id id) { return logged_.body(id).starts_with(key_bytes_); });
}

Status KeptGroups::decode(LoggedGroups::Id logged, state::KeyTable::StoredKey& key,
                          ChangingGroup& group) const {
  ByteReader in(logged_.body(logged));
  STRAND_OK(logged_.intact());
  STRAND_TRY(key, state::KeyTable::decode_key(in));
  STRAND_OK(results_.decode(in, group));
  if (in.remaining() > 0) {
    STRAND_TRY(group.expiry.millis, in.get<int64_t>());
  }
  group.logged = logged;
  group.first_value = logged_[logged].first_value;
  return Status();
}

Result<KeptGroups::Id> KeptGroups::load(LoggedGroups::Id logged) {
  state::KeyTable::StoredKey key{};
  ChangingGroup group;
  STRAND_OK(decode(logged, key, group));
  STRAND_OK(values_.each_of(group.first_value, [&](const GroupValues::Restored& value) {
    return results_.restore(value.aggregate, value.value, value.count, group);
  }));
  const Id id = groups_.find_or_add(key.hash, key.key);
  group_bytes_ += group.bytes();
  groups_[id] = std::move(group);
  logged_[logged].hot = id;
  --cold_;
  return id;
}

bool KeptGroups::touch(ChangingGroup& group) {
  group.used = true;
  if (group.touched) return false;
  group.touched = true;
  group_bytes_ -= group.bytes();
  return true;
}

void KeptGroups::begin_anew(Id id) {
  ChangingGroup& group = groups_[id];
  const int64_t before = group.bytes();
  values_of(groups_.hash(id), groups_.key(id), group).clear();
  group.rows = 0;
  group.aggregates = {};
  group.emitted.clear();
  if (!group.touched) group_bytes_ += group.bytes() - before;
}

void KeptGroups::keep(Id id) {
  ChangingGroup& group = groups_[id];
  group.touched = false;
  group_bytes_ += group.bytes();
  ByteWriter bytes;
  groups_.encode_key(id, bytes);
  results_.encode(group, bytes, true);
  bytes.put(group.expiry.millis);
  if (group.logged != LoggedGroups::kNone) {
    logged_.replace(group.logged, bytes.take());
  } else {
    group.logged = logged_.add(groups_.hash(id), {}, bytes.take());
    logged_[group.logged].hot = id;
    if (space_ != nullptr) by_key_.add(groups_.hash(id), group.logged);
  }
  logged_.let_go();
}

void KeptGroups::erase(Id id) {
  begin_anew(id);
  const ChangingGroup& group = groups_[id];
  if (!group.touched) group_bytes_ -= group.bytes();
  if (group.logged != LoggedGroups::kNone) {
    if (space_ != nullptr) by_key_.erase(groups_.hash(id), group.logged);
    logged_.erase(group.logged);
    logged_.let_go();
  }
  groups_.erase(id);
}

void KeptGroups::erase_cold(LoggedGroups::Id logged) {
  const uint64_t hash = logged_.hash(logged);
  values_.at(hash, {}, logged_[logged].first_value);
  values_.clear();
  by_key_.erase(hash, logged);
  logged_.erase(logged);
  logged_.let_go();
  --cold_;
}

Status KeptGroups::let_go() const {
  logged_.let_go();
  values_.let_go();
  STRAND_OK(logged_.intact());
  return values_.intact();
}

Status KeptGroups::finish() {
  if (space_ != nullptr && groups_bytes() > space_->share() / 2) make_room(space_->share() / 4);
  STRAND_OK(logged_.tidy(groups_bytes() + static_cast<int64_t>(by_key_.bytes())));
  return values_.tidy();
}

/// Leaves those that were used since the last time, of no more than that many bytes.
void KeptGroups::make_room(int64_t most) {
  ChangingGroups left;
  int64_t left_bytes = 0;
  groups_.for_each([&](Id id) {
    ChangingGroup& group = groups_[id];
    const int64_t bytes = group.bytes();
    const bool stays = group.used && left.memory_bytes() + left_bytes + bytes < most;
    LoggedGroup& logged = logged_[group.logged];
    if (!stays && state::ChangeAccumulators::values(group.aggregates) <= kValuesMost) {
      logged.first_value = group.first_value;
      logged.hot = kNone;
      ++cold_;
      return;
    }
    group.used = false;
    logged.hot = left.find_or_add(groups_.hash(id), groups_.key(id));
    left[logged.hot] = std::move(group);
    left_bytes += bytes;
  });
  groups_ = std::move(left);
  group_bytes_ = left_bytes;
}

Status KeptGroups::forget(WallTime now) {
  if (size() < forget_at_) return Status();
  std::vector<LoggedGroups::Id> old;
  Status status;
  logged_.for_each([&](LoggedGroups::Id id) {
    if (!status.ok()) return;
    state::KeyTable::StoredKey key{};
    ChangingGroup group;
    const Id hot = logged_[id].hot;
    if (hot == kNone) status = decode(id, key, group);
    if ((hot == kNone ? group : groups_[hot]).expiry <= now) old.push_back(id);
  });
  STRAND_OK(std::move(status));
  for (const LoggedGroups::Id id : old) {
    if (const Id hot = logged_[id].hot; hot != kNone) {
      erase(hot);
    } else {
      erase_cold(id);
    }
  }
  forget_at_ = std::max<int64_t>(kForgetFrom, 2 * size());
  return let_go();
}

Status KeptGroups::restore(const std::vector<state::Section>& sections,
                           const flow::OperatorContext& context) {
  const auto mine = [&](uint64_t hash) { return owns(context, hash); };
  STRAND_OK(logged_.restore(sections, context.key_groups, mine));
  logged_.for_each([&](LoggedGroups::Id id) { by_key_.add(logged_.hash(id), id); });
  STRAND_OK(logged_.intact());
  cold_ = logged_.size();
  GroupValues::Id lost = GroupValues::kNone;
  STRAND_OK(values_.restore(sections, context.key_groups, mine,
                            [&](const GroupValues::Restored& value) -> GroupValues::Id& {
                              const LoggedGroups::Id id = find_logged(value.hash, value.key);
                              logged_.let_go();
                              return id == LoggedGroups::kNone ? lost : logged_[id].first_value;
                            }));
  STRAND_OK(logged_.intact());
  if (lost != GroupValues::kNone) {
    return Status(ErrorCode::kCheckpointUnreadable, "expected the group of each value, found a value without")
        .hint("choose an older checkpoint with --from");
  }
  if (space_ != nullptr) return finish();
  by_key_.clear();
  Status status;
  logged_.for_each([&](LoggedGroups::Id id) {
    if (!status.ok()) return;
    if (auto loaded = load(id); !loaded.ok()) status = std::move(loaded).status();
  });
  return status;
}

}  // namespace strand::ops
