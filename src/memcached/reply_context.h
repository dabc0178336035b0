// reply_context.h: the state of the session and of the gets under way, which lowering and its answers share.
#pragma once

#include <cstdint>

#include "base/output.h"
#include "contract/batch.h"
#include "memcached/statistics.h"
#include "memcached/wire/request.h"

namespace postern::memcached {

/// The keys of one `get`, as far as they are in one batch. A failure in the middle is answered once, and ends the
/// answer.
struct MultiGet {
  bool failed = false;
};

/// Knows what `stats` answers.
class StatsSource {
 public:
  /// Writes all lines of the statistics, and their end. Any thread.
  virtual void write_statistics(const Request &request, Output &output) const = 0;

 protected:
  ~StatsSource() = default;
};

/// The state that the replies of one session need, for the length of one collect().
struct ReplyContext {
  Batch &batch;
  Output &output;
  Statistics &statistics;
  int64_t now;  ///< seconds since 1970
};

}  // namespace postern::memcached
