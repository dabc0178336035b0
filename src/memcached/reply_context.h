// reply_context.h: what lowering and the answers to what was lowered know of the session and of each other.
#pragma once

#include <cstdint>

#include "base/output.h"
#include "contract/batch.h"
#include "memcached/statistics.h"
#include "memcached/wire/request.h"

namespace postern::memcached {

/// The keys of one `get`, as far as they are in one batch. What fails in the middle is told once, and ends the answer.
struct MultiGet {
  bool failed = false;
};

/// Knows what `stats` answers.
class StatsSource {
 public:
  /// Writes all lines of what was asked for, and their end. Any thread.
  virtual void write_statistics(const Request &request, Output &output) const = 0;

 protected:
  ~StatsSource() = default;
};

/// What the replies of one session need, for the length of one collect().
struct ReplyContext {
  Batch &batch;
  Output &output;
  Statistics &statistics;
  int64_t now;  ///< seconds since 1970
};

}  // namespace postern::memcached
