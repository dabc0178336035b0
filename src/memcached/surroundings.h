// surroundings.h: what lowering and the answers to what was lowered know of the session and of each other.
#pragma once

#include <cstdint>

#include "base/output.h"
#include "contract/batch.h"
#include "memcached/wire/request.h"
#include "memcached/statistics.h"

namespace postern::memcached {

/// The keys of one `get`, as far as they are in one batch. What fails in the middle is told once, and ends the answer.
struct Group {
  bool failed = false;
};

/// Knows what `stats` tells.
class Teller {
 public:
  /// Writes all lines of what was asked for, and their end. Any thread.
  virtual void tell_statistics(const Request &request, Output &output) const = 0;

 protected:
  ~Teller() = default;
};

/// What the replies of one session need, for the length of one collect().
struct Surroundings {
  Batch &batch;
  Output &output;
  Statistics &statistics;
  int64_t now;  ///< seconds since 1970
};

}  // namespace postern::memcached
