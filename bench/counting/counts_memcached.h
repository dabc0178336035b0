// counts_memcached.h: the hot paths of memcached's protocol, for counts.cc. One thread, after Counting::prepare().
#pragma once

namespace postern::bench {

/// Returns false if a path had a wrong result.
bool count_memcached();

}  // namespace postern::bench
