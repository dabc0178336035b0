// pool.h: connections for many threads. Any thread may use a pool; it has to outlive the leases it gave.
//
//   Pool pool({.port = 9999}, {.size = 8});
//   Lease connection = pool.take().value();
//   Index user = connection.index(spec).value();      // opened once a connection
//   connection->find(user, {101});
#pragma once

#include <chrono>
#include <memory>

#include "handlersocket/connection.h"

namespace handlersocket {

struct PoolOptions {
  size_t size = 8;                                ///< connections at most
  std::chrono::milliseconds take_timeout{5'000};  ///< how long take() waits for one to come back
};

/// Exclusive use of a connection of a pool. At its end a broken connection, or one with outstanding replies, is closed
/// instead of returned.
class Lease {
 public:
  Lease(Lease &&) noexcept;
  Lease &operator=(Lease &&) noexcept;
  ~Lease();

  Connection *operator->();
  Connection &operator*();
  /// Opens an index, unless this connection has it open since an earlier lease. The spec must not have an id.
  Result<Index> index(const IndexSpec &spec);

 private:
  friend class Pool;
  struct Held;
  struct Shared;
  Lease(Shared &pool, std::unique_ptr<Held> held);
  void give_back();
  Shared *pool_;
  std::unique_ptr<Held> held_;
};

class Pool {
 public:
  /// Connects when the first connection is wanted, not before.
  explicit Pool(Options options, PoolOptions pool_options = {});
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;
  ~Pool();

  /// A connection that was alive a moment ago: the freshest free one, or a new one while there are fewer than size.
  Result<Lease> take();

 private:
  std::unique_ptr<Lease::Shared> shared_;
};

}  // namespace handlersocket
