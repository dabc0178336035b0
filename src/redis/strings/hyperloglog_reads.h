// hyperloglog_reads.h: read_hyperloglog(), for commands on strings that should be one.
#pragma once

#include "redis/strings/hyperloglog.h"

namespace postern::redis {

/// Raises registers to those of a key's string. Returns an error; empty: none.
inline Bytes read_hyperloglog(Bytes text, HyperLogLog &into) {
  switch (text.empty() ? HyperLogLog::Read::other : into.merge(text)) {
    case HyperLogLog::Read::valid: break;
    case HyperLogLog::Read::other: return "WRONGTYPE Key is not a valid HyperLogLog string value.";
    case HyperLogLog::Read::corrupt: return "INVALIDOBJ Corrupted HLL object detected";
  }
  return {};
}

}  // namespace postern::redis
