#include "ops/lookup_join.h"

#include <algorithm>

#include "ops/keys.h"
#include "ops/rows.h"
#include "state/key_slots.h"

namespace strand::ops {

namespace {

using columnar::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

SchemaPtr part_of(const SchemaPtr& schema, size_t from) {
  const auto& fields = schema->fields();
  return std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>(fields.begin() + static_cast<std::ptrdiff_t>(from), fields.end()));
}

SchemaPtr key_schema(const SchemaPtr& input, const std::vector<size_t>& keys) {
  std::vector<columnar::Field> fields;
  for (const size_t key : keys) fields.push_back((*input)[key]);
  return std::make_shared<const columnar::Schema>(std::move(fields));
}

class LookupJoin : public Operator {
 public:
  LookupJoin(LookupJoinOptions options, std::unique_ptr<expr::Evaluator> condition)
      : options_(std::move(options)),
        condition_(std::move(condition)),
        key_schema_(key_schema(options_.input, options_.keys)),
        reader_(options_.input, options_.keys),
        found_(part_of(options_.output, options_.input->size())) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    return Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    context_->ledger->add(Entry::kIn, batch.rows());
    const auto list = row_list_.of(batch);
    STRAND_TRY(const Batch partners, look_up(batch, list));
    STRAND_OK(pair(list));
    if (condition_) STRAND_OK(check_condition(batch, partners));
    return emit(batch, list, partners, out);
  }
  /// What the table has for rows that are told again may be another answer: nobody downstream holds it.
  Status process_held(const Batch&, Emitter&) override { return Status(); }

 private:
  struct Range {
    uint32_t from = 0;
    uint32_t to = 0;
    bool asked = false;
  };

  /// Asks for each different key once; ranges_ then says where the rows of each key are in the answer.
  Result<Batch> look_up(const Batch& batch, std::span<const uint32_t> list) {
    reader_.read(batch, list);
    std::vector<columnar::ColumnPtr> columns;
    for (const size_t key : options_.keys) columns.push_back(batch.column_ptr(key));
    const Batch keys(key_schema_, std::move(columns), batch.physical_rows());
    state::KeySlots<Range> ranges;
    ranges_.assign(list.size(), {});
    for (size_t i = 0; i < list.size(); ++i) {
      if (std::ranges::any_of(options_.keys, [&](size_t key) { return batch.column(key).is_null(list[i]); }))
        continue;
      Range& range = ranges[ranges.find_or_add(reader_.hashes()[i], reader_.keys()[i])];
      if (!range.asked) {
        range.asked = true;
        range.from = static_cast<uint32_t>(found_.rows());
        STRAND_OK(options_.lookup->find(keys, list[i], found_));
        range.to = static_cast<uint32_t>(found_.rows());
      }
      ranges_[i] = range;
    }
    return found_.finish();
  }

  Status pair(std::span<const uint32_t> list) {
    left_.clear();
    right_.clear();
    for (size_t i = 0; i < list.size(); ++i) {
      for (uint32_t partner = ranges_[i].from; partner < ranges_[i].to; ++partner) {
        left_.push_back(static_cast<uint32_t>(i));
        right_.push_back(partner);
      }
    }
    if (left_.size() <= static_cast<size_t>(Batch::kMaxRows)) return Status();
    return Status(ErrorCode::kLimitExceeded, "a batch of " + std::to_string(list.size()) + " rows has " +
                                                 std::to_string(left_.size()) + " partners in the table")
        .hint("join by a key that the table has once");
  }

  /// The pairs as rows of the output.
  Batch pairs_of(const Batch& batch, std::span<const uint32_t> list, const Batch& partners) const {
    std::vector<uint32_t> rows;
    for (const uint32_t i : left_) rows.push_back(list[i]);
    std::vector<columnar::ColumnPtr> columns;
    for (const auto& column : batch.columns()) columns.push_back(columnar::gather(*column, rows));
    for (const auto& column : partners.columns()) columns.push_back(columnar::gather(*column, right_));
    return Batch(options_.output, std::move(columns), static_cast<int64_t>(rows.size()));
  }

  Status check_condition(const Batch& batch, const Batch& partners) {
    if (left_.empty()) return Status();
    STRAND_TRY(const columnar::SelectionPtr kept,
               condition_->select(pairs_of(batch, row_list_.of(batch), partners),
                                  {context_->now, context_->judge()}));
    if (!kept) return Status();
    for (size_t k = 0; k < kept->size(); ++k) {
      left_[k] = left_[(*kept)[k]];
      right_[k] = right_[(*kept)[k]];
    }
    left_.resize(kept->size());
    right_.resize(kept->size());
    return Status();
  }

  Status emit(const Batch& batch, std::span<const uint32_t> list, const Batch& partners, Emitter& out) {
    std::vector<bool> alone(list.size(), true);
    for (const uint32_t i : left_) alone[i] = false;
    const auto without = std::count(alone.begin(), alone.end(), true);
    context_->ledger->add(options_.outer ? Entry::kCounted : Entry::kFiltered, without);
    context_->ledger->add(Entry::kCounted, static_cast<int64_t>(list.size()) - without);
    if (!options_.outer || without == 0) {
      if (left_.empty()) return Status();
      auto kinds = std::make_shared<std::vector<uint8_t>>();
      for (const uint32_t i : left_) kinds->push_back(static_cast<uint8_t>(batch.kind(list[i])));
      context_->ledger->add(Entry::kOut, static_cast<int64_t>(left_.size()));
      Batch pairs = pairs_of(batch, list, partners);
      return out.emit(Port::kMain, batch.kinds() ? pairs.with_kinds(std::move(kinds)) : std::move(pairs));
    }
    RowEmitter rows(options_.output, out, Port::kMain);
    size_t next = 0;
    for (uint32_t i = 0; i < list.size(); ++i) {
      const auto append = [&](const Batch* right, uint32_t partner) {
        for (size_t c = 0; c < options_.input->size(); ++c)
          rows.row().column(c).append_from(batch.column(c), list[i]);
        for (size_t c = options_.input->size(); c < options_.output->size(); ++c) {
          if (right == nullptr) {
            rows.row().column(c).append_null();
          } else {
            rows.row().column(c).append_from(right->column(c - options_.input->size()), partner);
          }
        }
        return rows.end_row(batch.kind(list[i]));
      };
      if (alone[i]) STRAND_OK(append(nullptr, 0));
      for (; next < left_.size() && left_[next] == i; ++next) STRAND_OK(append(&partners, right_[next]));
    }
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kOut, rows.rows());
    return Status();
  }

  LookupJoinOptions options_;
  std::unique_ptr<expr::Evaluator> condition_;  // or null
  SchemaPtr key_schema_;
  OperatorContext* context_ = nullptr;

  // Scratch memory of one batch: pairs of a row (its place in the list) and a partner.
  Keys reader_;
  RowList row_list_;
  columnar::BatchBuilder found_;
  std::vector<Range> ranges_;
  std::vector<uint32_t> left_;
  std::vector<uint32_t> right_;
};

}  // namespace

Result<OperatorPtr> make_lookup_join(LookupJoinOptions options) {
  std::unique_ptr<expr::Evaluator> condition;
  if (options.condition) {
    STRAND_TRY(condition, expr::compile(options.condition, options.compile));
  }
  return OperatorPtr(std::make_unique<LookupJoin>(std::move(options), std::move(condition)));
}

}  // namespace strand::ops
