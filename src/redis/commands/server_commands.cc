// server_commands.cc: INFO, TIME and other commands about the server.
#include <time.h>

#include <string>

#include "redis/commands/information.h"
#include "redis/registry/handlers.h"
#include "redis/session.h"
#include "redis/wire/numbers.h"

namespace postern::redis::lower {
namespace {

Next answer_verbatim(Call &call, Bytes text) {
  answer(call, [text](Writer &writer) { writer.verbatim(text); });
  return Next::go_on;
}

}  // namespace

Next info(Call &call) {
  const std::string text = information(call.session.protocol(), call.arguments.subspan(1));
  return answer_verbatim(call, call.arena().copy(text));
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

/// Commits have their final durability when they are answered.
Next lastsave(Call &call) {
  return answer_integer(call, call.now_ms / 1000);
}

/// The server's replicas are managed by SQL.
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
