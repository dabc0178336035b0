// memcached_plugin.cc: the plugin `memcached`: one port, over the containers of the database innodb_memcache.
#include <mysql/plugin.h>

#include <atomic>
#include <memory>
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

/// Reads the containers once the server is up, so that an administrator hears at once what is wrong with them.
class FirstLook {
 public:
  FirstLook(Engine &engine, protocol::Mappings &mappings) : engine_(engine), mappings_(mappings) {}
  ~FirstLook() {
    stop_.store(true, std::memory_order_release);
    thread_.join();
  }
  void start() {
    // If there is no thread for it, the first request looks.
    (void)thread_.start([](void *self) { static_cast<FirstLook *>(self)->look(); }, this, "memcached look");
  }

 private:
  void look() {
    const ThreadIdentity who{
        .access = Access::read, .name = "memcached look", .wake_fd = wake_.fd(), .counters = &counters_};
    std::unique_ptr<Executor> executor = engine_.attach(who, stop_);
    if (executor == nullptr) return;
    Batch batch;
    protocol::Refresh refresh(mappings_);
    batch.begin(0);
    refresh.add_to(batch);
    bool done = executor->run(batch.ops()).lasted();
    for (const Op &op : batch.ops()) done = done && op.progress == Progress::done;
    executor->idle();
    if (done) refresh.publish(clock_ms());
    pool::drain();
  }

  Engine &engine_;
  protocol::Mappings &mappings_;
  net::WakeFd wake_;
  Counters counters_;
  std::atomic<bool> stop_{false};
  door::Thread thread_;
};

/// In the order it is needed.
struct Running {
  Doors doors{"memcached", settings};
  std::unique_ptr<FirstLook> first_look;
  protocol::Memcached *spoken = nullptr;  // doors has it
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
  return settings.auth == 1;
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

bool open_door() {
  protocol::Settings chosen;
  chosen.accounts = has_accounts();
  chosen.value_bytes_max = settings.max_value_bytes;
  chosen.cache_bytes = settings.cache_bytes;
  chosen.version = "1.6.18-postern-" POSTERN_VERSION;
  chosen.figures = tell_figures;
  auto spoken = std::make_unique<protocol::Memcached>(std::move(chosen));
  running->spoken = spoken.get();
  return running->doors.open(door_settings(), std::move(spoken), Access::write, has_accounts(),
                             "accounts; set memcached_auth");
}

int show(MYSQL_THD, st_mysql_show_var *variable, char *) {
  DoorStatus status;
  StatusPage page;
  if (running != nullptr) running->doors.add_to(status);
  page.add(status);
  protocol::Statistics::Sums sums{};
  if (running != nullptr && running->doors.any()) sums = running->spoken->statistics().sum();
  size_t next = 0;
#define STATISTIC(name, sentence) page.add(#name, sums[next++]);
#include "memcached/statistics.def"
#undef STATISTIC
  page.fill(*variable);
  return 0;
}

void close() {
  if (running == nullptr) return;
  running->first_look.reset();
  delete running;
  running = nullptr;
}

}  // namespace

int init(void *) {
  log::set_sink(mariadb::write_error_log);
  if (mariadb::server_is_bootstrapping()) return 0;
  running = new Running;
  if (!running->doors.prepare() || !open_door()) {
    close();
    return 1;
  }
  if (!running->doors.any()) return 0;
  running->first_look = std::make_unique<FirstLook>(running->doors.engine(), running->spoken->mappings());
  running->first_look->start();
  return 0;
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
