#include "connect/file/connector.h"

#include "codec/record_decoder.h"
#include "connect/file/finder.h"
#include "connect/file/options.h"
#include "connect/file/reader.h"
#include "connect/file/sink.h"

namespace strand::connect::file {
namespace {

Result<std::unique_ptr<flow::ShardFinder>> make_finder(const TableContext& table) {
  STRAND_TRY(FileOptions options, read_options(table));
  STRAND_TRY(Partitions partitions, Partitions::make(table));
  return std::unique_ptr<flow::ShardFinder>(
      new FileFinder(*table.env.files, std::move(options), std::move(partitions)));
}

Result<std::unique_ptr<flow::SourceReader>> make_reader(const TableContext& table) {
  STRAND_TRY(FileOptions options, read_options(table));
  codec::FormatOptions format = table.options;
  // Whoever reads T$bad wants each misfit there, not a NULL in its place.
  if (table.want_bad) format.erase(options.format + ".ignore-parse-errors");
  STRAND_TRY(Partitions partitions, Partitions::make(table));
  STRAND_TRY(auto decoder,
             codec::make_decoder(options.format, partitions.in_files(), partitions.table_in_files(), format));
  return std::unique_ptr<flow::SourceReader>(
      new FileReader(table, std::move(options), std::move(decoder), std::move(partitions)));
}

Result<std::unique_ptr<flow::Sink>> make_sink(const TableContext& table) {
  STRAND_TRY(FileOptions options, read_options(table));
  STRAND_TRY(Partitions partitions, Partitions::make(table));
  STRAND_TRY(CommitRules rules, CommitRules::read(table));
  STRAND_TRY(auto encoder, codec::make_encoder(options.format, partitions.in_files(), table.options));
  return std::unique_ptr<flow::Sink>(
      new FileSink(table, std::move(options), std::move(encoder), std::move(partitions), std::move(rules)));
}

/// The connector's own options, and those of every format.
std::vector<std::string> sink_option_names() {
  std::vector<std::string> names = {"path",
                                    "format",
                                    "partition.default-name",
                                    "partition.time-extractor.kind",
                                    "partition.time-extractor.timestamp-pattern",
                                    "partition.time-extractor.timestamp-formatter",
                                    "sink.partition-commit.trigger",
                                    "sink.partition-commit.delay",
                                    "sink.partition-commit.watermark-time-zone",
                                    "sink.partition-commit.policy.kind",
                                    "sink.partition-commit.success-file.name"};
  for (const char* format : {"json", "csv", "raw"}) {
    for (std::string& name : codec::format_options(format)) names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> source_option_names() {
  std::vector<std::string> names = sink_option_names();
  names.insert(names.end(),
               {"source.monitor-interval", "source.path.regex-pattern", "strand.max-record-bytes"});
  return names;
}

}  // namespace

void add_file_connector(Registry& registry) {
  Connector connector;
  connector.finder = make_finder;
  connector.reader = make_reader;
  connector.sink = make_sink;
  connector.source_options = source_option_names();
  connector.sink_options = sink_option_names();
  connector.transactional = true;
  registry.add("filesystem", std::move(connector));
}

}  // namespace strand::connect::file
