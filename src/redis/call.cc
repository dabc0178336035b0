#include "redis/call.h"

#include <algorithm>
#include <cstring>

#include "redis/call_tables.h"
#include "redis/registry/handlers.h"
#include "redis/session.h"

namespace postern::redis {

Tables &tables_of(const Call &call) {
  return call.session.tables();
}

uint8_t database_of(const Call &call) {
  return call.session.client().database();
}

size_t value_bytes_max_of(const Call &call) {
  return call.session.protocol().settings().value_bytes_max;
}

Next answer_ok(Call &call) {
  return answer_status(call, "OK");
}

Next answer_status(Call &call, Bytes text) {
  answer(call, [text](Writer &writer) { writer.status(text); });
  return Next::go_on;
}

Next answer_integer(Call &call, int64_t number) {
  answer(call, [number](Writer &writer) { writer.integer(number); });
  return Next::go_on;
}

Next answer_bulk(Call &call, Bytes bytes) {
  answer(call, [bytes](Writer &writer) { writer.bulk(bytes); });
  return Next::go_on;
}

Next refuse(Call &call, Bytes text, Bytes rest) {
  const Bytes copy = call.arena().copy(text);
  const Bytes more = call.arena().copy(rest);
  answer(call, [copy, more](Writer &writer) { writer.error(copy, more); }).failure = Failure::refused;
  return Next::go_on;
}

Next refuse_arity(Call &call) {
  std::string text = "wrong number of arguments for '";
  text.append(call.command.name).append("' command");
  if (call.command.handler != lower::exec) return refuse(call, "ERR ", text);
  call.session.forget_transaction();
  return refuse(call, "EXECABORT Transaction discarded because of: ", text);
}

Bytes told_of(Bytes argument, size_t bytes_max) {
  return argument.substr(0, std::min(bytes_max, argument.find('\0')));
}

}  // namespace postern::redis
