// Any bytes, sent in any pieces to a whole session over an engine that misbehaves, are answered with well-formed
// answers and nothing else, and the session gives back all its resources.
//
// The first byte of an input chooses policies and the engine's mood, the second how the rest is cut.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/fake/fake_engine.h"
#include "memcached/protocol.h"
#include "memcached/testing/fake_tables.h"
#include "support/unit/fuzzed_session.h"

namespace postern::memcached {
namespace {

constexpr size_t header_bytes = 24;

using test::require;

FakeEngine &engine() {
  static FakeEngine *const made = new FakeEngine;
  return *made;
}

void make_tables(Bytes policy) {
  engine().set_faults({});
  make_containers(engine());
  const std::string word(policy);
  make_policies(engine(), {"cache_policy", word, word, word, word});
  engine().insert("test", "demo_test", {"AA", "HELLO, HELLO", "8", "1", "0"});
  engine().insert("test", "demo_test", {"n", "10", "0", "2", "0"});
  engine().insert("test", "demo_test", {"old", "gone", "0", "3", "1"});
  engine().insert("test", "wide", {"1", "a", "x", "5", "z"});
  map_container(engine(), {"wrong", "test", "nowhere", "a", "b", "0", "0", "0", "PRIMARY"});
}

/// Parses word number `at`, counted from 0, as a number; false after the last word.
bool number_at(std::string_view line, size_t at, uint64_t &number) {
  for (; at != 0; --at) {
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return false;
    line.remove_prefix(blank + 1);
  }
  return parse_natural(line.substr(0, line.find(' ')), number);
}

bool is_known(std::string_view line) {
  // memcached itself writes `ERROR: shutdown not enabled` with a colon.
  for (const std::string_view word :
       {"END",     "STORED",  "NOT_STORED", "EXISTS",       "NOT_FOUND",    "DELETED",
        "TOUCHED", "OK",      "RESET",      "PREFIX",       "ERROR",        "ERROR:",
        "HD",      "EN",      "NF",         "NS",           "EX",           "MN",
        "ME",      "VERSION", "STAT",       "CLIENT_ERROR", "SERVER_ERROR", "MEMLIMIT_ADJUST_FAILED"})
    if (line == word || (line.starts_with(word) && line[word.size()] == ' ')) return true;
  uint64_t number = 0;
  return parse_natural(line, number);
}

/// The number of bytes in `answers` that are whole answers.
size_t check_lines(std::string_view answers) {
  size_t at = 0;
  for (;;) {
    const size_t end = answers.find("\r\n", at);
    if (end == std::string_view::npos) return at;
    const std::string_view line = answers.substr(at, end - at);
    uint64_t bytes = 0;
    const bool item =
        line.starts_with("VALUE ") ? number_at(line, 3, bytes) : line.starts_with("VA ") && number_at(line, 1, bytes);
    require(item || is_known(line), "a line is a known one", line);
    if (!item) {
      at = end + 2;
      continue;
    }
    if (answers.size() < end + 2 + bytes + 2) return at;
    require(answers.substr(end + 2 + bytes, 2) == "\r\n", "a value is as long as it is said to be", answers.substr(at));
    at = end + 2 + bytes + 2;
  }
}

size_t check_packets(std::string_view answers) {
  size_t at = 0;
  while (answers.size() - at >= header_bytes) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(answers[at + i]); };
    const size_t body = size_t{byte(8)} << 24 | size_t{byte(9)} << 16 | size_t{byte(10)} << 8 | byte(11);
    const size_t parts = (size_t{byte(2)} << 8 | byte(3)) + byte(4);
    require(byte(0) == 0x81, "a packet is an answer", answers.substr(at));
    require(parts <= body, "a body has room for its parts", answers.substr(at));
    if (answers.size() - at < header_bytes + body) break;
    at += header_bytes + body;
  }
  return at;
}

void examine(std::string_view input) {
  if (input.size() < 3) return;
  const auto mood = static_cast<unsigned char>(input[0]);
  const auto cut = static_cast<unsigned char>(input[1]);
  const std::string_view bytes = input.substr(2);
  constexpr Bytes words[] = {"innodb_only", "innodb_only", "cache_only", "disabled"};
  make_tables(words[mood & 3]);
  const std::atomic<bool> stop{false};
  const std::unique_ptr<Executor> executor = engine().attach({}, stop);
  Settings settings;
  settings.accounts = (mood & 4) != 0;
  settings.value_bytes_max = 2'000;
  settings.cache_bytes = size_t{1} << 20;
  Memcached protocol(std::move(settings));
  test::examine_session(engine(), protocol, *executor, mood, cut, bytes, [bytes](const std::string &answers) {
    return bytes[0] == '\x80' ? check_packets(answers) : check_lines(answers);
  });
}

}  // namespace
}  // namespace postern::memcached

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  postern::memcached::examine({reinterpret_cast<const char *>(data), size});
  return 0;
}
