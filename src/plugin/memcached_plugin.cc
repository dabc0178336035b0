// memcached_plugin.cc: the plugin `memcached`: one port, over the containers of the database innodb_memcache.
#include "server_plugin.h"

#include <climits>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "late_door.h"
#include "memcached/protocol.h"
#include "live_settings.h"
#include "running.h"
#include "settings.h"

namespace postern::plugin::memcached {

#define PREFIX "memcached_"
#define OWN_SETTINGS "memcached/settings.def"
#define SERVES_CLIENTS
#include "plugin_settings.inc"

namespace {

namespace protocol = ::postern::memcached;

bool has_accounts() {
  return settings.auth_choice == Settings::Authentication::account;
}

/// Whether there is a container for the door to serve.
bool has_containers(Executor &executor, protocol::Mappings &mappings) {
  Batch batch;
  protocol::Refresh refresh(mappings);
  batch.begin(0);
  refresh.add_to(batch);
  bool done = executor.run({.ops = batch.ops()}).lasted();
  for (const Op &op : batch.ops()) done = done && op.progress == Progress::done;
  executor.idle();
  if (done) refresh.publish(clock_ms());
  return mappings.generation() != 0 && !mappings.snapshot()->containers.empty();
}

class MemcachedRunning final : public Running {
 public:
  bool open() override;
  const Doors &doors() const override { return doors_; }
  void apply_settings() override;
  void add_mappings(std::vector<MappingNotes> &notes) const override;
  void add_own(StatusPage &page, const Counters &counters) const override;

 private:
  bool look_for_containers();
  door::Options door_options() const;
  protocol::Settings protocol_settings() const;
  void tell_figures(protocol::Figures &figures) const;

  // In the order of their dependencies.
  std::unique_ptr<protocol::Memcached> protocol_;
  // A text client that has not logged in sends an item where a login is expected.
  Doors doors_{"memcached", settings, engine::LoginNames::unsure};
  std::unique_ptr<LateDoor> late_door_;
};

/// Invalid settings are reported at once, even if no door opens yet.
bool MemcachedRunning::open() {
  if (!doors_.prepare()) return false;
  protocol_ = std::make_unique<protocol::Memcached>(protocol_settings());
  return doors_.expect({.options = door_options(),
                        .protocol = protocol_.get(),
                        .access = Access::write,
                        .usual_port = 11211,
                        .asks = has_accounts(),
                        .remedy = "accounts; set memcached_auth"},
                       "waits for a container in innodb_memcache.containers",
                       "sql/innodb_memcache.sql makes that table, CALL postern.map_table() a container") &&
         look_for_containers();
}

/// Starts looking, unless it does already or the door would listen nowhere.
bool MemcachedRunning::look_for_containers() {
  const door::Options chosen = doors_.options(Access::write);
  if (late_door_ != nullptr || (chosen.port == 0 && chosen.unix_path.empty())) return true;
  late_door_ = std::make_unique<LateDoor>(
      doors_.engine(), "memcached", "memcached: no containers yet, looks for some twice a second",
      [this](Executor &executor) { return has_containers(executor, protocol_->mappings()); },
      [this] { doors_.open_waiting(); });  // the error was logged
  return late_door_->start();
}

door::Options MemcachedRunning::door_options() const {
  door::Options chosen = doors_.common("memcached", settings);
  // While one worker waits for the disk another uses the processor.
  chosen.threads_per_processor = 2;
  chosen.lets_in = has_accounts() ? "accounts" : "everybody";
  chosen.login_threads = has_accounts() ? limits::login_threads : 0;
  return chosen;
}

protocol::Settings MemcachedRunning::protocol_settings() const {
  protocol::Settings chosen;
  chosen.accounts = has_accounts();
  chosen.value_bytes_max = settings.max_value_bytes;
  chosen.cache_bytes = settings.cache_bytes;
  chosen.version = "1.6.18-postern-" POSTERN_VERSION;
  chosen.figures = [this](protocol::Figures &figures) { tell_figures(figures); };
  return chosen;
}

void MemcachedRunning::tell_figures(protocol::Figures &figures) const {
  DoorStatus status;
  doors_.add_to(status);
  figures.counters.absorb(status.counters);
  const door::Options chosen = doors_.options(Access::write);
  figures.connections = status.connections;
  figures.connections_peak = status.connections_peak;
  figures.connections_max = uint32_t{chosen.connections_max};
  figures.threads = status.threads;
  figures.port = chosen.port;
  figures.address = chosen.host;
  figures.socket = chosen.unix_path;
}

void MemcachedRunning::add_mappings(std::vector<MappingNotes> &notes) const {
  if (protocol_->mappings().generation() == 0) return;
  for (const auto &container : protocol_->mappings().snapshot()->containers) {
    const items::ContainerRow &row = container->row();
    notes.push_back({.name = row.name,
                     .kind = "container",
                     .database = row.database,
                     .table = row.table,
                     .index = row.index,
                     .key_columns = row.key_columns,
                     .value_columns = row.value_columns,
                     .problem = container->problem(),
                     .trouble = container->trouble().words()});
  }
}

void MemcachedRunning::apply_settings() {
  if (!protocol_->change(protocol_settings()))
    log::error("memcached_cache_bytes: out of memory; the cache stays as it is");
  doors_.apply(Access::write, door_options());
  if (!look_for_containers()) log::error("memcached: no thread to look for its containers with");
}

void MemcachedRunning::add_own(StatusPage &page, const Counters &) const {
  page.add_switch("listening", doors_.listening(Access::write));
  protocol::Statistics::Sums sums;
  protocol_->statistics().add_to(sums);
#define STATISTIC(name, sentence) page.add(#name, sums.get(protocol::Statistic::name));
#include "memcached/statistics.def"
#undef STATISTIC
}

}  // namespace

std::unique_ptr<Running> make_running() {
  return std::make_unique<MemcachedRunning>();
}

}  // namespace postern::plugin::memcached
