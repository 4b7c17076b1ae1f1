#include "conformance/program.h"

#include "state/keyed/states.h"

namespace strand::conformance {
namespace {

using ops::ProcessContext;
using ops::Record;
using state::TimeDomain;
using SumCount = std::vector<int64_t>;

std::optional<state::Ttl> ttl_of(const Json& config) {
  const auto found = config.find("ttl");
  if (found == config.end() || found->is_null()) return std::nullopt;
  return state::Ttl{.life = {found->at("ms").get<int64_t>()},
                    .renew_on_read = text(*found, "update") == "read_and_write",
                    .return_expired = text(*found, "visibility") == "return_expired_if_not_cleaned_up",
                    .drop_in_snapshot = flag(*found, "cleanup_full_snapshot")};
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

/// Runs commands against the five kinds of state and the timers.
class Program {
 public:
  explicit Program(const Json& config) : config_(config) {}

  Status open(state::KeyedState& keyed) {
    const auto ttl = ttl_of(config_);
    const auto sum = [](const int64_t& a, const int64_t& b) { return a + b; };
    const state::Aggregation<int64_t, SumCount, SumCount> sum_count{
        .initial = {0, 0},
        .add = [](const SumCount& acc, const int64_t& x) { return SumCount{acc[0] + x, acc[1] + 1}; },
        .result = [](const SumCount& acc) -> Result<SumCount> { return acc; },
        .merge = [](const SumCount& a, const SumCount& b) { return SumCount{a[0] + b[0], a[1] + b[1]}; }};
    STRAND_TRY(value_, state::ValueState<int64_t>::open(keyed, "v", ttl));
    STRAND_TRY(list_, state::ListState<int64_t>::open(keyed, "l", ttl));
    STRAND_TRY(map_, (state::MapState<std::string, int64_t>::open(keyed, "m", ttl)));
    STRAND_TRY(reducing_, state::ReducingState<int64_t>::open(keyed, "r", sum, ttl));
    STRAND_TRY(aggregating_,
               (state::AggregatingState<int64_t, SumCount, SumCount>::open(keyed, "a", sum_count, ttl)));
    return {};
  }

  Status run(const Json& commands, ProcessContext& context) {
    for (const Json& command : commands) {
      const auto op = command.at(0).get<std::string>();
      const Json argument = command.size() > 1 ? command.at(1) : Json();
      if (op == "emit") {
        emit(context, {op, context.key(), argument});
      } else if (op == "ctx") {
        emit(context, {op, context.key(), or_null(context.timestamp()), context.watermark().millis,
                       context.now().millis});
      } else if (op[0] == 'e' || op[0] == 'p') {
        time(op, argument.get<int64_t>(), context);
      } else {
        STRAND_OK(state(op, command, argument, context));
      }
    }
    return {};
  }

  Status on_timer(TimeDomain domain, int64_t time, ProcessContext& context) {
    const bool event = domain == TimeDomain::kEvent;
    emit(context, {"timer", context.key(), event ? "event" : "processing", time, context.watermark().millis,
                   context.now().millis});
    const std::string program = (event ? "e:" : "p:") + std::to_string(time);
    if (config_.contains("on_timer") && config_.at("on_timer").contains(program)) {
      STRAND_OK(run(config_.at("on_timer").at(program), context));
    }
    const Json chain = config_.value(event ? "chain_event" : "chain_processing", Json());
    if (chain.is_null()) return {};
    const int64_t next = time + chain.at(0).get<int64_t>();
    if (next > chain.at(1).get<int64_t>()) return {};
    if (event) {
      context.set_event_timer({next});
    } else {
      context.set_processing_timer({next});
    }
    return {};
  }

  static void emit(ProcessContext& context, const Json& value) { context.emit(0, value.dump()); }
  state::ValueState<int64_t>& value() { return *value_; }

 private:
  static void time(const std::string& op, int64_t time, ProcessContext& context) {
    if (op == "et") context.set_event_timer({time});
    if (op == "et.delete") context.erase_event_timer({time});
    if (op == "pt") context.set_processing_timer({time});
    if (op == "pt.delete") context.erase_processing_timer({time});
  }

  Status state(const std::string& op, const Json& command, const Json& argument, ProcessContext& context) {
    const auto show = [&](Json result) { emit(context, {op, context.key(), std::move(result)}); };
    const std::string verb = op.substr(2);
    switch (op[0]) {
      case 'v':
        if (verb == "get") show(or_null(value_->get()));
        if (verb == "set") value_->set(argument.get<int64_t>());
        if (verb == "add") value_->set(value_->get().value_or(0) + argument.get<int64_t>());
        if (verb == "clear") value_->clear();
        return {};
      case 'l':
        if (verb == "get") show(list_->get());
        if (verb == "add") list_->add(argument.get<int64_t>());
        if (verb == "add_all") list_->add_all(argument.get<std::vector<int64_t>>());
        if (verb == "update") list_->set(argument.get<std::vector<int64_t>>());
        if (verb == "clear") list_->clear();
        return {};
      case 'm':
        map(verb, command, argument, show);
        return {};
      case 'r':
        if (verb == "get") show(or_null(reducing_->get()));
        if (verb == "add") reducing_->add(argument.get<int64_t>());
        if (verb == "clear") reducing_->clear();
        return {};
      default:
        if (verb == "get") {
          STRAND_TRY(const auto result, aggregating_->get());
          show(or_null(result));
        }
        if (verb == "add") aggregating_->add(argument.get<int64_t>());
        if (verb == "clear") aggregating_->clear();
        return {};
    }
  }

  template <class Show>
  void map(const std::string& verb, const Json& command, const Json& argument, Show& show) {
    if (verb == "entries") show(map_->entries());
    if (verb == "is_empty") show(map_->empty());
    if (verb == "clear") map_->clear();
    if (!argument.is_string()) return;
    const auto key = argument.get<std::string>();
    if (verb == "get") show(or_null(map_->get(key)));
    if (verb == "put") map_->put(key, command.at(2).get<int64_t>());
    if (verb == "remove") map_->remove(key);
    if (verb == "contains") show(map_->contains(key));
  }

  Json config_;
  std::optional<state::ValueState<int64_t>> value_;
  std::optional<state::ListState<int64_t>> list_;
  std::optional<state::MapState<std::string, int64_t>> map_;
  std::optional<state::ReducingState<int64_t>> reducing_;
  std::optional<state::AggregatingState<int64_t, SumCount, SumCount>> aggregating_;
};

class ProgramFunction : public ops::KeyedFunction {
 public:
  explicit ProgramFunction(const Json& config) : program_(config) {}
  Status open(state::KeyedState& keyed) override { return program_.open(keyed); }
  Status on_element(int, const Record& record, ProcessContext& context) override {
    return program_.run(Json::parse(record.payload), context);
  }
  Status on_timer(TimeDomain domain, int64_t time, ProcessContext& context) override {
    return program_.on_timer(domain, time, context);
  }

 private:
  Program program_;
};

class BroadcastProgram : public ops::BroadcastFunction {
 public:
  explicit BroadcastProgram(const Json& config) : program_(config) {}
  Status open(state::KeyedState& keyed) override { return program_.open(keyed); }
  Status on_element(int, const Record& record, ProcessContext& context) override {
    Json rules = Json::array();
    for (const auto& [name, value] : broadcast()) rules.push_back({name, value});
    Program::emit(context, {"rules", context.key(), std::move(rules)});
    return record.payload.empty() ? Status() : program_.run(Json::parse(record.payload), context);
  }
  Status on_broadcast(const Record& record, ops::BroadcastState& rules, ProcessContext& context) override {
    if (record.value == 0) {
      rules.erase(record.key);
    } else {
      rules[record.key] = record.value;
    }
    std::map<std::string, int64_t> values;
    program_.value().for_each_key([&](const std::string& key, std::optional<int64_t> value) {
      if (value) values[key] = *value;
    });
    Json all = Json::array();
    for (const auto& [key, value] : values) all.push_back({key, value});
    Program::emit(context,
                  {"all", record.key, std::move(all), context.timestamp().value_or(EventTime::min().millis),
                   context.watermark().millis});
    return {};
  }
  Status on_timer(TimeDomain domain, int64_t time, ProcessContext& context) override {
    return program_.on_timer(domain, time, context);
  }

 private:
  Program program_;
};

}  // namespace

std::unique_ptr<ops::KeyedFunction> make_program(const Json& config) {
  return std::make_unique<ProgramFunction>(config);
}

std::unique_ptr<ops::BroadcastFunction> make_broadcast_program(const Json& config) {
  return std::make_unique<BroadcastProgram>(config);
}

}  // namespace strand::conformance
