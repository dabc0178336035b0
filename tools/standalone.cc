// standalone: every door over an engine in memory, without a server: to profile, to fuzz and to learn.
//
//   standalone --ping 7000                     every line is answered with `pong`
//   standalone --null 7001                     every line is answered with one fixed row: the limit of the wire
//   standalone --handlersocket 7002 --rows 1000000
//   standalone --memcached 7003                    the container `default` of the table `item`, which is empty
//
// The table is `user` of the database `test`: user_id, user_name, user_email, created; rows 1 to --rows.
#include <getopt.h>
#include <signal.h>

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

namespace postern {
namespace {

constexpr const char *fixed_row = "0\t3\tYukari Takeba\tyukari.takeba@dena.jp\t2010-02-03 11:22:33";

struct Options {
  uint64_t ping = 0;
  uint64_t null = 0;
  uint64_t handlersocket = 0;
  uint64_t memcached = 0;
  uint64_t threads = 1;
  uint64_t rows = 1'000;
  std::string socket{};  // with a single door: listen here, too
};

[[noreturn]] void usage(const char *program) {
  std::fprintf(stderr,
               "usage: %s [--ping PORT] [--null PORT] [--handlersocket PORT] [--memcached PORT] [--threads N] [--rows "
               "N] [--unix PATH]\n",
               program);
  std::exit(2);
}

uint64_t number(const char *text, uint64_t most, const char *program) {
  uint64_t value = 0;
  if (!parse_natural(text, value) || value > most) usage(program);
  return value;
}

Options parse(int argc, char **argv) {
  static constexpr option names[] = {
      {"ping", required_argument, nullptr, 'p'},          {"null", required_argument, nullptr, 'n'},
      {"handlersocket", required_argument, nullptr, 'h'}, {"memcached", required_argument, nullptr, 'm'},
      {"threads", required_argument, nullptr, 't'},       {"rows", required_argument, nullptr, 'r'},
      {"unix", required_argument, nullptr, 'u'},          {nullptr, 0, nullptr, 0}};
  Options options;
  for (int name; (name = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
    switch (name) {
      case 'p': options.ping = number(optarg, 65'535, argv[0]); break;
      case 'n': options.null = number(optarg, 65'535, argv[0]); break;
      case 'h': options.handlersocket = number(optarg, 65'535, argv[0]); break;
      case 'm': options.memcached = number(optarg, 65'535, argv[0]); break;
      case 't': options.threads = number(optarg, 64, argv[0]); break;
      case 'r': options.rows = number(optarg, 10'000'000, argv[0]); break;
      case 'u': options.socket = optarg; break;
      default: usage(argv[0]);
    }
  }
  const int doors = (options.ping != 0) + (options.null != 0) + (options.handlersocket != 0) + (options.memcached != 0);
  if (optind != argc || doors == 0 || (doors > 1 && !options.socket.empty())) usage(argv[0]);
  return options;
}

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

class Doors {
 public:
  Doors(const Options &options, Engine &engine) : options_(options), engine_(engine) {}

  void open(const char *name, uint64_t port, std::unique_ptr<Protocol> protocol, Access access = Access::read) {
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
  // Before any thread: they inherit the mask, so that only this one is told.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  FakeEngine engine;
  if (options.handlersocket != 0) fill(engine, options.rows);
  Doors doors(options, engine);
  if (options.ping != 0) doors.open("ping", options.ping, std::make_unique<ping::Ping>());
  if (options.null != 0) doors.open("null", options.null, std::make_unique<ping::Ping>(fixed_row));
  if (options.handlersocket != 0)
    doors.open("handlersocket", options.handlersocket,
               std::make_unique<handlersocket::HandlerSocket>(handlersocket::Settings{}));
  if (options.memcached != 0) {
    map_items(engine);
    doors.open("memcached", options.memcached, std::make_unique<memcached::Memcached>(memcached::Settings{}),
               Access::write);
  }
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
