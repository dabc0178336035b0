// counts.cc: the hot paths of the protocols and the worker, each run often enough for bench/counts.py to count its
// instructions. This file has HandlerSocket's.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>

#include "counts_memcached.h"
#include "counts_redis.h"
#include "counting.h"
#include "counting_turns.h"
#include "handlersocket/encoder.h"
#include "handlersocket/parser.h"
#include "handlersocket/protocol.h"

namespace postern::bench {
namespace {

using namespace handlersocket;

const std::string opening = "P\t1\ttest\tuser\tPRIMARY\tuser_name,user_email,created\n";
const std::string find = "1\t=\t1\t4711\t1\t0";
const std::string insert = "1\t+\t4\t4711\tYukari Takeba\tyukari.takeba@dena.jp\t2010-02-03 11:22:33";
const std::string update = "1\t=\t1\t4711\t1\t0\tU\tYukari Takeba\tyukari.takeba@dena.jp\t2010-02-03 11:22:33";

std::string find_in(int keys) {
  std::string line = "1\t=\t1\t0\t" + std::to_string(keys) + "\t0\t@\t0\t" + std::to_string(keys);
  for (int i = 0; i < keys; ++i) line += "\t" + std::to_string(1'000'000 + i);
  return line;
}

std::string lines(const std::string &line, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += line + "\n";
  return all;
}

bool count_parser(const char *path, std::string line, Verb verb) {
  const Rules rules{.access = Access::write};
  Arena arena;
  bool right = true;
  count(path, 1, [&] {
    Tokens tokens(line.data(), line.data() + line.size());
    const Bytes first = tokens.take();
    IndexRequest &request = *arena.make<IndexRequest>();
    right = right && command_of(first) == Command::index && natural(first) == 1;
    right = right && parse_index_request(tokens, rules, arena, request).is_none() && request.verb == verb;
    arena.clear();
  });
  return right;
}

bool count_encoder(const char *path, Row row) {
  Output output;
  bool right = true;
  count(path, 1, [&] {
    FindReply reply(output, ErrorStyle::compatible);
    reply.row(row);
    reply.done({.columns = static_cast<uint32_t>(row.size())});
    output.release();
    right = right && output.sendable().ends_with('\n');
    output.sent(output.sendable().size());
  });
  return right;
}

bool count_encoders() {
  const Value three[] = {Value::of("Yukari Takeba"), Value::of("yukari.takeba@dena.jp"),
                         Value::of("2010-02-03 11:22:33")};
  const Value escaped[] = {Value::of("a line\nand another one\n"), Value::of("one\ttab"), Value::of("\x01\x02 binary")};
  const Value ten[] = {Value::of_integer(4711),
                       Value::of_natural(18'000'000'000),
                       Value::of_integer(-5),
                       Value::null(),
                       Value::of("short"),
                       Value::of("of some more length"),
                       Value::of("12.50"),
                       Value::of("2010-02-03"),
                       Value::of("2010-02-03 11:22:33"),
                       Value::of_natural(0)};
  return count_encoder("encode-3-columns", three) && count_encoder("encode-escapes", escaped) &&
         count_encoder("encode-10-columns", ten);
}

class NoBinding final : public Binding {
 public:
  void unuse() noexcept override {}
  const TableSpec &spec() const noexcept override { return spec_; }

 private:
  static constexpr Bytes columns[] = {"user_name"};
  TableSpec spec_{"test", "user", "PRIMARY", columns};
};

/// From received bytes to ops: parsing and lowering.
bool count_session(const char *path, const std::string &requests, size_t requests_count) {
  HandlerSocket protocol(Settings{.access = Access::write});
  NoBinding binding;
  Input input;
  Output output;
  Batch batch;
  const Peer peer{};
  const std::unique_ptr<Session> session = protocol.open_session(output, peer);
  const auto collect = [&](const std::string &bytes) {
    const std::span<char> room = input.room(bytes.size());
    std::memcpy(room.data(), bytes.data(), bytes.size());
    input.received(bytes.size());
    session->collect(input, batch, limits::ops_per_connection_max);
  };
  const auto settle = [&] {
    session->settled();
    batch.clear();
    input.settle();
  };
  collect(opening);
  batch.ops().front().slot->fill(&binding);
  settle();
  bool right = true;
  count(path, requests_count, [&] {
    collect(requests);
    right = right && batch.size() == requests_count && batch.ops().back().verb != Verb::answer;
    settle();
  });
  return right;
}

bool count_turn(const char *path, Access access, size_t connections, const std::string &request, size_t requests) {
  HandlerSocket protocol(Settings{.access = access});
  return count_turns(path, protocol,
                     {.access = access,
                      .connections = connections,
                      .opening = opening,
                      .requests = lines(request, requests),
                      .count = requests});
}

bool count_all() {
  Counting::prepare();
  return count_parser("parse-find", find, Verb::find) && count_parser("parse-find-in-50", find_in(50), Verb::find) &&
         count_parser("parse-insert", insert, Verb::insert) && count_parser("parse-update", update, Verb::edit) &&
         count_encoders() && count_session("collect-find-x16", lines(find, 16), 16) &&
         count_turn("turn-find", Access::read, 1, find, 1) && count_turn("turn-find-x16", Access::read, 1, find, 16) &&
         count_turn("turn-find-50-clients", Access::read, 50, find, 1) &&
         count_turn("turn-insert-x16", Access::write, 1, insert, 16) &&
         count_turn("turn-update-x16", Access::write, 1, update, 16) && count_memcached() && count_redis();
}

}  // namespace
}  // namespace postern::bench

int main() {
  if (postern::bench::count_all()) return 0;
  std::fputs("counts: a path did not do what it is counted for\n", stderr);
  return 1;
}
