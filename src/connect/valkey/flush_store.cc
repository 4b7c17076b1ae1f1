#include "connect/valkey/flush_store.h"

#include <charconv>
#include <optional>

#include "connect/table/history.h"
#include "connect/table/value_text.h"
#include "connect/valkey/scripts.h"
#include "connect/valkey/session.h"

namespace strand::connect::valkey {

using table::Answer;
using table::Listing;
using table::Request;
using table::Tagged;
using table::WriterClaim;
using table::WriterSpec;
using table::WriteTag;

namespace {

constexpr size_t kRowsAtOnce = 1'000;  // of a listing

std::string number(int64_t value) { return std::to_string(value); }

std::optional<int64_t> number_of(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

/// Binary keys as texts, for people who look at a row.
std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<uint8_t>(c) >> 4];
    text += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return text;
}

std::string bytes_of(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1]));
  return bytes;
}

const char* letter(Request::Kind kind) {
  switch (kind) {
    case Request::Kind::kPut:
      return "p";
    case Request::Kind::kDelete:
      return "d";
    case Request::Kind::kRewrite:
      return "w";
    case Request::Kind::kRemove:
      return "m";
  }
  return "";
}

std::string expected_text(const Request& request) {
  if (request.kind == Request::Kind::kPut || request.kind == Request::Kind::kDelete) return "";
  if (!request.expected) return "none";
  const WriteTag& tag = *request.expected;
  return number(tag.generation.value) + " " + number(tag.attempt.value) + " " + number(tag.epoch.value);
}

std::string steps_text(const table::RestoreHistory& history) {
  std::string text;
  for (const auto& step : history.steps()) {
    text += number(step.generation.value) + " " + number(step.attempt.value) + " " +
            number(step.lowest.value) + " ";
  }
  return text;
}

Answer answer_of(char letter) {
  switch (letter) {
    case 'C':
      return Answer::kRefusedClosed;
    case 'H':
      return Answer::kRefusedHigher;
    case 'X':
      return Answer::kChanged;
    default:
      return Answer::kWritten;
  }
}

class ValkeyFlushStore final : public table::TableStore {
 public:
  explicit ValkeyFlushStore(ValkeyOptions options) : session_(std::move(options)) {}

  Status check(const WriterSpec& spec) override;
  Status open(const WriterSpec& spec) override;
  Status claim(const WriterClaim& claim) override;
  Result<std::vector<Answer>> apply(const std::vector<Request>& requests) override;
  Result<Listing> list(Epoch low, Epoch high) override;
  void close() override { session_.close(); }

 private:
  std::string name(const std::string& what, const std::string& of) const {
    return "strandline:" + what + ":" + of;
  }
  std::string index() const { return name("index", spec_.table + ":" + spec_.writer); }
  Status fenced(std::string_view found) const;
  void add(const Request& request, Command& command) const;
  Status append_tags(const Reply& tags, Epoch low, Epoch high, Listing& out) const;

  Session session_;
  WriterSpec spec_;
  WriterClaim claim_;
  Command apply_;  // its arguments that are the same for all requests
};

Status ValkeyFlushStore::check(const WriterSpec& spec) {
  spec_ = spec;
  return session_.check();
}

Status ValkeyFlushStore::open(const WriterSpec& spec) {
  spec_ = spec;
  STRAND_OK(session_.check());
  STRAND_TRY(const Reply job,
             session_.run(kTakeWriter, {name("writers", spec.table), spec.writer, spec.job}));
  if (job.text() == spec.job) return Status();
  return Status(ErrorCode::kWriterTaken, "writer '" + spec.writer + "' of table " + spec.table +
                                             " belongs to job '" + std::string(job.text()) + "'")
      .at(session_.where())
      .hint("give the writer another name: INSERT INTO t /*+ OPTIONS('strand.writer' = '...') */");
}

Status ValkeyFlushStore::fenced(std::string_view found) const {
  return Status(ErrorCode::kFenced, "table " + spec_.table + ": expected generation " +
                                        number(claim_.generation.value) + " of job '" + spec_.job +
                                        "' to be at attempt " + number(claim_.attempt.value) + ", found " +
                                        (found == "closed" ? "it stopped" : "attempt " + std::string(found)))
      .at(session_.where())
      .hint("a newer start of the job owns the table. If its state folder is lost, remove the key " +
            name("attempts", spec_.job) + " and the table's keys");
}

Status ValkeyFlushStore::claim(const WriterClaim& claim) {
  claim_ = claim;
  const table::RestoreHistory history(claim.history, claim.generation, claim.attempt);
  apply_ = {name("attempts", spec_.job),
            index(),
            name("deletes", spec_.table),
            number(claim.generation.value),
            number(claim.attempt.value),
            spec_.writer,
            claim.closed_row ? number(claim.closed_row->value) : "",
            spec_.owns_rows ? "1" : "0",
            steps_text(history),
            std::to_string(spec_.key->size()),
            std::to_string(spec_.values->size())};
  const columnar::SchemaPtr row = table::row_schema(spec_);
  for (const columnar::Field& field : row->fields()) apply_.push_back(field.name);
  const std::string attempt = number(claim.attempt.value);
  STRAND_TRY(const Reply found,
             session_.run(kClaim, {name("attempts", spec_.job), number(claim.generation.value), attempt,
                                   claim.elders_run ? "1" : "0"}));
  return found.text() == attempt ? Status() : fenced(found.text());
}

void ValkeyFlushStore::add(const Request& request, Command& command) const {
  const columnar::Batch& rows = *request.batch;
  const WriteTag& tag = request.tag;
  const size_t keys = spec_.key->size();
  command.insert(command.end(), {letter(request.kind), row_name(spec_.table, rows, request.row, keys),
                                 number(tag.epoch.value), number(tag.generation.value),
                                 number(tag.attempt.value), hex(request.key), expected_text(request)});
  for (size_t i = 0; i < keys; ++i) {
    command.emplace_back();
    table::print_text(rows.column(i), request.row, command.back());
  }
  for (size_t i = keys; i < keys + spec_.values->size(); ++i) {
    const bool null = i >= rows.columns().size() || rows.column(i).is_null(request.row);
    command.emplace_back(null ? "-" : "+");
    if (!null) table::print_text(rows.column(i), request.row, command.back());
  }
}

Result<std::vector<Answer>> ValkeyFlushStore::apply(const std::vector<Request>& requests) {
  Command command = apply_;
  for (const Request& request : requests) add(request, command);
  STRAND_TRY(const Reply reply, session_.write(kApply, std::move(command)));
  const std::string_view text = reply.text();
  if (constexpr std::string_view kFencedWord = "fenced "; text.starts_with(kFencedWord))
    return fenced(text.substr(kFencedWord.size()));
  std::vector<Answer> answers;
  for (const char each : text) answers.push_back(answer_of(each));
  return answers;
}

Result<Listing> ValkeyFlushStore::list(Epoch low, Epoch high) {
  Listing listing;
  STRAND_TRY(const Reply rows,
             session_.call({"ZRANGEBYSCORE", index(), number(low.value), number(high.value)}));
  for (size_t from = 0; from < rows.size(); from += kRowsAtOnce) {
    Command names = {index(), spec_.writer};
    for (size_t i = from; i < std::min(rows.size(), from + kRowsAtOnce); ++i)
      names.emplace_back(rows[i].text());
    STRAND_TRY(const Reply tags, session_.run(kTags, std::move(names)));
    STRAND_OK(append_tags(tags, low, high, listing));
  }
  STRAND_TRY(const Reply deletes, session_.call({"HGET", name("deletes", spec_.table), spec_.writer}));
  listing.deletes = number_of(deletes.text()).value_or(-1) >= low.value;
  return listing;
}

/// Rows that somebody has written since they were found are of another epoch, perhaps.
Status ValkeyFlushStore::append_tags(const Reply& tags, Epoch low, Epoch high, Listing& out) const {
  for (size_t i = 0; i + 3 < tags.size(); i += 4) {
    if (tags[i].is_nil()) continue;
    const auto generation = number_of(tags[i].text());
    const auto attempt = number_of(tags[i + 1].text());
    const auto epoch = number_of(tags[i + 2].text());
    if (!generation || !attempt || !epoch) {
      return Status(ErrorCode::kSinkSchema, "a row of " + spec_.table +
                                                " has a tag that is none, generation '" +
                                                std::string(tags[i].text()) + "'")
          .at(session_.where())
          .hint("somebody else has written the fields " + spec_.writer +
                "_gen, _attempt or _ckpt: remove that row");
    }
    const WriteTag tag{{*generation}, {*attempt}, {*epoch}, 0};
    if (tag.epoch < low || tag.epoch > high || tag.generation > claim_.generation) continue;
    out.values.push_back({bytes_of(tags[i + 3].text()), tag});
  }
  return Status();
}

}  // namespace

std::string row_name(const std::string& table, const columnar::Batch& rows, int64_t row, size_t keys) {
  std::string name = table;
  std::string text;
  for (size_t i = 0; i < keys; ++i) {
    name += ':';
    text.clear();
    table::print_text(rows.column(i), row, text);
    for (const char c : text) {
      if (c == ':' || c == '\\') name += '\\';
      name += c;
    }
  }
  return name;
}

std::unique_ptr<table::TableStore> make_flush_store(ValkeyOptions options) {
  return std::make_unique<ValkeyFlushStore>(std::move(options));
}

}  // namespace strand::connect::valkey
