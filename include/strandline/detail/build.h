// From typed streams to the nodes of a job: what the templates of the API call.
#pragma once

#include "strandline/watermark.h"
#include "strandline/window.h"

namespace strandline::detail {

struct JobState;
struct StreamNode;

/// An output of an operator of a job under construction.
struct Handle {
  std::shared_ptr<JobState> job;
  std::shared_ptr<StreamNode> node;
  int port = 0;
};

// Typed streams have the columns of their elements, then the timestamp. Each function adds an operator; what
// cannot be is an error of the job (Job::error).

/// Rows as elements: columns by name.
Handle elements_of(const Handle& rows, const RowType& type);
/// Elements as rows; `time_column` names a column for the timestamp, if it is not empty.
Handle rows_of(const Handle& elements, const RowType& type, const std::string& time_column);
Handle add_filter(const Handle& in, const RowType& type, std::function<bool(const void*)> condition);
Handle add_union(const RowType& type, const std::vector<Handle>& inputs);

Handle add_watermarks(const Handle& in, const RowType& type, WatermarkSpec spec);

/// Appends the key of an element and returns its hash, as Java's hashCode.
using KeyOf = std::function<int32_t(const void* element, std::string& key)>;
Handle add_key_by(const Handle& in, const RowType& type, KeyOf key_of);

struct FunctionSpec {
  std::string kind;  // for people
  std::vector<const RowType*> inputs;
  const RowType* output;
  bool keyed = false;
  bool broadcast = false;  // the second input goes to every subtask
  MakeFunction make;
};
Handle add_function(FunctionSpec spec, const std::vector<Handle>& inputs);
Handle side_output(const Handle& function, const std::string& tag, const RowType& type);

struct WindowSpec {
  std::string kind;
  std::vector<const RowType*> inputs;  // two: a join
  const RowType* output;
  WindowAssigner assigner;
  std::function<int64_t(const void*)> gap_of = {};
  std::optional<Trigger> trigger = {};
  std::shared_ptr<const TriggerCode> custom_trigger = {};
  std::optional<Evictor> evictor = {};
  std::function<double(const void*)> measure = {};
  Millis allowed_lateness{0};
  MakeWindowCode make = {};
};
Handle add_window(WindowSpec spec, const std::vector<Handle>& inputs);
/// What the operator judged late, of one of its inputs.
Handle late_output(const Handle& in, size_t input, const RowType& type);

struct IntervalJoinSpec {
  const RowType* left;
  const RowType* right;
  const RowType* output;
  int64_t lower = 0;
  int64_t upper = 0;
  /// For each pair; the call has the later timestamp of both.
  std::function<void(const void* left, const void* right, Call& call)> pair = {};
};
/// The joined stream; late rows of its inputs are those of `join`.
struct IntervalJoined {
  Handle result;
  Handle join;
};
IntervalJoined add_interval_join(IntervalJoinSpec spec, const Handle& left, const Handle& right);

void set_uid(const Handle& handle, std::string id);
void take_elements(const Handle& in, const RowType& type, std::string name,
                   std::function<void(const void*)> take);

// Hashes as Java's hashCode gives them: the key groups are those of Flink's DataStream API.
int32_t hash_text(std::string_view text);
int32_t hash_long(int64_t value);
int32_t hash_bool(bool value);
int32_t hash_float(float value);
int32_t hash_double(double value);
int32_t hash_tuple(const std::vector<int32_t>& fields);

template <class K>
int32_t key_hash(const K& key) {
  if constexpr (std::is_same_v<K, bool>) {
    return hash_bool(key);
  } else if constexpr (std::is_enum_v<K>) {
    return static_cast<int32_t>(key);
  } else if constexpr (std::is_same_v<K, float>) {
    return hash_float(key);
  } else if constexpr (std::is_same_v<K, double>) {
    return hash_double(key);
  } else if constexpr (std::is_integral_v<K>) {
    return sizeof(K) > 4 ? hash_long(static_cast<int64_t>(key)) : static_cast<int32_t>(key);
  } else if constexpr (std::is_same_v<K, std::string>) {
    return hash_text(key);
  } else if constexpr (std::is_same_v<K, Timestamp>) {
    return hash_long(millis_of(key));
  } else if constexpr (requires { key.has_value(); }) {
    return key ? key_hash(*key) : 0;
  } else {
    std::vector<int32_t> hashes;
    Parts<K>::visit(key, [&](const auto&, const auto& part) { hashes.push_back(key_hash(part)); });
    return hash_tuple(hashes);
  }
}

}  // namespace strandline::detail
