// counts_redis.h: the hot paths of Redis's protocol, for counts.cc. One thread, after Counting::prepare().
#pragma once

namespace postern::bench {

/// Returns false if a path had a wrong result.
bool count_redis();

}  // namespace postern::bench
