// memcached_plugin.cc: the plugin `memcached`: one port, over the containers of the database innodb_memcache.
#include <mysql/plugin.h>

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/pool.h"
#include "door/thread.h"
#include "doors.h"
#include "engine/mariadb/engine.h"
#include "memcached/protocol.h"
#include "net/poller.h"
#include "plugins.h"
#include "settings.h"
#include "status.h"

namespace postern::plugin::memcached {
namespace {

namespace protocol = postern::memcached;

/// The door stays closed until there is a container: who does not use it shall find no port taken. Looks for one when
/// the server is up and then now and again, opens the door, and ends.
class Opener {
 public:
  /// `open` is called on the thread of the opener, once at most. Everything outlives it.
  Opener(Engine &engine, protocol::Mappings &mappings, void (*open)())
      : engine_(engine), mappings_(mappings), open_(open) {}
  ~Opener() {
    stop_.store(true, std::memory_order_release);
    wake_.wake();
    thread_.join();
  }
  [[nodiscard]] bool start() {
    return poller_ && poller_.add(wake_.fd(), net::Poller::readable, nullptr) &&
           thread_.start([](void *self) { static_cast<Opener *>(self)->work(); }, this, "memcached open");
  }

 private:
  static constexpr int look_ms = 500;

  void work() {
    const ThreadIdentity who{
        .access = Access::read, .name = "memcached opener", .wake_fd = wake_.fd(), .counters = &counters_};
    std::unique_ptr<Executor> executor = engine_.attach(who, stop_);
    bool found = false;
    if (executor != nullptr) executor->describe("memcached: no containers yet, looks for some twice a second");
    while (executor != nullptr && !found && !stop_.load(std::memory_order_acquire) && !executor->server_stopping()) {
      try {
        found = look(*executor);
      } catch (const std::bad_alloc &) {
        executor->idle();  // and once more, when there may be memory again
      }
      epoll_event event;
      if (!found && poller_.wait({&event, 1}, look_ms) != 0) wake_.drain();
    }
    executor.reset();
    pool::drain();
    if (found) open_();
  }

  bool look(Executor &executor) {
    Batch batch;
    protocol::Refresh refresh(mappings_);
    batch.begin(0);
    refresh.add_to(batch);
    bool done = executor.run({.ops = batch.ops()}).lasted();
    for (const Op &op : batch.ops()) done = done && op.progress == Progress::done;
    executor.idle();
    if (done) refresh.publish(clock_ms());
    return mappings_.generation() != 0 && !mappings_.snapshot()->containers.empty();
  }

  Engine &engine_;
  protocol::Mappings &mappings_;
  void (*const open_)();
  net::WakeFd wake_;
  net::Poller poller_;
  Counters counters_;
  std::atomic<bool> stop_{false};
  door::Thread thread_;
};

/// In the order it is needed.
struct Running {
  std::unique_ptr<protocol::Memcached> protocol{};  // none without a port or socket
  // Clients of the text dialect begin with an item where they should have logged in.
  Doors doors{"memcached", settings, mariadb::LoginNames::unsure};
  door::Settings chosen{};
  std::unique_ptr<Opener> opener{};
};
Running *running = nullptr;

void tell_figures(protocol::Figures &figures) {
  DoorStatus status;
  running->doors.add_to(status);
  figures.counters.absorb(status.counters);
  figures.connections = status.connections;
  figures.connections_peak = status.connections_peak;
  figures.connections_max = settings.max_connections;
  figures.threads = status.threads;
  figures.port = settings.port;
  figures.address = text(settings.address);
  figures.socket = text(settings.socket);
}

bool has_accounts() {
  return settings.auth_choice == 1;
}

door::Settings door_settings() {
  door::Settings chosen = running->doors.common();
  chosen.name = "memcached";
  chosen.host = text(settings.address);
  chosen.port = static_cast<uint16_t>(settings.port);
  chosen.unix_path = text(settings.socket);
  chosen.threads = static_cast<uint32_t>(settings.threads);
  // While one worker waits for the disk another has the processor.
  chosen.threads_per_processor = 2;
  chosen.login_threads = has_accounts() ? limits::login_threads : 0;
  return chosen;
}

protocol::Settings protocol_settings() {
  protocol::Settings chosen;
  chosen.accounts = has_accounts();
  chosen.value_bytes_max = settings.max_value_bytes;
  chosen.cache_bytes = settings.cache_bytes;
  chosen.version = "1.6.18-postern-" POSTERN_VERSION;
  chosen.figures = tell_figures;
  return chosen;
}

/// What is wrong with the settings is told at once, whatever there is to open.
bool prepare() {
  Running &door = *running;
  if (!door.doors.prepare()) return false;
  door.chosen = door_settings();
  if (!door.doors.check(door.chosen, has_accounts(), "accounts; set memcached_auth")) return false;
  if (door.chosen.port == 0 && door.chosen.unix_path.empty()) return true;
  door.protocol = std::make_unique<protocol::Memcached>(protocol_settings());
  door.opener = std::make_unique<Opener>(door.doors.engine(), door.protocol->mappings(), [] {
    try {
      (void)running->doors.open(running->chosen, *running->protocol, Access::write);  // the log has it
    } catch (const std::bad_alloc &) {
      log::error("memcached port: out of memory");
    }
  });
  return door.opener->start();
}

int show(MYSQL_THD, st_mysql_show_var *variable, char *) {
  DoorStatus status;
  StatusPage page;
  if (running != nullptr) running->doors.add_to(status);
  page.add(status);
  page.add_switch("listening", running != nullptr && running->doors.listening(Access::write));
  protocol::Statistics::Sums sums{};
  if (running != nullptr && running->protocol != nullptr) sums = running->protocol->statistics().sum();
  size_t next = 0;
#define STATISTIC(name, sentence) page.add(#name, sums[next++]);
#include "memcached/statistics.def"
#undef STATISTIC
  page.fill(*variable);
  return 0;
}

void close() {
  if (running == nullptr) return;
  running->opener.reset();
  delete running;
  running = nullptr;
}

}  // namespace

int init(void *) {
  log::set_sink(mariadb::write_error_log);
  if (mariadb::server_is_bootstrapping()) return 0;
  if (!check_settings()) return 1;
  try {
    running = new Running;
    if (prepare()) return 0;
  } catch (const std::bad_alloc &) {
    log::error("memcached: out of memory");
  }
  close();
  return 1;
}

int deinit(void *) {
  const bool open = running != nullptr;
  close();
  pool::drain();
  if (open) log::note("memcached: all doors closed");
  return 0;
}

st_mysql_show_var status_variables[] = {{"Memcached", reinterpret_cast<void *>(show), SHOW_FUNC},
                                        {nullptr, nullptr, SHOW_UNDEF}};

}  // namespace postern::plugin::memcached
