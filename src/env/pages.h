// Large blocks of memory for state.
#pragma once

#include <cstddef>

namespace strand::env {

/// Allocates `size` bytes at a multiple of 2 MiB, 32 KiB or 4 KiB: the largest that `size` is a multiple of.
/// Large blocks are asked to be huge pages, which makes both the first touch and random access cheaper. Ends
/// the process if there is no memory left.
char* allocate_pages(size_t size);
void free_pages(char* pages, size_t size);

/// From now on blocks of the heap of 256 KiB and more go back to the system when they are freed, and not into
/// a store of each thread, which would keep what was once needed in each of them. For a process whose memory
/// has a limit near what it uses; costs the first touch of each such block.
void give_large_blocks_back();

}  // namespace strand::env
