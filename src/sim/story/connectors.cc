#include "sim/story/connectors.h"

#include "columnar/print.h"
#include "connect/table/flush_sink.h"
#include "connect/table/transaction_sink.h"

namespace strand::sim {

namespace table = connect::table;

namespace {

std::optional<std::string> text_of(const columnar::Batch& batch, size_t column, int64_t row) {
  if (column >= batch.columns().size() || batch.column(column).is_null(row)) return std::nullopt;
  return columnar::value_to_string(batch.column(column), row);
}

/// Passes every call on and notes what was written.
class RecordingStore final : public table::TableStore {
 public:
  RecordingStore(std::unique_ptr<table::TableStore> inner, env::Clock* clock, std::vector<StoryWrite>* writes)
      : inner_(std::move(inner)), clock_(clock), writes_(writes) {}

  Status open(const table::WriterSpec& spec) override {
    spec_ = spec;
    return inner_->open(spec);
  }
  Status claim(const table::WriterClaim& claim) override { return inner_->claim(claim); }
  Result<table::Listing> list(Epoch low, Epoch high) override { return inner_->list(low, high); }
  void close() override { inner_->close(); }

  Result<std::vector<table::Answer>> apply(const std::vector<table::Request>& requests) override {
    STRAND_TRY(auto answers, inner_->apply(requests));
    for (size_t i = 0; i < requests.size(); ++i) note(requests[i], answers[i]);
    return answers;
  }

 private:
  void note(const table::Request& request, table::Answer answer) {
    StoryWrite write;
    write.at = clock_->now();
    write.table = spec_.table;
    write.writer = spec_.writer;
    write.kind = request.kind;
    const size_t keys = spec_.key->size();
    for (size_t i = 0; i < keys; ++i) {
      write.key += (i == 0 ? "" : " ") + text_of(*request.batch, i, request.row).value_or("NULL");
    }
    write.key = story_key(std::move(write.key));
    if (request.kind == table::Request::Kind::kPut || request.kind == table::Request::Kind::kRewrite) {
      for (size_t i = 0; i < spec_.values->size(); ++i) {
        write.columns.push_back((*spec_.values)[i].name);
        write.values.push_back(text_of(*request.batch, keys + i, request.row));
      }
    }
    write.tag = request.tag;
    write.answer = answer;
    writes_->push_back(std::move(write));
  }

  std::unique_ptr<table::TableStore> inner_;
  env::Clock* clock_;
  std::vector<StoryWrite>* writes_;
  table::WriterSpec spec_;
};

void note_rows(const columnar::Batch& rows, WallTime at, Epoch epoch, std::vector<StoryTopicRow>& out) {
  rows.for_each_row([&](int64_t row) {
    out.push_back({at, story_key(*text_of(rows, 0, row) + " " + *text_of(rows, 1, row)),
                   std::stoll(*text_of(rows, 2, row)), epoch});
  });
}

/// Notes what is committed.
class RecordingTransactions final : public table::TransactionStore {
 public:
  RecordingTransactions(std::unique_ptr<table::TransactionStore> inner, env::Clock* clock, StoryTopic* topic)
      : inner_(std::move(inner)), clock_(clock), topic_(topic) {}
  Result<std::vector<table::Marker>> check(const table::WriterSpec& spec) override {
    return inner_->check(spec);
  }
  Status open(const table::WriterSpec& spec) override { return inner_->open(spec); }
  Status claim(const table::SinkClaim& claim) override { return inner_->claim(claim); }
  Result<std::vector<table::Marker>> markers() override { return inner_->markers(); }
  Result<table::CommitOutcome> commit(const table::Commit& commit) override {
    STRAND_TRY(const auto outcome, inner_->commit(commit));
    if (outcome == table::CommitOutcome::kHad) return outcome;
    for (const auto& rows : commit.rows)
      note_rows(*rows, clock_->now(), commit.marker.epoch, topic_->committed);
    return outcome;
  }
  void close() override { inner_->close(); }

 private:
  std::unique_ptr<table::TransactionStore> inner_;
  env::Clock* clock_;
  StoryTopic* topic_;
};

/// Notes what the job hands to the sink.
class RecordingTopic final : public flow::Sink {
 public:
  RecordingTopic(std::unique_ptr<flow::Sink> inner, env::Clock* clock, StoryTopic* topic)
      : inner_(std::move(inner)), clock_(clock), topic_(topic) {}
  Status check(const flow::SinkStart& start) override { return inner_->check(start); }
  Status start(const flow::SinkStart& start) override {
    inner_->set_waker(waker_);
    return inner_->start(start);
  }
  Status held(const flow::Batch& rows) override { return inner_->held(rows); }
  Status held_end() override { return inner_->held_end(); }
  Status write(const flow::Batch& rows, flow::WriteTag tag) override {
    note_rows(rows, clock_->now(), tag.epoch, topic_->written);
    return inner_->write(rows, tag);
  }
  Result<bool> busy() override { return inner_->busy(); }
  Status before_barrier() override { return inner_->before_barrier(); }
  Result<bool> drained() override { return inner_->drained(); }
  Status snapshot(Epoch epoch, state::SnapshotBuilder& out) override { return inner_->snapshot(epoch, out); }
  Status committed(Epoch epoch) override { return inner_->committed(epoch); }
  Result<bool> close() override { return inner_->close(); }
  flow::SinkCounts counts() const override { return inner_->counts(); }
  WallTime next_wakeup() const override { return inner_->next_wakeup(); }

 private:
  std::unique_ptr<flow::Sink> inner_;
  env::Clock* clock_;
  StoryTopic* topic_;
};

class LogSink final : public flow::Sink {
 public:
  LogSink(env::Clock* clock, std::vector<StoryException>* rows) : clock_(clock), rows_(rows) {}

  Status start(const flow::SinkStart&) override { return Status(); }
  Status held(const flow::Batch&) override { return Status(); }
  Status held_end() override { return Status(); }
  Status write(const flow::Batch& rows, flow::WriteTag) override {
    rows.for_each_row([&](int64_t row) {
      const auto time = [&](size_t column) {  // of "2026-02-08 10:14:52.999Z"
        const auto text = text_of(rows, column, row);
        return text ? text->substr(11, 12) : std::string("none");
      };
      rows_->push_back({clock_->now(), *text_of(rows, 0, row), text_of(rows, 1, row).value_or(""),
                        text_of(rows, 2, row).value_or(""), time(3), time(4)});
    });
    counts_.rows_in += rows.rows();
    counts_.written += rows.rows();
    return Status();
  }
  Result<bool> busy() override { return false; }
  Status before_barrier() override { return Status(); }
  Result<bool> drained() override { return true; }
  Status snapshot(Epoch, state::SnapshotBuilder&) override { return Status(); }
  Status committed(Epoch) override { return Status(); }
  Result<bool> close() override { return true; }
  flow::SinkCounts counts() const override { return counts_; }

 private:
  env::Clock* clock_;
  std::vector<StoryException>* rows_;
  flow::SinkCounts counts_;
};

}  // namespace

std::optional<int64_t> StoryWrite::number(std::string_view column) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] == column && values[i]) return std::stoll(*values[i]);
  }
  return std::nullopt;
}

std::string story_key(std::string name) {
  constexpr std::string_view kDay = "2026-02-08 ";
  const size_t day = name.find(kDay);
  if (day != std::string::npos) name.erase(day, kDay.size());
  return name;
}

connect::Connector story_store(SimStore* store, table::Rules rules, bool one_by_one,
                               std::vector<StoryWrite>* writes) {
  connect::Connector connector;
  connector.sink = [=](const connect::TableContext& context) -> Result<std::unique_ptr<flow::Sink>> {
    table::FlushOptions options;
    options.closed_rows = context.closed_rows;
    options.lane = kStoryTables;
    if (one_by_one) options.batch_rows = 1;
    options.events = context.events;
    options.rules = rules;
    auto recorder = std::make_unique<RecordingStore>(store->connect(), context.env.clock, writes);
    return table::make_flush_sink(table::writer_spec(context, context.table), std::move(recorder),
                                  context.env, options);
  };
  return connector;
}

connect::Connector story_topic(SimStore* store, StoryTopic* topic) {
  connect::Connector connector;
  connector.sink = [=](const connect::TableContext& context) -> Result<std::unique_ptr<flow::Sink>> {
    table::TransactionOptions options;
    options.lane = kStoryTables;
    options.memory = context.memory;
    env::Clock* clock = context.env.clock;
    auto sink = table::make_transaction_sink(
        table::writer_spec(context, context.table),
        std::make_unique<RecordingTransactions>(store->connect_transactions(), clock, topic), context.env,
        options);
    return std::unique_ptr<flow::Sink>(std::make_unique<RecordingTopic>(std::move(sink), clock, topic));
  };
  connector.transactional = true;
  return connector;
}

connect::Connector story_log(std::vector<StoryException>* rows) {
  connect::Connector connector;
  connector.sink = [rows](const connect::TableContext& context) -> Result<std::unique_ptr<flow::Sink>> {
    return std::unique_ptr<flow::Sink>(std::make_unique<LogSink>(context.env.clock, rows));
  };
  return connector;
}

}  // namespace strand::sim
