// protocol.h: Memcached, the protocol of one memcached port.
//
// Owned by the plugin that opens the port; outlives every session. Any thread may call open_session().
//
//   memcached::Memcached protocol({.accounts = true});
//   std::unique_ptr<Session> session = protocol.open_session(output, peer);
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/changing.h"
#include "base/counters.h"
#include "base/limits.h"
#include "contract/session.h"
#include "items/cache/cache.h"
#include "memcached/containers.h"
#include "memcached/wire/request.h"
#include "memcached/statistics.h"
#include "memcached/reply_context.h"

namespace postern::memcached {

/// The door's figures for `stats`.
struct Figures {
  Counters counters;
  uint64_t connections = 0;
  uint64_t connections_peak = 0;
  uint64_t connections_max = 0;
  uint64_t threads = 0;
  uint64_t port = 0;
  std::string address;
  std::string socket;
};

struct Settings {
  /// Clients log in as accounts of the server, with their grants.
  bool accounts = false;
  Changing<size_t> value_bytes_max = limits::item_bytes_max;
  /// For the items of containers that live in memory.
  Changing<size_t> cache_bytes = limits::cache_bytes;
  /// The answer to `version`.
  std::string version = "1.6.18-postern";
  std::function<void(Figures &)> figures{};
};

class Memcached final : public Protocol, public StatsSource {
 public:
  explicit Memcached(Settings settings);

  std::unique_ptr<Session> open_session(Output &output, const Peer &peer) override;
  void refuse(Output &output, Failure why) override;
  void write_statistics(const Request &request, Output &output) const override;

  const Settings &settings() const { return settings_; }
  /// Takes over the Changing settings. False if there is no memory to resize the cache: then its size stays. One thread
  /// at a time; others may run meanwhile.
  [[nodiscard]] bool change(const Settings &settings);
  Mappings &mappings() { return mappings_; }
  Statistics &statistics() { return statistics_; }
  /// Made at the first call; nullptr: out of memory. Any thread.
  items::Cache *cache();

 private:
  void write_general(const Request &request, Output &output) const;
  void write_settings(const Request &request, Output &output) const;
  void write_items(const Request &request, Output &output) const;
  void write_slabs(const Request &request, Output &output) const;
  void write_detail(const Request &request, Output &output) const;
  void reset_statistics(const Request &request, Output &output) const;
  items::Cache::Counts cache_counts() const;

  Settings settings_;      // change() changes some of them
  const int64_t started_;  // seconds since 1970
  Mappings mappings_{container_tables};
  mutable Statistics statistics_;  // `stats reset`
  std::mutex cache_mutex_;         // a leaf; guards the making of cache_
  std::unique_ptr<items::Cache> cache_owner_;
  std::atomic<items::Cache *> cache_{nullptr};
};

}  // namespace postern::memcached
