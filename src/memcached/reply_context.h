// reply_context.h: the state of a session and its current gets, shared by lowering and answers.
#pragma once

#include <cstdint>

#include "base/output.h"
#include "contract/batch.h"
#include "memcached/statistics.h"
#include "memcached/wire/request.h"

namespace postern::memcached {

/// The keys of one `get` that are in one batch. A failure in the middle is answered once, and ends the answer.
struct MultiGet {
  bool failed = false;
};

/// Provides the answers of `stats`.
class StatsSource {
 public:
  /// Writes all lines of statistics, and the end line. Any thread.
  virtual void write_statistics(const Request &request, Output &output) const = 0;

 protected:
  ~StatsSource() = default;
};

/// The state for the replies of one session, during one collect().
struct ReplyContext {
  Batch &batch;
  Output &output;
  Statistics &statistics;
  int64_t now;  ///< seconds since 1970
};

}  // namespace postern::memcached
