// A library that was built for an interface to come.
#include "strandline/function_abi.h"

STRAND_FUNCTION_LINKAGE __attribute__((visibility("default")))
const strand_function_library strandline_functions;
const strand_function_library strandline_functions = {STRAND_FUNCTION_ABI + 1, sizeof(strand_function),
                                                      nullptr, 0};
