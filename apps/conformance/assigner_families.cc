// The operators that make watermarks in the middle of a pipeline: records, watermarks and statuses in one
// order.
#include <map>

#include "conformance/family.h"
#include "conformance/strategy.h"
#include "time/assigner.h"

namespace strand::conformance {
namespace {

class Events : public time::WatermarkOutput {
 public:
  void watermark(EventTime time) override { add({{"wm", time.millis}}); }
  void status(bool idle) override { add({{"status", idle ? "idle" : "active"}}); }
  void add(Json event) { events_.push_back(std::move(event)); }
  Json take() {
    Json result = Json::object();
    if (!events_.empty()) result["out"] = std::exchange(events_, Json::array());
    return result;
  }

 private:
  Json events_ = Json::array();
};

/// Steps that both operators share. Neither keeps state: a restore starts anew.
class AssignerReplay : public Replay {
 public:
  explicit AssignerReplay(const Json& config) : now_{number(config, "start_processing_time", 0)} {}

  Result<Json> step(const Json& step) override {
    const std::string op = text(step, "op");
    if (op == "element") {
      STRAND_OK(row(step));
    } else if (op == "watermark") {
      watermark({step.at("ts").get<int64_t>()});
    } else if (op == "end") {
      watermark(EventTime::max());
    } else if (op == "status") {
      status(flag(step, "idle"));
    } else if (op == "processing_time") {
      now_ = {step.at("ts").get<int64_t>()};
      clock();
    } else if (op == "restore") {
      open();
      clock();
    } else if (op != "snapshot") {
      return Status(ErrorCode::kBadUsage, "unknown step " + step.dump());
    }
    return out_.take();
  }

 protected:
  virtual void open() = 0;
  virtual Status row(const Json& step) = 0;
  virtual void watermark(EventTime time) = 0;
  virtual void status(bool idle) = 0;
  virtual void clock() = 0;

  WallTime now_;
  Events out_;
};

class StreamReplay : public AssignerReplay {
 public:
  explicit StreamReplay(const Json& config)
      : AssignerReplay(config),
        strategy_(config.at("strategy")),
        interval_{config.at("interval").get<int64_t>()} {
    StreamReplay::open();
  }

 private:
  void open() override {
    assigner_.emplace(strategy_.generator(), strategy_.idle_timeout(), interval_, now_);
  }
  Status row(const Json& step) override {
    const Row row = strategy_.row(step);
    out_.add({{"v", {step.at("key"), row.value}}, {"ts", row.time.millis}});
    assigner_->on_events(row.events(), out_);
    return {};
  }
  void watermark(EventTime time) override { assigner_->on_watermark(time, out_); }
  void status(bool) override {}
  void clock() override {
    if (assigner_->next_tick() <= now_) assigner_->on_tick(now_, out_);
  }

  Strategy strategy_;
  Duration interval_;
  std::optional<time::StreamAssigner> assigner_;
};

class SqlReplay : public AssignerReplay {
 public:
  explicit SqlReplay(const Json& config)
      : AssignerReplay(config),
        delay_{config.at("delay").get<int64_t>()},
        interval_{config.at("interval").get<int64_t>()} {
    const int64_t timeout = number(config, "idle_timeout", 0);
    if (timeout > 0) idle_timeout_ = Duration{timeout};
    SqlReplay::open();
  }

 private:
  void open() override { assigner_.emplace(interval_, idle_timeout_, now_); }
  Status row(const Json& step) override {
    assigner_->before_row(out_);
    const auto rowtime = step.find("ts");
    if (rowtime == step.end() || rowtime->is_null()) {
      return Status(ErrorCode::kMissingEventTime, "expected an event time, found NULL");
    }
    const EventTime time{rowtime->get<int64_t>()};
    const int64_t value = number(step, "value", 0);
    out_.add({{"v", {"+I", step.at("key"), value, time.millis}}, {"ts", nullptr}});
    assigner_->after_row(value < 0 ? std::nullopt : std::optional(time - delay_), out_);
    return {};
  }
  void watermark(EventTime time) override { assigner_->on_watermark(time, out_); }
  void status(bool idle) override { assigner_->on_status(idle, out_); }
  void clock() override {
    if (assigner_->next_tick() <= now_) assigner_->on_tick(now_, out_);
  }

  Duration delay_;
  Duration interval_;
  std::optional<Duration> idle_timeout_;
  std::optional<time::SqlAssigner> assigner_;
};

template <class R>
Family assigned_by(const Json& config) {
  Family family;
  family.replay = std::make_unique<R>(config);
  return family;
}

}  // namespace

std::optional<Family> make_assigner_family(const std::string& family, const Json& config) {
  if (family == "timestamps_operator") return assigned_by<StreamReplay>(config);
  if (family == "sql_watermark") return assigned_by<SqlReplay>(config);
  return std::nullopt;
}

}  // namespace strand::conformance
