// Any bytes, sent in any pieces to a whole session over an engine that misbehaves, are answered with one well-formed
// line for each request line, whatever happens.
//
// The first byte of an input chooses the port and the engine's mood, the second how the rest is cut.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/fake/fake_engine.h"
#include "handlersocket/testing/plain_tokens.h"
#include "handlersocket/protocol.h"
#include "handlersocket/token.h"
#include "support/unit/fuzzing.h"
#include "support/unit/lone_connection.h"
#include "support/unit/small_sql.h"

namespace postern::handlersocket {
namespace {

using test::require;

FakeEngine &engine() {
  static FakeEngine *const made = new FakeEngine;
  return *made;
}

void make_tables() {
  test::SmallSql sql(engine(), "hst");
  sql.run("create table kv(k varchar(30) not null primary key, v varchar(30), n int, t text, key n(n))");
  sql.run("insert into kv values('a','A',1,'x'),('b','B',2,NULL),('c',NULL,NULL,''),('d','',-5,'y')");
  sql.run("create table m(a int not null, b int not null, c int, primary key(a,b), key i_c(c))");
  for (int a = 0; a < 20; ++a) {
    for (int b = 0; b < 5; ++b)
      engine().insert("hst", "m", {std::to_string(a), std::to_string(b), std::to_string(a * b % 7)});
  }
}

/// `code TAB columns (TAB value)* `, without its LF.
void check_reply(std::string_view line) {
  const std::vector<plain::Token> tokens = plain::tokens(line);
  require(tokens.size() >= 2, "a reply has a code and a column count", line);
  require(tokens[0].raw.size() == 1 && tokens[0].raw[0] >= '0' && tokens[0].raw[0] <= '3', "codes are 0 to 3", line);
  uint64_t columns = 0;
  require(parse_natural(tokens[1].raw, columns), "the column count is a number", line);
  for (const plain::Token &token : tokens) {
    require(token.null || token.value.has_value(), "escapes are well-formed", line);
    if (token.null) continue;
    for (const char byte : token.raw)
      require(static_cast<unsigned char>(byte) >= 0x10 || byte == escape_mark, "control bytes are escaped", line);
  }
  const size_t values = tokens.size() - 2;
  if (tokens[0].raw == "0") {
    require(columns == 0 ? values == 0 : values % columns == 0, "rows are whole", line);
  } else {
    require(columns == 1 && values == 1 && !tokens[2].raw.empty(), "an error is one word or sentence", line);
  }
}

void examine(std::string_view input) {
  if (input.size() < 2) return;
  const auto mood = static_cast<unsigned char>(input[0]);
  const auto cut = static_cast<unsigned char>(input[1]);
  const std::string_view bytes = input.substr(2);
  make_tables();  // new tables: an input's writes do not affect the next
  engine().set_faults({.seed = mood,
                       .busy = mood & 4 ? 200u : 0u,
                       .pause = mood & 8 ? 100u : 0u,
                       .error = mood & 16 ? 100u : 0u,
                       .locked = mood & 4 ? 100u : 0u,
                       .lost = mood & 8 ? 200u : 0u});
  const std::atomic<bool> stop{false};
  const std::unique_ptr<Executor> executor = engine().attach({}, stop);
  HandlerSocket protocol(Settings{.access = mood & 1 ? Access::write : Access::read,
                                  .secret = mood & 32 ? "secret" : "",
                                  .request_bytes_max = 2'000,
                                  .open_indexes_max = 5,
                                  .errors = mood & 2 ? ErrorStyle::text : ErrorStyle::compatible});
  {
    test::LoneConnection connection(protocol, *executor);
    if (mood & 64) connection.ops_max = 1 + cut % 4;
    connection.pause_every = 1 + mood % 3;
    std::string replies = connection.send(
        "A\t1\tsecret\n"
        "P\t0\thst\tkv\tPRIMARY\tk,v,n,t\tv,n,t\n"
        "P\t1\thst\tm\t0\ta,b\tc\n");
    const size_t piece = cut == 0 ? bytes.size() : cut;
    for (size_t at = 0; at < bytes.size(); at += piece) replies += connection.send(bytes.substr(at, piece));

    size_t count = 0, start = 0;
    for (size_t end; (end = replies.find('\n', start)) != std::string::npos; start = end + 1, ++count)
      check_reply(std::string_view(replies).substr(start, end - start));
    const auto lines = static_cast<size_t>(std::count(bytes.begin(), bytes.end(), '\n')) + 3;
    if (connection.closed()) {
      // Cut off: a request that is too large, a browser, or a reply that failed after a part of it was sent.
      require(count <= lines + 1, "no more replies than requests", replies);
    } else {
      require(start == replies.size() && count == lines, "one reply for each request", replies);
    }
  }
  require(engine().bindings() == 0, "a session gives back what it opened", "");
}

}  // namespace
}  // namespace postern::handlersocket

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  postern::handlersocket::examine({reinterpret_cast<const char *>(data), size});
  return 0;
}
