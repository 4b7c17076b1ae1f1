// A library without functions for SQL.
extern "C" int answer() { return 42; }
