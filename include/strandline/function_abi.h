/* Own functions for SQL, in a shared library: CREATE FUNCTION f AS 'name' LANGUAGE C USING LIBRARY 'path.so'
 * (docs/sql/own_functions.md). Plain C, so that a library need not be built by the compiler that built
 * Strandline; it needs this header and nothing else.
 *
 * A function takes columns of a batch and writes a column. It must give the same result for the same
 * arguments: rows are read again after a crash, and taken back by computing them again. It is called by
 * several threads at once, and keeps nothing between calls. */
#ifndef STRANDLINE_FUNCTION_ABI_H
#define STRANDLINE_FUNCTION_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when a library that was built before can no longer be called. */
#define STRAND_FUNCTION_ABI 1

/* SQL types, and how their values lie in `values` of a column. */
typedef enum {
  STRAND_BOOLEAN = 1,        /* bits: strand_boolean() reads one */
  STRAND_TINYINT = 2,        /* int8_t */
  STRAND_SMALLINT = 3,       /* int16_t */
  STRAND_INT = 4,            /* int32_t */
  STRAND_BIGINT = 5,         /* int64_t */
  STRAND_FLOAT = 6,          /* float */
  STRAND_DOUBLE = 7,         /* double */
  STRAND_DATE = 8,           /* int32_t, days since 1970-01-01 */
  STRAND_TIME = 9,           /* int32_t, milliseconds of the day */
  STRAND_TIMESTAMP = 10,     /* TIMESTAMP(3): int64_t, milliseconds since 1970-01-01 */
  STRAND_TIMESTAMP_LTZ = 11, /* TIMESTAMP_LTZ(3): int64_t, milliseconds since 1970-01-01 UTC */
  STRAND_STRING = 12,        /* UTF-8 bytes: strand_text() reads one */
  STRAND_BYTES = 13          /* bytes: strand_text() reads one */
} strand_type;

/* An argument: one value a row of the batch. Read only the rows that the call names. */
typedef struct strand_column {
  uint32_t type;
  const uint8_t* present; /* bit `row` (lowest first): there is a value; NULL: all have one */
  const void* values;
  const int32_t* offsets; /* STRING, BYTES: where row begins in `values`, and where the last one ends */
} strand_column;

/* What a function writes to. A row that is not set is NULL. `host` and the functions belong to the caller. */
typedef struct strand_result {
  void* values;     /* of fixed types: as a column's; of STRING and BYTES: NULL */
  uint8_t* present; /* set by the strand_set_...() below */
  void* host;
  /* STRING, BYTES: row by row in ascending order; the bytes are copied. */
  void (*put_text)(void* host, uint32_t row, const char* bytes, size_t size);
  /* The row has no result, and the job ends with this text. */
  void (*fail)(void* host, uint32_t row, const char* text);
} strand_result;

/* The rows to compute, ascending. Other rows of the columns hold anything. */
typedef struct strand_rows {
  const uint32_t* rows;
  size_t count;
} strand_rows;

typedef struct strand_function {
  const char* name;
  /* Raise it when the function begins to give other results: `upgrade-check` tells it. */
  uint32_t revision;
  uint32_t result; /* a strand_type */
  const uint32_t* arguments;
  size_t argument_count;
  /* 0: a row with a NULL argument is NULL, and the function does not see it. 1: it sees such rows, too. */
  uint32_t takes_null;
  /* 0, or not 0 after `fail`. */
  int (*call)(const strand_column* arguments, strand_rows rows, strand_result* result);
} strand_function;

/* What a library exports, under the name strandline_functions. */
typedef struct strand_function_library {
  uint32_t abi;           /* STRAND_FUNCTION_ABI */
  uint32_t function_size; /* sizeof(strand_function) */
  const strand_function* functions;
  size_t function_count;
} strand_function_library;

#define STRAND_FUNCTION_SYMBOL "strandline_functions"

#ifdef __cplusplus
#define STRAND_FUNCTION_LINKAGE extern "C"
#else
#define STRAND_FUNCTION_LINKAGE extern
#endif
/* Once in a library: exports the functions of an array. */
#define STRAND_EXPORT_FUNCTIONS(array)                                                                       \
  STRAND_FUNCTION_LINKAGE __attribute__((visibility("default")))                                             \
  const strand_function_library strandline_functions;                                                        \
  const strand_function_library strandline_functions = {STRAND_FUNCTION_ABI, sizeof(strand_function), array, \
                                                        sizeof(array) / sizeof(*(array))}

static inline int strand_is_null(const strand_column* column, uint32_t row) {
  return column->present != NULL && ((column->present[row >> 3] >> (row & 7)) & 1) == 0;
}
static inline int strand_boolean(const strand_column* column, uint32_t row) {
  return (((const uint8_t*)column->values)[row >> 3] >> (row & 7)) & 1;
}
static inline const char* strand_text(const strand_column* column, uint32_t row, size_t* size) {
  *size = (size_t)(column->offsets[row + 1] - column->offsets[row]);
  return (const char*)column->values + column->offsets[row];
}

/* The row has a value: `values[row]`, which the caller of this writes. */
static inline void strand_set(strand_result* result, uint32_t row) {
  result->present[row >> 3] = (uint8_t)(result->present[row >> 3] | (1U << (row & 7)));
}
static inline void strand_set_boolean(strand_result* result, uint32_t row, int value) {
  uint8_t* byte = (uint8_t*)result->values + (row >> 3);
  *byte = (uint8_t)((*byte & ~(1U << (row & 7))) | ((value ? 1U : 0U) << (row & 7)));
  strand_set(result, row);
}
static inline void strand_set_text(strand_result* result, uint32_t row, const char* bytes, size_t size) {
  result->put_text(result->host, row, bytes, size);
  strand_set(result, row);
}
static inline int strand_fail(strand_result* result, uint32_t row, const char* text) {
  result->fail(result->host, row, text);
  return 1;
}

#ifdef __cplusplus
}
#endif

#endif
