// server_commands.cc: INFO, CONFIG, TIME and what else is asked of a server and not of its keys.
#include <time.h>

#include <string>
#include <utility>
#include <vector>

#include "redis/commands/information.h"
#include "redis/registry/handlers.h"
#include "redis/session.h"
#include "redis/wire/glob.h"
#include "redis/wire/numbers.h"

namespace postern::redis::lower {
namespace {

using Options = std::vector<std::pair<Bytes, std::string>>;

/// What CONFIG GET knows: what client programs look for, and no more.
Options options_of(const Redis &protocol) {
  Figures figures;
  protocol.tell(figures);
  const BoxBounds &boxes = protocol.settings().boxes;
  return {
      {"appendonly", "yes"},
      {"bind", figures.address},
      {"client-output-buffer-limit", "normal 0 0 0 slave 0 0 0 pubsub " + std::to_string(boxes.bytes_max) + " " +
                                         std::to_string(boxes.slow_bytes_max) + " " + std::to_string(boxes.slow_s_max)},
      {"databases", std::to_string(database_count)},
      {"maxclients", std::to_string(figures.connections_max)},
      {"maxmemory", "0"},
      {"maxmemory-policy", "noeviction"},
      {"port", std::to_string(figures.port)},
      {"proto-max-bulk-len", std::to_string(protocol.settings().value_bytes_max)},
      {"requirepass", ""},
      {"save", ""},
      {"timeout", std::to_string(figures.timeout)},
      {"unixsocket", figures.socket},
  };
}

bool matches_any(Bytes name, std::span<const Bytes> patterns) {
  for (const Bytes pattern : patterns)
    if (glob_matches(pattern, name, true)) return true;
  return false;
}

Next answer_empty_array(Call &call) {
  answer(call, [](Writer &writer) { writer.array(0); });
  return Next::go_on;
}

Next answer_verbatim(Call &call, Bytes text) {
  answer(call, [text](Writer &writer) { writer.verbatim(text); });
  return Next::go_on;
}

}  // namespace

Next info(Call &call) {
  const std::string text = information(call.session.protocol(), call.arguments.subspan(1));
  return answer_verbatim(call, call.arena().copy(text));
}

Next config_get(Call &call) {
  const std::span<const Bytes> patterns = call.arguments.subspan(2);
  std::vector<std::pair<Bytes, Bytes>> found;
  for (const auto &[name, value] : options_of(call.session.protocol()))
    if (matches_any(name, patterns)) found.emplace_back(name, call.arena().copy(value));
  const std::span<std::pair<Bytes, Bytes>> kept = call.arena().array<std::pair<Bytes, Bytes>>(found.size());
  std::copy(found.begin(), found.end(), kept.begin());
  answer(call, [kept](Writer &writer) {
    writer.map(kept.size());
    for (const auto &[name, value] : kept) {
      writer.bulk(name);
      writer.bulk(value);
    }
  });
  return Next::go_on;
}

Next config_set(Call &call) {
  if (call.arguments.size() % 2 != 0) return refuse(call, syntax_error);
  std::string text = "ERR Unknown option or number of arguments for CONFIG SET - '";
  text.append(told_of(call.arguments[2], 128)).append("'");
  return refuse(call, text);
}

Next config_resetstat(Call &call) {
  call.session.protocol().reset_statistics();
  return answer_ok(call);
}

Next server_time(Call &call) {
  answer(call, [](Writer &writer) {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    writer.array(2);
    writer.bulk_integer(now.tv_sec);
    writer.bulk_integer(now.tv_nsec / 1000);
  });
  return Next::go_on;
}

/// No commit waits for another copy of the data: each is as durable as it gets when it is answered.
Next lastsave(Call &call) {
  return answer_integer(call, call.now_ms / 1000);
}

/// Replicas of the server are SQL's to know.
Next wait(Call &call) {
  int64_t number = 0;
  int64_t timeout = 0;
  if (!parse_integer(call.arguments[1], number)) return refuse(call, not_an_integer);
  if (!parse_integer(call.arguments[2], timeout)) return refuse(call, "ERR timeout is not an integer or out of range");
  if (timeout < 0) return refuse(call, "ERR timeout is negative");
  return answer_integer(call, 0);
}

Next role(Call &call) {
  Figures figures;
  call.session.protocol().tell(figures);
  const bool read_only = figures.read_only;
  answer(call, [read_only](Writer &writer) {
    writer.array(read_only ? 5 : 3);
    writer.bulk(read_only ? "slave" : "master");
    if (!read_only) {
      writer.integer(0);
      return writer.array(0);
    }
    writer.bulk("");
    writer.integer(0);
    writer.bulk("connected");
    writer.integer(0);
  });
  return Next::go_on;
}

Next lolwut(Call &call) {
  return answer_verbatim(call, "A postern is the small door beside the gate.\nRedis ver. 7.0.15\n");
}

Next memory_doctor(Call &call) {
  return answer_verbatim(call, "The values are in the server's tables; its buffer pool is where memory goes.\n");
}

Next memory_malloc_stats(Call &call) {
  return answer_bulk(call, "Stats not supported for the current allocator");
}

Next memory_purge(Call &call) {
  return answer_ok(call);
}

Next memory_stats(Call &call) {
  Figures figures;
  call.session.protocol().tell(figures);
  answer(call, [clients = figures.connections](Writer &writer) {
    writer.map(2);
    writer.bulk("peak.allocated");
    writer.integer(0);
    writer.bulk("clients.normal");
    writer.integer(static_cast<int64_t>(clients));
  });
  return Next::go_on;
}

Next slowlog_get(Call &call) {
  int64_t count = 0;
  if (call.arguments.size() > 3)
    return refuse(call, "ERR unknown subcommand or wrong number of arguments for 'get'. Try SLOWLOG HELP.");
  if ((call.arguments.size() == 3 && !parse_integer(call.arguments[2], count)) || count < -1)
    return refuse(call, "ERR count should be greater than or equal to -1");
  return answer_empty_array(call);
}

Next slowlog_len(Call &call) {
  return answer_integer(call, 0);
}

Next slowlog_reset(Call &call) {
  return answer_ok(call);
}

Next latency_doctor(Call &call) {
  return answer_verbatim(call, "Latency is not sampled here; see SHOW GLOBAL STATUS of the server.\n");
}

Next latency_graph(Call &call) {
  std::string text = "ERR No samples available for event '";
  text.append(call.arguments[2].substr(0, 128)).append("'");
  return refuse(call, text);
}

Next latency_histogram(Call &call) {
  answer(call, [](Writer &writer) { writer.map(0); });
  return Next::go_on;
}

Next latency_history(Call &call) {
  return answer_empty_array(call);
}

Next latency_latest(Call &call) {
  return answer_empty_array(call);
}

Next latency_reset(Call &call) {
  return answer_integer(call, 0);
}

Next cluster(Call &call) {
  return refuse(call, "ERR This instance has cluster support disabled");
}

Next readonly_replica(Call &call) {
  return answer_ok(call);
}

Next readwrite_replica(Call &call) {
  return answer_ok(call);
}

}  // namespace postern::redis::lower
