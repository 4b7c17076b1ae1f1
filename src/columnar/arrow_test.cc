// What another library of the process finds when it walks an exported batch as the Arrow C Data Interface
// says.
#include "columnar/arrow.h"

#include <gmock/gmock.h>

#include <rapidcheck/gtest.h>

#include "columnar/print.h"
#include "columnar/random_column_test.h"

namespace strand::columnar {
namespace {

using ::testing::ElementsAre;

SchemaPtr arrow_schema(std::vector<Field> fields) { return std::make_shared<Schema>(std::move(fields)); }

/// A receiver: owns what was exported, and releases it.
struct Received {
  explicit Received(const Batch& batch) {
    export_schema(*batch.schema(), &schema);
    export_batch(batch, &array);
  }
  ~Received() {
    if (schema.release != nullptr) schema.release(&schema);
    if (array.release != nullptr) array.release(&array);
  }
  Received(const Received&) = delete;
  Received& operator=(const Received&) = delete;
  ArrowSchema schema{};
  ArrowArray array{};
};

bool has_bit(const void* bits, int64_t i) {
  return (static_cast<const uint8_t*>(bits)[i >> 3] >> (i & 7)) & 1;
}

/// Reads a value of an exported array into a column of ours, by nothing but the structs and their formats.
class Walker {
 public:
  static void copy(const ArrowSchema& schema, const ArrowArray& array, int64_t row, ColumnBuilder& out) {
    const std::string format = schema.format;
    const int64_t at = row + array.offset;
    if (array.n_buffers > 0 && array.buffers[0] != nullptr && !has_bit(array.buffers[0], at))
      return out.append_null();
    if (format == "b") return out.append_boolean(has_bit(array.buffers[1], at));
    if (format == "u" || format == "z") return out.append_string(text(array, at));
    if (format == "+l") return list(schema, array, at, out);
    if (format == "+m") return map(schema, array, at, out);
    if (format == "+s") {
      for (int64_t i = 0; i < array.n_children; ++i)
        copy(*schema.children[i], *array.children[i], at, out.child(static_cast<size_t>(i)));
      return out.close_nested();
    }
    fixed(format, array.buffers[1], at, out);
  }

 private:
  static std::string_view text(const ArrowArray& array, int64_t at) {
    const auto* offsets = static_cast<const int32_t*>(array.buffers[1]);
    return {static_cast<const char*>(array.buffers[2]) + offsets[at],
            static_cast<size_t>(offsets[at + 1] - offsets[at])};
  }
  static void list(const ArrowSchema& schema, const ArrowArray& array, int64_t at, ColumnBuilder& out) {
    const auto* offsets = static_cast<const int32_t*>(array.buffers[1]);
    for (int32_t i = offsets[at]; i < offsets[at + 1]; ++i)
      copy(*schema.children[0], *array.children[0], i, out.child(0));
    out.close_nested();
  }
  static void map(const ArrowSchema& schema, const ArrowArray& array, int64_t at, ColumnBuilder& out) {
    const auto* offsets = static_cast<const int32_t*>(array.buffers[1]);
    const ArrowArray& entries = *array.children[0];
    for (size_t child = 0; child < 2; ++child) {
      for (int32_t i = offsets[at]; i < offsets[at + 1]; ++i) {
        copy(*schema.children[0]->children[child], *entries.children[child], i + entries.offset,
             out.child(child));
      }
    }
    out.close_nested();
  }
  template <class T>
  static void value(const void* values, int64_t at, ColumnBuilder& out) {
    out.append(static_cast<const T*>(values)[at]);
  }
  static void fixed(const std::string& format, const void* values, int64_t at, ColumnBuilder& out) {
    if (format == "c") return value<int8_t>(values, at, out);
    if (format == "s") return value<int16_t>(values, at, out);
    if (format == "i" || format == "tdD" || format == "ttm") return value<int32_t>(values, at, out);
    if (format == "f") return value<float>(values, at, out);
    if (format == "g") return value<double>(values, at, out);
    if (format.starts_with("d:")) return value<Int128>(values, at, out);
    value<int64_t>(values, at, out);
  }
};

std::vector<std::string> walked(const Received& received, const SchemaPtr& schema) {
  BatchBuilder builder(schema);
  for (int64_t row = 0; row < received.array.length; ++row) {
    for (size_t i = 0; i < schema->size(); ++i)
      Walker::copy(*received.schema.children[i], *received.array.children[i], row, builder.column(i));
    builder.end_row();
  }
  return texts(builder.finish());
}

std::vector<std::string> formats(const ArrowSchema& schema) {
  std::vector<std::string> out;
  for (int64_t i = 0; i < schema.n_children; ++i) out.emplace_back(schema.children[i]->format);
  return out;
}

TEST(Arrow, NamesTypesAsTheSpecificationDoes) {
  const SchemaPtr schema = arrow_schema({{"a", make_type(TypeKind::kBoolean, false)},
                                         {"b", decimal_type(12, 2)},
                                         {"c", timestamp_type(3, /*ltz=*/true)},
                                         {"d", timestamp_type(6, /*ltz=*/false)},
                                         {"e", timestamp_type(9, /*ltz=*/false)},
                                         {"f", make_type(TypeKind::kTime)},
                                         {"g", make_type(TypeKind::kIntervalMillis)},
                                         {"h", make_type(TypeKind::kNull)}});
  ArrowSchema exported;
  export_schema(*schema, &exported);
  EXPECT_STREQ(exported.format, "+s");
  EXPECT_THAT(formats(exported), ElementsAre("b", "d:12,2", "tsm:UTC", "tsu:", "tsn:", "ttm", "tDm", "n"));
  EXPECT_STREQ(exported.children[0]->name, "a");
  EXPECT_EQ(exported.children[0]->flags, 0) << "NOT NULL";
  EXPECT_EQ(exported.children[1]->flags, ARROW_FLAG_NULLABLE);
  exported.release(&exported);
  EXPECT_EQ(exported.release, nullptr);
}

TEST(Arrow, AMapIsAListOfEntriesWhoseKeysAreNeverNull) {
  ArrowSchema exported;
  export_schema(*arrow_schema({{"m", map_type(make_type(TypeKind::kString), make_type(TypeKind::kInt))}}),
                &exported);
  const ArrowSchema& entries = *exported.children[0]->children[0];
  EXPECT_STREQ(exported.children[0]->format, "+m");
  EXPECT_EQ(entries.flags, 0);
  EXPECT_EQ(entries.children[0]->flags, 0);
  EXPECT_EQ(entries.children[1]->flags, ARROW_FLAG_NULLABLE);
  exported.release(&exported);
}

RC_GTEST_PROP(Arrow, AReceiverFindsTheRowsThatCount, ()) {
  const SchemaPtr schema = random_schema();
  Batch batch = random_batch(schema).with_kinds(nullptr);
  if (*rc::gen::arbitrary<bool>()) {
    auto some = std::make_shared<Selection>();
    batch.for_each_row([&](int64_t row) {
      if (row % 2 == 0) some->push_back(static_cast<uint32_t>(row));
    });
    batch = batch.with_selection(some);
  }
  const Received received(batch);
  RC_ASSERT(walked(received, schema) == texts(batch));
}

Batch two_texts() {
  BatchBuilder builder(
      arrow_schema({{"a", make_type(TypeKind::kString)}, {"b", make_type(TypeKind::kString)}}));
  builder.column(0).append_string("left");
  builder.column(1).append_string("right");
  builder.end_row();
  return builder.finish();
}

TEST(Arrow, ValuesAreNotCopiedAndOutliveTheBatch) {
  std::optional<Batch> batch = two_texts();
  const void* bytes = batch->column(0).parts().values->data();
  Received received(*batch);
  EXPECT_EQ(received.array.children[0]->buffers[2], bytes);
  const SchemaPtr schema = batch->schema();
  batch.reset();
  EXPECT_THAT(walked(received, schema), ElementsAre("+I[left, right]"));
}

TEST(Arrow, AChildThatWasMovedOutLivesLongerThanItsParent) {
  ArrowArray whole;
  export_batch(two_texts(), &whole);
  ArrowArray moved = *whole.children[1];
  whole.children[1]->release = nullptr;
  whole.release(&whole);
  EXPECT_EQ(whole.release, nullptr);
  EXPECT_EQ(std::string(static_cast<const char*>(moved.buffers[2]), 5), "right");
  moved.release(&moved);
}

TEST(Arrow, AnEmptyBatchHasItsColumns) {
  const Received received(two_texts().slice(0, 0));
  EXPECT_EQ(received.array.length, 0);
  EXPECT_EQ(received.array.n_children, 2);
}

}  // namespace
}  // namespace strand::columnar
