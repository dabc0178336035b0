// load: loads a server on this machine, checks every answer, and prints a line of JSON with rates and latencies.
//
//   load --protocol handlersocket --port 9998 --mix find=100 --clients 50 --depth 1 --seconds 5
//   load --protocol memcached --port 11211 --mix insert=100 --count 1000000 --depth 100        inserts rows 1 to
//   1000000
//
// Protocols: handlersocket, null (tools/standalone --null), memcached, memcached-meta, memcached-container (the door of
// a database), redis, redis-hgetall, redis-hmget, sql-text, sql-prepared. One thread. Closed loop: every client keeps
// --depth requests in flight; latency counts from the send, so a server that stalls gets fewer requests and looks
// better than it is. At --rate R requests are due at fixed times whatever is still unanswered, and latency counts from
// the time a request was due. --idle N additional connections stay silent, after the work that --idle-as names:
// connected, opened (prepared for finds) or used (one find); the report has their share of the server's memory. A
// request is overtaken by the answers that other clients receive between it and its own: `overtaken_p99` of them in one
// of 100. bench/README.md has the tables and the requests.
#include <getopt.h>

#include <cstdio>
#include <cstdlib>

#include "load_loop.h"

namespace postern::bench {
namespace {

[[noreturn]] void fail(const std::string &text) {
  std::fprintf(stderr, "load: %s\n", text.c_str());
  std::exit(2);
}

uint64_t number(const char *text, uint64_t least, uint64_t most) {
  uint64_t value = 0;
  if (!parse_natural(text, value) || value < least || value > most)
    fail(std::string(text) + " is not a number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

double decimal(const char *text) {
  char *end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= 0)) fail(std::string(text) + " is not a number");
  return value;
}

/// `find=90,update=10`
void parse_mix(Bytes text, Options &options) {
  uint64_t sum = 0;
  while (!text.empty()) {
    const Bytes part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    Kind kind;
    uint64_t share = 0;
    const size_t equals = part.find('=');
    if (equals == Bytes::npos || !kind_of(part.substr(0, equals), kind) ||
        !parse_natural(part.substr(equals + 1), share))
      fail("--mix is like find=90,update=10");
    options.mix[static_cast<size_t>(kind)] += share;
    sum += share;
  }
  if (sum != 100) fail("the parts of --mix must make 100");
}

void parse_keys(Bytes text, Options &options) {
  options.zipfian = text == "zipfian";
  options.sequential = text == "sequential";
  if (!options.zipfian && !options.sequential && text != "uniform") fail("--keys is uniform, zipfian or sequential");
}

void parse_idle(Bytes text, Options &options) {
  static constexpr std::pair<Bytes, Idle> kinds_of_idle[] = {
      {"connected", Idle::connected}, {"opened", Idle::opened}, {"used", Idle::used}};
  for (const auto &[name, idle] : kinds_of_idle) {
    if (text != name) continue;
    options.idle_as = idle;
    return;
  }
  fail("--idle-as is connected, opened or used");
}

Options parse(int argc, char **argv) {
  enum Name : int {
    protocol,
    port,
    write_port,
    unix_path,
    write_unix,
    clients,
    idle,
    idle_as,
    depth,
    rate,
    seconds,
    warm_up,
    count,
    mix,
    keys,
    max,
    insert_from,
    seed,
    server_pid,
    table,
    multi,
    scan
  };
  static constexpr option names[] = {{"protocol", required_argument, nullptr, protocol},
                                     {"port", required_argument, nullptr, port},
                                     {"write-port", required_argument, nullptr, write_port},
                                     {"unix", required_argument, nullptr, unix_path},
                                     {"write-unix", required_argument, nullptr, write_unix},
                                     {"clients", required_argument, nullptr, clients},
                                     {"idle", required_argument, nullptr, idle},
                                     {"idle-as", required_argument, nullptr, idle_as},
                                     {"depth", required_argument, nullptr, depth},
                                     {"rate", required_argument, nullptr, rate},
                                     {"seconds", required_argument, nullptr, seconds},
                                     {"warm-up", required_argument, nullptr, warm_up},
                                     {"count", required_argument, nullptr, count},
                                     {"mix", required_argument, nullptr, mix},
                                     {"keys", required_argument, nullptr, keys},
                                     {"max", required_argument, nullptr, max},
                                     {"insert-from", required_argument, nullptr, insert_from},
                                     {"seed", required_argument, nullptr, seed},
                                     {"server-pid", required_argument, nullptr, server_pid},
                                     {"table", required_argument, nullptr, table},
                                     {"multi", required_argument, nullptr, multi},
                                     {"scan", required_argument, nullptr, scan},
                                     {nullptr, 0, nullptr, 0}};
  Options options;
  for (int name; (name = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
    switch (name) {
      case protocol: options.protocol = optarg; break;
      case port: options.place.port = number(optarg, 1, 65'535); break;
      case write_port: options.write_place.port = number(optarg, 1, 65'535); break;
      case unix_path: options.place.unix_path = optarg; break;
      case write_unix: options.write_place.unix_path = optarg; break;
      case clients: options.clients = number(optarg, 1, 20'000); break;
      case idle: options.idle = number(optarg, 0, 20'000); break;
      case idle_as: parse_idle(optarg, options); break;
      case depth: options.depth = number(optarg, 1, 10'000); break;
      case rate: options.rate = decimal(optarg); break;
      case seconds: options.seconds = decimal(optarg); break;
      case warm_up: options.warm_up = decimal(optarg); break;
      case count: options.count = number(optarg, 1, UINT64_MAX); break;
      case mix: parse_mix(optarg, options); break;
      case keys: parse_keys(optarg, options); break;
      case max: options.max = number(optarg, 1, UINT32_MAX); break;
      case insert_from: options.insert_from = number(optarg, 1, UINT32_MAX); break;
      case seed: options.seed = number(optarg, 0, UINT64_MAX); break;
      case server_pid: options.server_pid = static_cast<int>(number(optarg, 1, INT32_MAX)); break;
      case table:
        if (!table_of(optarg, options.shape.table)) fail("--table is user, written, people, user_N, value_N or wide_N");
        break;
      case multi: options.shape.multi_keys = static_cast<uint32_t>(number(optarg, 1, 10'000)); break;
      case scan: options.shape.scan_rows = static_cast<uint32_t>(number(optarg, 1, 100'000)); break;
      default: fail("unknown option; bench/load_generator/load.cc holds the known ones");
    }
  }
  if (optind != argc || !options.place.given()) fail("--port or --unix is needed");
  if (!make_protocol(options.protocol, {})) fail("there is no protocol " + options.protocol);
  if (options.mix == decltype(options.mix){}) options.mix[static_cast<size_t>(Kind::find)] = 100;
  if (options.max < options.shape.multi_keys || options.max < options.shape.scan_rows)
    fail("--max is less than the rows of a request");
  return options;
}

std::string quoted(Bytes text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c < ' ' || c > '~') {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      json += code;
    } else {
      json += c;
    }
  }
  return json + '"';
}

void print(const Result &result, const std::string &error) {
  const double answers = static_cast<double>(result.answers);
  std::printf("{\"seconds\": %.6f, \"answers\": %lu", result.seconds, static_cast<unsigned long>(result.answers));
  if (result.seconds > 0)
    std::printf(
        ", \"answers_per_second\": %.1f, \"rows_per_second\": %.1f, \"client_cpu_percent\": %.1f"
        ", \"server_cpu_percent\": %.1f",
        answers / result.seconds, static_cast<double>(result.rows) / result.seconds,
        100 * result.client_cpu_seconds / result.seconds, 100 * result.server_cpu_seconds / result.seconds);
  if (result.answers != 0)
    std::printf(", \"client_cpu_us\": %.4f, \"server_cpu_us\": %.4f", result.client_cpu_seconds * 1e6 / answers,
                result.server_cpu_seconds * 1e6 / answers);
  static constexpr struct {
    const char *name;
    double part;
  } quantiles[] = {{"p50_us", 0.5}, {"p90_us", 0.9}, {"p99_us", 0.99}, {"p999_us", 0.999}};
  for (const auto &quantile : quantiles)
    std::printf(", \"%s\": %.1f", quantile.name, static_cast<double>(result.latency.quantile_ns(quantile.part)) / 1000);
  std::printf(", \"overtaken_p50\": %lu, \"overtaken_p99\": %lu, \"overtaken_max\": %lu",
              static_cast<unsigned long>(result.overtaken.quantile_ns(0.5)),
              static_cast<unsigned long>(result.overtaken.quantile_ns(0.99)),
              static_cast<unsigned long>(result.overtaken.max_ns()));
  std::printf(", \"idle_server_bytes\": %.1f", result.idle_server_bytes);
  std::printf(", \"max_us\": %.1f, \"wrong\": %lu, \"refused\": %lu, \"unanswered\": %lu, \"acknowledged\": {",
              static_cast<double>(result.latency.max_ns()) / 1000, static_cast<unsigned long>(result.wrong),
              static_cast<unsigned long>(result.refused), static_cast<unsigned long>(result.unanswered));
  const char *comma = "";
  for (size_t kind = 0; kind < kinds; ++kind) {
    if (result.acknowledged[kind] == 0) continue;
    std::printf("%s\"%s\": %lu", comma, name_of(static_cast<Kind>(kind)),
                static_cast<unsigned long>(result.acknowledged[kind]));
    comma = ", ";
  }
  std::printf("}, \"first_wrong\": %s, \"first_refused\": %s, \"error\": %s}\n", quoted(result.first_wrong).c_str(),
              quoted(result.first_refused).c_str(), quoted(error).c_str());
}

int main(int argc, char **argv) {
  const Options options = parse(argc, argv);
  Result result;
  std::string error;
  const bool done = run(options, result, error);
  print(result, error);
  return done && result.wrong == 0 && result.refused == 0 && result.unanswered == 0 && result.answers != 0 ? 0 : 1;
}

}  // namespace
}  // namespace postern::bench

int main(int argc, char **argv) {
  return postern::bench::main(argc, argv);
}
