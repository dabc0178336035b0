// clients.h: Client, one connection's state besides its transaction, and Clients, all clients of a door, for CLIENT
// LIST and CLIENT KILL.
//
// A client is owned by its session. Its own thread writes it; any thread may read it through Clients.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/bytes.h"
#include "contract/access.h"
#include "redis/registry/command.h"
#include "redis/wire/writer.h"

namespace postern::redis {

class Clients;
class Subscriber;
struct ClientFilter;

class Client {
 public:
  explicit Client(Clients &all) : all_(all) {}
  Client(const Client &) = delete;
  Client &operator=(const Client &) = delete;
  ~Client();

  /// Called when its connection is open: makes it visible.
  void begin(const Peer &peer, int64_t now_ms);

  uint64_t id() const { return id_; }
  uint8_t database() const { return database_.load(std::memory_order_relaxed); }
  void select(uint8_t database) { database_.store(database, std::memory_order_relaxed); }
  Resp resp() const { return resp_.load(std::memory_order_relaxed); }
  void speak(Resp resp) { resp_.store(resp, std::memory_order_relaxed); }
  /// Notes the command that it has sent.
  void note(const Command &command) { last_command_.store(&command, std::memory_order_relaxed); }
  void note_active(int64_t now_ms) { active_ms_.store(now_ms, std::memory_order_relaxed); }
  /// Notes whether it is blocked.
  void note_blocked(bool blocked) { blocked_.store(blocked, std::memory_order_relaxed); }
  /// Notes its numbers of subscriptions, and whether it monitors.
  void note_subscriptions(const Subscriber &subscriber);
  /// Whether CLIENT KILL has ended its connection.
  bool killed() const { return killed_.load(std::memory_order_relaxed); }
  /// Commands queued by MULTI; -1: not in a transaction.
  void note_queued(int32_t queued, size_t bytes = 0) {
    queued_.store(queued, std::memory_order_relaxed);
    queued_bytes_.store(bytes, std::memory_order_relaxed);
  }
  /// Bytes received and not parsed, including those of commands under way.
  void note_unparsed(size_t bytes) { unparsed_bytes_.store(bytes, std::memory_order_relaxed); }

  std::string name() const;
  void set_name(Bytes name);
  /// The library's name and version from CLIENT SETINFO.
  void set_library(Bytes name) { set(library_, name); }
  void set_library_version(Bytes version) { set(library_version_, version); }
  /// The account that it has logged in as; empty: none.
  std::string user() const;
  void set_user(Bytes user);

  std::string address() const;
  /// Its line of CLIENT LIST, without a line end.
  std::string line(int64_t now_ms) const;

 private:
  friend Clients;
  /// Ends its connection. The lock of all clients is held.
  void end();
  /// The lock of all clients is held.
  std::string line_locked(int64_t now_ms) const;
  bool is_subscribed() const {
    return channels_.load(std::memory_order_relaxed) + patterns_.load(std::memory_order_relaxed) +
               shards_.load(std::memory_order_relaxed) !=
           0;
  }
  bool passes(const ClientFilter &filter) const;
  void set(std::string &text, Bytes to);

  Clients &all_;
  Client *older_ = nullptr;
  Client *newer_ = nullptr;
  uint64_t id_ = 0;  // 0: not visible
  int64_t begun_ms_ = 0;
  std::atomic<int64_t> active_ms_{0};
  std::atomic<const Command *> last_command_{nullptr};
  int fd_ = -1;
  std::atomic<int32_t> queued_{-1};
  std::atomic<size_t> queued_bytes_{0};
  std::atomic<size_t> unparsed_bytes_{0};
  std::atomic<uint32_t> channels_{0};
  std::atomic<uint32_t> patterns_{0};
  std::atomic<uint32_t> shards_{0};
  std::atomic<bool> monitors_{false};
  std::atomic<bool> blocked_{false};
  std::atomic<bool> killed_{false};
  std::atomic<uint8_t> database_{0};
  std::atomic<Resp> resp_{Resp::two};
  // Guarded by the lock of all clients.
  std::string name_;
  std::string user_;
  std::string library_;
  std::string library_version_;
};

/// The clients selected by CLIENT KILL and CLIENT LIST.
struct ClientFilter {
  uint64_t id = 0;        ///< 0: any
  Bytes address{};        ///< empty: any
  Bytes local_address{};  ///< empty: any
  Bytes user{};           ///< empty: any
  enum class Of : uint8_t { any, normal, pubsub } of = Of::any;
};

struct Killed {
  uint64_t killed = 0;
  uint64_t denied = 0;  ///< clients of other accounts, which are not killed
  bool self = false;    ///< whether the caller is among them: its session closes it after its answer
};

class Clients {
 public:
  /// A line for each connection of the account `user`.
  std::string lines(Bytes user, const ClientFilter &filter, int64_t now_ms) const;
  /// Closes all connections of the caller's account.
  Killed kill(const Client &asks, const ClientFilter &filter, bool spares_self);
  /// Whether an existing client has another account.
  bool is_others(Bytes user, uint64_t id) const;

 private:
  friend Client;

  mutable std::mutex mutex_;  // a leaf; guards the list, and names and users in it
  Client *newest_ = nullptr;
  Client *oldest_ = nullptr;
  uint64_t last_id_ = 0;
};

}  // namespace postern::redis
