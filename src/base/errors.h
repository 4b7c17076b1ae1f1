// The numbers of all messages that a user can meet. docs/errors.md has a section for each (tests compare
// both).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace strand {

/// What the runtime does with a task that returns an error. An error code exists only where somebody reacts
/// to it in a way of its own or a user must be able to look it up; everything else belongs in the message.
enum class Reaction : uint8_t { kRetry, kRestart, kFailJob };

// 1xxx options, command line, job control · 2xxx SQL and plans · 3xxx rows · 4xxx connectors · 5xxx state,
// checkpoints
#define STRAND_ERRORS(X)                                                                               \
  X(kBadOption, 1001, kFailJob, "an option has a value that it cannot take")                           \
  X(kUnknownOption, 1002, kFailJob, "an option is not known")                                          \
  X(kBadUsage, 1003, kFailJob, "the command line cannot be understood")                                \
  X(kFileNotFound, 1004, kFailJob, "a file that was named is not there")                               \
  X(kNoSuchJob, 1005, kFailJob, "no job of that name runs here, or it does not answer")                \
  X(kPortInUse, 1006, kFailJob, "the port that was given is taken")                                    \
  X(kBadProfile, 1007, kFailJob, "a profile has a key or a value that it cannot have")                 \
  X(kMemoryLimit, 1010, kFailJob, "the job needs more memory than its limit")                          \
  X(kNotSimulated, 1011, kFailJob, "the simulator cannot run the job")                                 \
  X(kNoEffect, 1012, kFailJob, "a setting is accepted and changes nothing")                            \
  X(kInternal, 1099, kFailJob, "a fault of Strandline itself")                                         \
  X(kShardIdle, 1103, kRestart, "a shard has been silent for its idle timeout")                        \
  X(kNoProgress, 1107, kRestart, "no window has closed for a while")                                   \
  X(kClockInFuture, 1108, kRestart, "a record is further ahead of the wall clock than allowed")        \
  X(kEventTimeBehind, 1109, kRestart, "event time has been far behind the wall clock for a while")     \
  X(kSyntax, 2001, kFailJob, "the SQL text cannot be parsed")                                          \
  X(kUnknownTable, 2002, kFailJob, "a table or view is not known")                                     \
  X(kUnknownColumn, 2003, kFailJob, "a column is not known")                                           \
  X(kTypeMismatch, 2004, kFailJob, "an expression has a type that does not fit")                       \
  X(kUnknownFunction, 2005, kFailJob, "a function is not known or does not take these arguments")      \
  X(kUnsupportedSql, 2006, kFailJob, "a statement or clause is not supported")                         \
  X(kDuplicateName, 2007, kFailJob, "a name is defined twice")                                         \
  X(kWriterConflict, 2008, kFailJob, "two writers of one table set the same column or share a name")   \
  X(kBadWindow, 2009, kFailJob, "a window cannot be formed as written")                                \
  X(kNoLateRows, 2010, kFailJob, "a view has no operator, or several, that judge lateness")            \
  X(kBadHint, 2011, kFailJob, "a hint is unknown or cannot stand there")                               \
  X(kNothingToRun, 2012, kFailJob, "the file has no INSERT and no SELECT")                             \
  X(kLimitExceeded, 2013, kFailJob, "a statement is longer or deeper than the limits")                 \
  X(kBadLibrary, 2014, kFailJob, "a library of functions cannot be used")                              \
  X(kBadCatalog, 2015, kFailJob, "the file of a catalog cannot be used")                               \
  X(kBadRow, 3001, kFailJob, "a record cannot be parsed")                                              \
  X(kMissingEventTime, 3002, kFailJob, "a record has no event time")                                   \
  X(kWrongTimeUnit, 3003, kRestart, "event times look like seconds or microseconds, not milliseconds") \
  X(kRecordTooLong, 3004, kFailJob, "a record is longer than the limit")                               \
  X(kOverflow, 3005, kFailJob, "a value is out of the range of its type")                              \
  X(kPoisonRecord, 3006, kFailJob, "the same record failed the job twice")                             \
  X(kBadValue, 3007, kFailJob, "an expression cannot be computed for a row")                           \
  X(kFunctionThrew, 3008, kRestart, "a function of the program has thrown")                            \
  X(kClockRead, 3009, kRestart, "a function of the program reads the wall clock")                      \
  X(kSourceUnavailable, 4001, kRetry, "a source cannot be read at the moment")                         \
  X(kShardShrank, 4002, kFailJob, "a file became shorter than what was already read of it")            \
  X(kShardGone, 4003, kFailJob, "a file disappeared before it was read to its end")                    \
  X(kSinkUnavailable, 4004, kRetry, "a sink cannot be written at the moment")                          \
  X(kSinkReadOnly, 4005, kFailJob, "a sink refuses all writes")                                        \
  X(kSinkSchema, 4006, kFailJob, "the table in the sink does not fit the table of the job")            \
  X(kFenced, 4007, kFailJob, "a newer generation or attempt owns the sink")                            \
  X(kWriterTaken, 4008, kFailJob, "another job writes this table with the same writer name")           \
  X(kSinkAhead, 4009, kFailJob, "the sink holds commits that the chosen state does not know")          \
  X(kUnknownConnector, 4010, kFailJob, "a connector or format is not known")                           \
  X(kCorruptInput, 4011, kFailJob, "compressed input is damaged")                                      \
  X(kClosedRow, 4012, kRestart, "a row that was finished was written again and refused")               \
  X(kUnknownTopic, 4013, kFailJob, "a topic or partition is not there")                                \
  X(kRecordsGone, 4014, kFailJob, "records were deleted before they were read")                        \
  X(kMarkerLost, 4015, kFailJob, "a sink has forgotten how far the job had come")                      \
  X(kRefused, 4016, kFailJob, "a system refuses who the job says it is, or what it may do")            \
  X(kIo, 5000, kRestart, "a file operation failed")                                                    \
  X(kDiskFull, 5001, kRestart, "the disk is full")                                                     \
  X(kCheckpointUnreadable, 5002, kFailJob, "a checkpoint is damaged or incomplete")                    \
  X(kStateMismatch, 5003, kFailJob, "the state belongs to another job or to an older form of it")      \
  X(kStateInUse, 5004, kFailJob, "the state folder is used by another process")                        \
  X(kNewerFormat, 5005, kFailJob, "a state file was written by a newer version")                       \
  X(kVoidSnapshot, 5006, kFailJob, "a snapshot has been overtaken by a later restore")                 \
  X(kCheckpointTimeout, 5007, kRestart, "a checkpoint did not complete in time")                       \
  X(kTooManyCheckpointFailures, 5008, kRestart, "more checkpoints failed in a row than tolerated")     \
  X(kMaxParallelism, 5009, kFailJob, "the maximum parallelism differs from that of the state")         \
  X(kNoAccess, 5010, kRestart, "a file or folder may not be used")                                     \
  X(kStateByClock, 5011, kRestart, "state that lives by the wall clock is replayed")                   \
  X(kHeldOutsideState, 5012, kRestart, "a function holds back elements that no checkpoint has")        \
  X(kOperatorChanged, 5013, kRestart, "an operator is new or gone since the snapshot")

enum class ErrorCode : uint16_t {
#define STRAND_X(name, number, reaction, title) name = number,
  STRAND_ERRORS(STRAND_X)
#undef STRAND_X
};

struct ErrorInfo {
  ErrorCode code;
  std::string_view name;
  Reaction reaction;
  std::string_view title;
};

const ErrorInfo& error_info(ErrorCode code);
std::span<const ErrorInfo> all_errors();

}  // namespace strand
