#include "protocol.h"

#include <sys/socket.h>

#include <cerrno>

namespace postern::bench {

bool Talk::send(Bytes text) const {
  while (!text.empty()) {
    const ssize_t put = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    text.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

bool Talk::read_more() {
  char bytes[4096];
  ssize_t got;
  do got = ::recv(fd_, bytes, sizeof bytes, 0);
  while (got < 0 && errno == EINTR);
  if (got > 0) received_.append(bytes, static_cast<size_t>(got));
  return got > 0;
}

std::unique_ptr<Protocol> make_protocol(Bytes name, const Plan &plan) {
  if (name == "handlersocket") return make_handlersocket(plan);
  if (name == "null") return make_null();
  if (name == "memcached") return make_memcached(plan);
  if (name == "memcached-meta") return make_memcached_meta(plan);
  if (name == "memcached-container") return make_memcached_container(plan);
  if (name == "redis") return make_redis(plan);
  if (name == "redis-hgetall") return make_redis(plan, RedisRows::whole_hashes);
  if (name == "redis-hmget") return make_redis(plan, RedisRows::fields);
  if (name == "sql-text") return make_sql_text(plan);
  if (name == "sql-prepared") return make_sql_prepared(plan);
  return nullptr;
}

}  // namespace postern::bench
