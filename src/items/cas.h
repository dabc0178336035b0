// cas.h: next_cas(), the version that an item gets with every write. Any thread.
#pragma once

#include <cstdint>

namespace postern::items {

/// Larger with every call, in this process and, as long as the clock goes forward, in those after it: a CAS never
/// repeats, not even for an item that was deleted and made again.
uint64_t next_cas();

}  // namespace postern::items
