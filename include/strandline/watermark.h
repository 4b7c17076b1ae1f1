// How a stream's event time is made in the middle of a job.
#pragma once

#include "strandline/detail/call.h"

namespace strandline {

/// Takes the watermarks of a generator.
class WatermarkOutput {
 public:
  virtual ~WatermarkOutput() = default;
  virtual void emit_watermark(Timestamp watermark) = 0;
  /// Nobody waits for this stream until it is active again, by `mark_active` or with its next watermark.
  virtual void mark_idle() = 0;
  virtual void mark_active() = 0;
};

/// A program's own way to tell how far event time has come. One object for each shard of a source, or for
/// each subtask in the middle of a job; nothing of it is in a checkpoint: the elements that come again tell
/// it again.
template <class T>
class WatermarkGenerator {
 public:
  virtual ~WatermarkGenerator() = default;
  virtual void on_event(const T& element, Timestamp timestamp, WatermarkOutput& output) = 0;
  /// At every tick (pipeline.auto-watermark-interval).
  virtual void on_periodic_emit(WatermarkOutput& output) = 0;
};

namespace detail {

class GeneratorCode {
 public:
  virtual ~GeneratorCode() = default;
  virtual void on_event(const void* element, int64_t timestamp, WatermarkOutput& output) = 0;
  virtual void on_periodic_emit(WatermarkOutput& output) = 0;
};

struct WatermarkSpec {
  enum class Kind : uint8_t { kBounded, kNone, kCustom };
  Kind kind = Kind::kNone;
  Millis bound{0};
  std::optional<Millis> idle_timeout = {};
  /// The timestamp of an element, which may have one already; none: as it is.
  std::function<int64_t(const void* element, std::optional<int64_t> timestamp)> timestamp_of = {};
  std::function<std::unique_ptr<GeneratorCode>()> make = {};  // kCustom
  bool per_shard = false;                                     // directly behind a source
};

template <class T>
class CustomGenerator final : public GeneratorCode {
 public:
  explicit CustomGenerator(std::unique_ptr<WatermarkGenerator<T>> generator)
      : generator_(std::move(generator)) {}
  void on_event(const void* element, int64_t timestamp, WatermarkOutput& output) override {
    generator_->on_event(*static_cast<const T*>(element), timestamp_of(timestamp), output);
  }
  void on_periodic_emit(WatermarkOutput& output) override { generator_->on_periodic_emit(output); }

 private:
  std::unique_ptr<WatermarkGenerator<T>> generator_;
};

template <class T, class F>
class PunctuatedGenerator final : public WatermarkGenerator<T> {
 public:
  explicit PunctuatedGenerator(F watermark_of) : watermark_of_(std::move(watermark_of)) {}
  void on_event(const T& element, Timestamp timestamp, WatermarkOutput& output) override {
    if (const std::optional<Timestamp> watermark = watermark_of_(element, timestamp))
      output.emit_watermark(*watermark);
  }
  void on_periodic_emit(WatermarkOutput&) override {}

 private:
  F watermark_of_;
};

}  // namespace detail

/// How elements get timestamps, and how far event time has come. Given to Job::source, where it holds for
/// each shard by itself, or to DataStream::assign_timestamps_and_watermarks.
template <class T>
class WatermarkStrategy {
 public:
  /// `highest timestamp - bound - 1 ms`: an element exactly the bound late is still on time.
  static WatermarkStrategy for_bounded_out_of_orderness(Millis bound) {
    return WatermarkStrategy({.kind = detail::WatermarkSpec::Kind::kBounded, .bound = bound});
  }
  /// Timestamps grow.
  static WatermarkStrategy for_monotonous_timestamps() { return for_bounded_out_of_orderness(Millis(0)); }
  /// Event time stands still until the end of the input.
  static WatermarkStrategy no_watermarks() { return WatermarkStrategy({}); }
  /// `f(element, timestamp)` says after which elements a watermark goes out at once:
  /// std::optional<Timestamp>.
  template <class F>
  static WatermarkStrategy for_punctuation(F f) {
    return for_generator([f] { return std::make_unique<detail::PunctuatedGenerator<T, F>>(f); });
  }
  /// `make()` gives a WatermarkGenerator<T> for each shard, or subtask.
  template <class F>
  static WatermarkStrategy for_generator(F make) {
    detail::WatermarkSpec spec{.kind = detail::WatermarkSpec::Kind::kCustom};
    spec.make = [make]() -> std::unique_ptr<detail::GeneratorCode> {
      return std::make_unique<detail::CustomGenerator<T>>(make());
    };
    return WatermarkStrategy(std::move(spec));
  }
  /// `f(element)` gives its timestamp: a member, or any function. Without it elements keep the one they have.
  template <class F>
  WatermarkStrategy with_timestamp_assigner(F f) const {
    WatermarkStrategy changed = *this;
    changed.spec_.timestamp_of = [f](const void* element, std::optional<int64_t>) {
      return int64_t{millis_of(Timestamp(std::invoke(f, *static_cast<const T*>(element))))};
    };
    return changed;
  }
  /// A shard, or subtask, that has had no element for so long is not waited for.
  WatermarkStrategy with_idleness(Millis timeout) const {
    WatermarkStrategy changed = *this;
    changed.spec_.idle_timeout = timeout;
    return changed;
  }
  /// What Job::source makes of it.
  WatermarkStrategy per_shard() const {
    WatermarkStrategy changed = *this;
    changed.spec_.per_shard = true;
    return changed;
  }
  const detail::WatermarkSpec& spec() const { return spec_; }

 private:
  explicit WatermarkStrategy(detail::WatermarkSpec spec) : spec_(std::move(spec)) {}
  detail::WatermarkSpec spec_;
};

}  // namespace strandline
