// protocol.h: Redis, the protocol of one Redis port.
//
// Owned by the plugin that opens the port; outlives every session. Any thread may call open_session().
//
//   redis::Redis protocol({.accounts = true});
//   std::unique_ptr<Session> session = protocol.open_session(output, peer);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/changing.h"
#include "base/counters.h"
#include "base/limits.h"
#include "contract/session.h"
#include "redis/clients.h"
#include "redis/keyspace/maps.h"
#include "redis/messages/notices.h"
#include "redis/messages/subscriptions.h"
#include "redis/registry/command_stats.h"
#include "redis/scan_cursors.h"
#include "redis/slow_log.h"
#include "redis/waiting/waiters.h"

namespace postern::redis {

class Functions;
class Scripts;

/// The Redis version that the door claims: clients choose their commands by it.
inline constexpr Bytes redis_version = "7.0.15";
/// Databases that SELECT knows.
inline constexpr uint8_t database_count = 16;

/// The door's figures for INFO and CONFIG.
struct Figures {
  Counters counters;
  uint64_t connections = 0;
  uint64_t connections_max = 0;
  uint64_t threads = 0;
  uint64_t port = 0;
  uint64_t timeout = 0;  ///< seconds
  std::string address;
  std::string socket;
  uint64_t swept = 0;      ///< expired keys that the sweep has deleted
  bool read_only = false;  ///< the server takes no writes: it is a replica
};

/// Counters that only grow, until CONFIG RESETSTAT.
struct Totals {
  uint64_t connections = 0;
  uint64_t refused = 0;  ///< connections
  uint64_t received = 0;
  uint64_t received_bytes = 0;
  uint64_t sent = 0;
  uint64_t sent_bytes = 0;
  uint64_t swept = 0;
};

struct Settings {
  /// Clients log in as accounts of the server, with their grants.
  bool accounts = false;
  /// The account for AUTH with only a password; empty: none.
  ChangingText default_account{};
  /// EXEC undoes everything if one of its commands fails.
  Changing<bool> exec_rolls_back = false;
  /// A script that ends with an error is undone as a whole.
  Changing<bool> script_rolls_back = true;
  Changing<int64_t> script_time_ms = 5'000;  ///< the longest run of a script; 0: no bound
  Changing<size_t> script_bytes_max = size_t{64} << 20;
  Changing<size_t> value_bytes_max = limits::item_bytes_max;
  Changing<size_t> request_bytes_max = size_t{80} << 20;
  /// Bounds on messages that wait for a subscriber.
  BoxBounds boxes{};
  /// The letters of Redis's notify-keyspace-events.
  ChangingText notices{};
  /// postern_version in INFO.
  std::string version = "0";
  std::function<void(Figures &)> figures{};
};

/// Each second.
struct Rates {
  uint64_t commands = 0;
  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;
};

class Redis final : public Protocol {
 public:
  explicit Redis(Settings settings);
  ~Redis() override;

  std::unique_ptr<Session> open_session(Output &output, const Peer &peer) override;
  void refuse(Output &output, Failure why) override;

  const Settings &settings() const { return settings_; }
  /// Takes over the Changing members. Any thread.
  void change(const Settings &settings);
  Clients &clients() { return clients_; }
  Maps &maps() { return maps_; }
  ScanCursors &cursors() { return cursors_; }
  Waiters &waiters() { return waiters_; }
  const Waiters &waiters() const { return waiters_; }
  Subscriptions &subscriptions() { return subscriptions_; }
  const Subscriptions &subscriptions() const { return subscriptions_; }
  NoticeClasses &notice_classes() { return notice_classes_; }
  const NoticeClasses &notice_classes() const { return notice_classes_; }
  SlowLog &slow_log() { return slow_log_; }
  const SlowLog &slow_log() const { return slow_log_; }
  LatencyEvents &latency_events() { return latency_events_; }
  const LatencyEvents &latency_events() const { return latency_events_; }
  Scripts &scripts() { return *scripts_; }
  const Scripts &scripts() const { return *scripts_; }
  Functions &functions() { return *functions_; }
  const Functions &functions() const { return *functions_; }
  AllCommandStats &command_stats() { return command_stats_; }
  const AllCommandStats &command_stats() const { return command_stats_; }
  /// Notifies subscribers that an expired key was deleted. Any thread.
  void tell_expired(uint8_t database, std::string key);
  /// Restarts the figures that CONFIG RESETSTAT resets.
  void reset_statistics();
  void tell(Figures &figures) const;
  /// These figures, less those at the last reset of the statistics.
  Totals totals(const Figures &figures) const;
  /// Averages since an earlier call, at least a second ago, or since the start.
  Rates rates(const Totals &totals, uint64_t commands) const;
  int64_t started() const { return started_; }  ///< seconds since 1970
  /// 40 hexadecimal digits, different for each start.
  const std::string &run_id() const { return run_id_; }

 private:
  struct Sample {
    int64_t at_us = clock_us();
    uint64_t commands = 0;
    uint64_t received = 0;
    uint64_t sent = 0;
  };

  void choose_notices();

  Settings settings_;  // change() changes some of them
  const int64_t started_;
  const std::string run_id_;
  Clients clients_;
  Maps maps_;
  ScanCursors cursors_;
  Waiters waiters_;
  Subscriptions subscriptions_{settings_.boxes};
  NoticeClasses notice_classes_;
  SlowLog slow_log_;
  LatencyEvents latency_events_;
  const std::unique_ptr<Scripts> scripts_;
  const std::unique_ptr<Functions> functions_;
  AllCommandStats command_stats_;
  mutable std::mutex mutex_;  // a leaf
  // Guarded by the mutex.
  Totals forgotten_;
  mutable Sample sample_before_;
  mutable Sample last_sample_;
};

}  // namespace postern::redis
