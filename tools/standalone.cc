// standalone: every door over an engine in memory, without a server: to profile, to fuzz and to learn.
//
//   standalone --ping 7000                     every line is answered with `pong`
//   standalone --null 7001                     every line is answered with one fixed row: the limit of the wire
//   standalone --handlersocket 7002 --rows 1000000
//   standalone --memcached 7003                    the container `default` over the empty table `item`
//   standalone --redis 7004                        an empty keyspace
//
// The table is `user` of the database `test`: user_id, user_name, user_email, created; rows 1 to --rows.
#include <getopt.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "engine/fake/fake_engine.h"
#include "door/door.h"
#include "handlersocket/protocol.h"
#include "memcached/protocol.h"
#include "ping/ping.h"
#include "redis/protocol.h"
#include "redis/testing/fake_keyspace.h"

namespace postern {
namespace {

constexpr const char *fixed_row = "0\t3\tYukari Takeba\tyukari.takeba@dena.jp\t2010-02-03 11:22:33";

void fill(FakeEngine &engine, uint64_t rows) {
  using Type = FakeEngine::Type;
  engine.create("test", "user",
                {{"user_id"}, {"user_name", Type::text}, {"user_email", Type::text}, {"created", Type::text}},
                {{"PRIMARY", {"user_id"}}});
  for (uint64_t row = 1; row <= rows; ++row) {
    const std::string id = std::to_string(row);
    engine.insert("test", "user", {id, "User Number " + id, "user." + id + "@example.net", "2010-02-03 11:22:33"});
  }
}

void map_items(FakeEngine &engine) {
  using Type = FakeEngine::Type;
  std::vector<FakeEngine::Column> columns = {{"name", Type::text, false}};
  for (const char *const column : {"db_schema", "db_table", "key_columns", "value_columns", "flags", "cas_column",
                                   "expire_time_column", "unique_idx_name_on_key"})
    columns.push_back({column, Type::text});
  engine.create("innodb_memcache", "containers", columns, {{"PRIMARY", {"name"}}});
  engine.insert("innodb_memcache", "containers",
                {"default", "test", "item", "k", "v", "flags", "cas", "expire_time", "PRIMARY"});
  engine.create("test", "item", {{"k", Type::blob, false}, {"v", Type::blob}, {"flags"}, {"cas"}, {"expire_time"}},
                {{"PRIMARY", {"k"}}});
}

/// A door that an option names.
struct Offered {
  const char *name;
  Access access;
  /// Creates the tables that it serves.
  std::unique_ptr<Protocol> (*prepare)(FakeEngine &engine, uint64_t rows);
};
constexpr Offered offered[] = {
    {"ping", Access::read,
     [](FakeEngine &, uint64_t) -> std::unique_ptr<Protocol> { return std::make_unique<ping::Ping>(); }},
    {"null", Access::read,
     [](FakeEngine &, uint64_t) -> std::unique_ptr<Protocol> { return std::make_unique<ping::Ping>(fixed_row); }},
    {"handlersocket", Access::read,
     [](FakeEngine &engine, uint64_t rows) -> std::unique_ptr<Protocol> {
       fill(engine, rows);
       return std::make_unique<handlersocket::HandlerSocket>(handlersocket::Settings{});
     }},
    {"memcached", Access::write,
     [](FakeEngine &engine, uint64_t) -> std::unique_ptr<Protocol> {
       map_items(engine);
       return std::make_unique<memcached::Memcached>(memcached::Settings{});
     }},
    {"redis", Access::write,
     [](FakeEngine &engine, uint64_t) -> std::unique_ptr<Protocol> {
       redis::create_keyspace(engine);
       return std::make_unique<redis::Redis>(redis::Settings{});
     }},
};

struct Options {
  std::array<uint64_t, std::size(offered)> ports{};  // 0: the door stays closed
  uint64_t threads = 1;
  uint64_t rows = 1'000;
  std::string socket{};  // with a single door: listen here, too
};

[[noreturn]] void usage(const char *program) {
  std::fprintf(stderr, "usage: %s", program);
  for (const Offered &door : offered) std::fprintf(stderr, " [--%s PORT]", door.name);
  std::fprintf(stderr, " [--threads N] [--rows N] [--unix PATH]\n");
  std::exit(2);
}

uint64_t number(const char *text, uint64_t most, const char *program) {
  uint64_t value = 0;
  if (!parse_natural(text, value) || value > most) usage(program);
  return value;
}

Options parse(int argc, char **argv) {
  constexpr int first_door = 256;  // after all letters
  std::vector<option> names;
  for (const Offered &door : offered)
    names.push_back({door.name, required_argument, nullptr, first_door + static_cast<int>(names.size())});
  names.insert(names.end(), {{"threads", required_argument, nullptr, 't'},
                             {"rows", required_argument, nullptr, 'r'},
                             {"unix", required_argument, nullptr, 'u'},
                             {nullptr, 0, nullptr, 0}});
  Options options;
  for (int name; (name = getopt_long(argc, argv, "", names.data(), nullptr)) != -1;) {
    switch (name) {
      case 't': options.threads = number(optarg, 64, argv[0]); break;
      case 'r': options.rows = number(optarg, 10'000'000, argv[0]); break;
      case 'u': options.socket = optarg; break;
      case '?': usage(argv[0]);
      default: options.ports[static_cast<size_t>(name - first_door)] = number(optarg, 65'535, argv[0]);
    }
  }
  const auto doors = std::size(offered) - static_cast<size_t>(std::ranges::count(options.ports, 0u));
  if (optind != argc || doors == 0 || (doors > 1 && !options.socket.empty())) usage(argv[0]);
  return options;
}

class Doors {
 public:
  Doors(const Options &options, Engine &engine) : options_(options), engine_(engine) {}

  void open(const char *name, uint64_t port, std::unique_ptr<Protocol> protocol, Access access) {
    door::Options chosen;
    chosen.name = name;
    chosen.host = "127.0.0.1";
    chosen.port = static_cast<uint16_t>(port);
    chosen.unix_path = options_.socket;
    chosen.threads = static_cast<uint32_t>(options_.threads);
    protocols_.push_back(std::move(protocol));
    doors_.push_back(std::make_unique<door::Door>(chosen, *protocols_.back(), engine_, access));
    std::string error;
    if (!doors_.back()->start(error)) {
      std::fprintf(stderr, "%s: %s\n", name, error.c_str());
      std::exit(1);
    }
    std::printf("%s: listening on 127.0.0.1:%u\n", name, chosen.port);
  }

  void close() {
    Counters sum;
    for (const auto &door : doors_) {
      door->stop();
      door->add_counters(sum);
    }
#define COUNTER(name, sentence)    \
  if (sum.get(Counter::name) != 0) \
    std::printf("%-24s %lu\n", #name, static_cast<unsigned long>(sum.get(Counter::name)));
#include "base/counters.def"
#undef COUNTER
  }

 private:
  const Options &options_;
  Engine &engine_;
  std::vector<std::unique_ptr<Protocol>> protocols_;
  std::vector<std::unique_ptr<door::Door>> doors_;
};

int run(const Options &options) {
  // Before any thread starts: threads inherit the mask, so that only this one gets the signals.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  FakeEngine engine;
  Doors doors(options, engine);
  std::array<std::unique_ptr<Protocol>, std::size(offered)> protocols;  // all tables exist before any door opens
  for (size_t i = 0; i < std::size(offered); ++i)
    if (options.ports[i] != 0) protocols[i] = offered[i].prepare(engine, options.rows);
  for (size_t i = 0; i < std::size(offered); ++i)
    if (protocols[i] != nullptr)
      doors.open(offered[i].name, options.ports[i], std::move(protocols[i]), offered[i].access);
  std::fflush(stdout);
  int signal_number = 0;
  sigwait(&ends, &signal_number);
  doors.close();
  return 0;
}

}  // namespace
}  // namespace postern

int main(int argc, char **argv) {
  return postern::run(postern::parse(argc, argv));
}
