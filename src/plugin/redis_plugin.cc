// redis_plugin.cc: the plugin `redis`: one port, over the tables that the database postern maps.
#include "server_plugin.h"

#include <climits>
#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "engine/engine.h"
#include "late_door.h"
#include "live_settings.h"
#include "redis/protocol.h"
#include "redis/work/sweep.h"
#include "running.h"
#include "settings.h"
#include "sweeper.h"

namespace postern::plugin::redis {

#define PREFIX "redis_"
#define OWN_SETTINGS "redis/settings.def"
#define SERVES_CLIENTS
#include "plugin_settings.inc"

namespace {

namespace protocol = ::postern::redis;

/// The maximum of threads for scripts that may compute for seconds: each costs the server a session. While all are busy
/// only further such scripts wait.
constexpr uint32_t script_threads = 8;

bool has_accounts() {
  return settings.auth_choice == Settings::Authentication::account;
}

/// Ignores the answer: the slot shows whether the table is there.
class Unheard final : public Reply {
 public:
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &) override {}
  void restart() override {}
};

/// Whether the table with the door's mappings exists.
bool has_maps(Executor &executor) {
  static constexpr Bytes columns[] = {"prefix"};
  static constexpr TableSpec spec{.database = "postern", .table = "redis_maps", .index = "PRIMARY", .columns = columns};
  Batch batch;
  TableSlot slot;
  Unheard reply;
  batch.begin(0);
  Op &op = batch.add();
  op.verb = Verb::open;
  op.internal = true;
  op.reply = &reply;
  op.slot = &slot;
  op.spec = &spec;
  const bool lasted = executor.run({.ops = batch.ops()}).lasted();
  executor.idle();
  return lasted && slot.filled();
}

class RedisRunning final : public Running {
 public:
  bool open() override;
  const Doors &doors() const override { return doors_; }
  void apply_settings() override;
  void add_mappings(std::vector<MappingNotes> &notes) const override;
  void add_own(StatusPage &page, const Counters &counters) const override;

 private:
  bool look_for_tables();
  door::Options door_options() const;
  protocol::Settings protocol_settings() const;
  void tell_figures(protocol::Figures &figures) const;
  uint64_t rows_swept() const { return sweeper_ == nullptr ? 0 : sweeper_->deleted(); }

  // In the order of their dependencies.
  std::unique_ptr<protocol::Redis> protocol_;
  Doors doors_{"redis", settings, engine::LoginNames::meant};
  protocol::Sweep sweep_{settings.expire_sweep, [this](uint8_t database, std::string key) {
                           protocol_->tell_expired(database, std::move(key));
                         }};
  std::unique_ptr<Sweeper> sweeper_;  // begins when the door is open
  std::unique_ptr<LateDoor> late_door_;
};

/// Invalid settings are reported at once, even if no door opens yet.
bool RedisRunning::open() {
  if (!doors_.prepare()) return false;
  protocol_ = std::make_unique<protocol::Redis>(protocol_settings());
  if (!doors_.expect({.options = door_options(),
                      .protocol = protocol_.get(),
                      .access = Access::write,
                      .usual_port = 6379,
                      .asks = has_accounts(),
                      .remedy = "accounts; set redis_auth"},
                     "waits for the table postern.redis_maps", "sql/redis.sql makes it"))
    return false;
  sweeper_ = std::make_unique<Sweeper>(
      doors_.engine(), "redis",
      [this](Executor &executor, const std::function<bool()> &goes_on) { return sweep_.run(executor, goes_on); });
  return look_for_tables();
}

/// Starts looking, unless it does already or the door would listen nowhere.
bool RedisRunning::look_for_tables() {
  const door::Options chosen = doors_.options(Access::write);
  if (late_door_ != nullptr || (chosen.port == 0 && chosen.unix_path.empty())) return true;
  late_door_ = std::make_unique<LateDoor>(doors_.engine(), "redis",
                                          "redis: no table postern.redis_maps yet, looks for it twice a second",
                                          has_maps, [this] {
                                            doors_.open_waiting();  // the error was logged
                                            if (!sweeper_->start())
                                              log::error("redis: no thread to sweep expired rows with");
                                          });
  return late_door_->start();
}

door::Options RedisRunning::door_options() const {
  door::Options chosen = doors_.common("redis", settings);
  chosen.lets_in = has_accounts() ? "accounts" : "everybody";
  chosen.login_threads = has_accounts() ? limits::login_threads : 0;
  chosen.script_threads = script_threads;
  return chosen;
}

protocol::Settings RedisRunning::protocol_settings() const {
  protocol::Settings chosen;
  chosen.accounts = has_accounts();
  chosen.default_account = text(settings.default_account);
  chosen.exec_rolls_back = settings.exec_rollback;
  chosen.script_rolls_back = settings.script_rollback;
  chosen.script_time_ms = static_cast<int64_t>(settings.script_time_limit);
  chosen.script_bytes_max = settings.script_memory;
  chosen.value_bytes_max = settings.max_value_bytes;
  chosen.request_bytes_max = settings.max_request_bytes;
  chosen.boxes.bytes_max = settings.pubsub_buffer_bytes;
  chosen.boxes.slow_bytes_max = settings.pubsub_slow_bytes;
  chosen.boxes.slow_s_max = static_cast<int64_t>(settings.pubsub_slow_s);
  chosen.notices = text(settings.notify_keyspace_events);
  chosen.version = POSTERN_VERSION;
  chosen.figures = [this](protocol::Figures &figures) { tell_figures(figures); };
  return chosen;
}

void RedisRunning::tell_figures(protocol::Figures &figures) const {
  DoorStatus status;
  doors_.add_to(status);
  figures.counters.absorb(status.counters);
  const door::Options chosen = doors_.options(Access::write);
  figures.connections = status.connections;
  figures.connections_max = uint32_t{chosen.connections_max};
  figures.threads = status.threads;
  figures.port = chosen.port;
  figures.timeout = static_cast<uint64_t>(chosen.idle_timeout_ms / 1000);
  figures.address = chosen.host;
  figures.socket = chosen.unix_path;
  figures.swept = rows_swept();
  figures.read_only = engine::server_is_read_only();
}

void RedisRunning::add_mappings(std::vector<MappingNotes> &notes) const {
  if (protocol_->maps().generation() == 0) return;
  for (const auto &map : protocol_->maps().snapshot()->maps()) {
    const protocol::MapRow &row = map->row();
    notes.push_back({.name = row.prefix,
                     .database_number = map->db(),
                     .kind = row.kind,
                     .database = row.database,
                     .table = row.table,
                     .index = row.index,
                     .key_columns = row.key_columns,
                     .value_columns = row.value_columns,
                     .problem = map->problem(),
                     .trouble = map->trouble().words()});
  }
}

void RedisRunning::apply_settings() {
  protocol_->change(protocol_settings());
  sweep_.change(settings.expire_sweep);
  doors_.apply(Access::write, door_options());
  if (!look_for_tables()) log::error("redis: no thread to look for its tables with");
}

void RedisRunning::add_own(StatusPage &page, const Counters &) const {
  page.add_switch("listening", doors_.listening(Access::write));
  page.add("rows_swept", rows_swept());
}

}  // namespace

std::unique_ptr<Running> make_running() {
  return std::make_unique<RedisRunning>();
}

}  // namespace postern::plugin::redis
