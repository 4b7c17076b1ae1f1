// Families that are no operators: generators, sources, multiplexer, valve, combined status.
#include <map>
#include <vector>

#include "conformance/family.h"
#include "conformance/strategy.h"
#include "time/combined_status.h"
#include "time/shard_watermarks.h"
#include "time/valve.h"

namespace strand::conformance {
namespace {

class EventList : public time::WatermarkOutput {
 public:
  void watermark(EventTime time) override { events_.push_back({{"wm", time.millis}}); }
  void status(bool idle) override { events_.push_back({{"status", idle ? "idle" : "active"}}); }
  void add(Json event) { events_.push_back(std::move(event)); }
  Json take() {
    Json result = Json::object();
    if (!events_.empty()) result["out"] = std::exchange(events_, Json::array());
    return result;
  }

 protected:
  Json events_ = Json::array();
};

Status unknown_step(const Json& step) { return Status(ErrorCode::kBadUsage, "unknown step " + step.dump()); }

class GeneratorReplay : public Replay {
 public:
  explicit GeneratorReplay(const Json& config)
      : strategy_(config.at("strategy")),
        generator_(strategy_.generator(), strategy_.idle_timeout()),
        clock_{number(config, "start_clock", 1)} {}

  Result<Json> step(const Json& step) override {
    const std::string op = text(step, "op");
    if (op == "event") {
      const Row row = strategy_.row(step);
      generator_.on_events(row.events(), out_);
    } else if (op == "tick") {
      generator_.on_tick(clock_, out_);
    } else if (op == "clock") {
      clock_ = {step.at("ts").get<int64_t>()};
    } else {
      return unknown_step(step);
    }
    return out_.take();
  }

 private:
  Strategy strategy_;
  time::TimedGenerator generator_;
  WallTime clock_;
  EventList out_;
};

/// Shards by name, and what their parts say.
class NamedParts : public time::PartListener {
 public:
  explicit NamedParts(EventList& out) : out_(out) {}
  void add(const std::string& name, size_t part) {
    parts_[name] = part;
    names_[part] = name;
  }
  size_t operator[](const std::string& name) const { return parts_.at(name); }
  bool has(const std::string& name) const { return parts_.contains(name); }
  void remove(const std::string& name) { parts_.erase(name); }
  void part_idle(size_t part, bool idle) override {
    out_.add({{"split", names_.at(part)}, {"split_idle", idle}});
  }
  void part_watermark(size_t part, EventTime time) override {
    out_.add({{"split", names_.at(part)}, {"split_wm", time.millis}});
  }

 private:
  EventList& out_;
  std::map<std::string, size_t> parts_;
  std::map<size_t, std::string> names_;
};

class MultiplexerReplay : public Replay {
 public:
  explicit MultiplexerReplay(const Json&) : parts_(out_), multiplexer_(&parts_) {}

  Result<Json> step(const Json& step) override {
    const std::string op = text(step, "op");
    const std::string split = text(step, "split");
    const auto mode = text(step, "mode") == "immediate" ? time::Multiplexer::Mode::kImmediate
                                                        : time::Multiplexer::Mode::kDeferred;
    if (op == "register") {
      if (parts_.has(split))
        return Status(ErrorCode::kDuplicateName, "a part is named " + split + " already");
      parts_.add(split, multiplexer_.add());
    } else if (op == "unregister") {
      const bool known = parts_.has(split);
      if (known) multiplexer_.remove(parts_[split]);
      parts_.remove(split);
      Json result = out_.take();
      result["returned"] = known;
      return result;
    } else if (op != "periodic" && !parts_.has(split)) {
      return Status(ErrorCode::kBadUsage, "no part is named " + split);
    } else if (op == "emit") {
      multiplexer_.watermark(parts_[split], {step.at("ts").get<int64_t>()}, mode, out_);
    } else if (op == "idle" || op == "active") {
      multiplexer_.status(parts_[split], op == "idle", mode, out_);
    } else if (op == "periodic") {
      multiplexer_.on_tick(out_);
    } else {
      return unknown_step(step);
    }
    return out_.take();
  }

 private:
  EventList out_;
  NamedParts parts_;
  time::Multiplexer multiplexer_;
};

/// Writes down what a source announces, and what it tells its listener beside it.
class SourceEvents : public EventList {
 public:
  void watermark(EventTime time) override {
    const Json effective{{"effective_wm", time.millis}};
    if (woken_) {
      events_.insert(events_.end() - 2, effective);
    } else {
      events_.push_back(effective);
    }
    woken_ = false;
    EventList::watermark(time);
  }
  void status(bool idle) override {
    EventList::status(idle);
    add({{"source_idle", idle}});
    woken_ = !idle;
  }

 private:
  bool woken_ = false;
};

class SourceReplay : public Replay {
 public:
  explicit SourceReplay(const Json& config)
      : strategy_(config.at("strategy")),
        parts_(out_),
        shards_({strategy_.generator(), strategy_.idle_timeout(), {}}),
        clock_{number(config, "start_clock", 1)} {
    shards_.listen(&parts_);
  }

  Result<Json> step(const Json& step) override {
    const std::string op = text(step, "op");
    const std::string split = text(step, "split");
    if (op == "add_split") {
      parts_.add(split, shards_.add(split));
    } else if (op == "release_split") {
      shards_.remove(parts_[split]);
      parts_.remove(split);
      out_.add({{"split", split}, {"finished", true}});
    } else if (op == "event") {
      const Row row = strategy_.row(step);
      out_.add({{"record", row.value}, {"ts", row.time.millis}});
      if (split.empty()) {
        shards_.observe_own(row.events(), clock_, out_);
      } else {
        shards_.observe(parts_[split], row.events(), clock_, out_);
      }
    } else if (op == "tick") {
      shards_.tick(clock_, out_);
    } else if (op == "clock") {
      clock_ = {step.at("ts").get<int64_t>()};
    } else if (op == "pause") {
      shards_.pause(parts_[split], clock_);
    } else if (op == "resume") {
      shards_.resume(parts_[split], clock_);
    } else {
      return unknown_step(step);
    }
    return out_.take();
  }

 private:
  Strategy strategy_;
  SourceEvents out_;
  NamedParts parts_;
  time::ShardWatermarks shards_;
  WallTime clock_;
};

class ValveReplay : public Replay {
 public:
  explicit ValveReplay(const Json& config) : valve_(config.at("channels").get<size_t>()) {}
  Result<Json> step(const Json& step) override {
    const auto channel = step.at("channel").get<size_t>();
    if (text(step, "op") == "watermark") {
      valve_.on_watermark(channel, {step.at("ts").get<int64_t>()}, out_);
    } else {
      valve_.on_status(channel, flag(step, "idle"), out_);
    }
    return out_.take();
  }

 private:
  EventList out_;
  time::Valve valve_;
};

class CombinedReplay : public Replay {
 public:
  explicit CombinedReplay(const Json& config) : status_(config.at("inputs").get<size_t>()) {}
  Result<Json> step(const Json& step) override {
    const auto input = step.at("input").get<size_t>();
    const bool updated = text(step, "op") == "watermark"
                             ? status_.update_watermark(input, {step.at("ts").get<int64_t>()})
                             : status_.update_idle(input, flag(step, "idle"));
    return Json{{"updated", updated}, {"combined", status_.combined().millis}, {"idle", status_.idle()}};
  }

 private:
  time::CombinedStatus status_;
};

template <class R>
Family replayed_by(const Json& config) {
  Family family;
  family.replay = std::make_unique<R>(config);
  return family;
}

}  // namespace

std::optional<Family> make_watermark_family(const std::string& family, const Json& config) {
  if (family == "watermark_generator") return replayed_by<GeneratorReplay>(config);
  if (family == "watermark_multiplexer") return replayed_by<MultiplexerReplay>(config);
  if (family == "source_watermarks") return replayed_by<SourceReplay>(config);
  if (family == "watermark_valve") return replayed_by<ValveReplay>(config);
  if (family == "combined_status") return replayed_by<CombinedReplay>(config);
  return std::nullopt;
}

}  // namespace strand::conformance
