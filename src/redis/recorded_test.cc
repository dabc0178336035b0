// Commands of tests/recorded/redis over the engine in memory: the replies equal Redis's recorded ones
// (scripts/record_redis.py), in RESP2 and RESP3.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "redis/testing/fake_keyspace.h"
#include "redis/testing/redis_test_fixture.h"

namespace postern::redis {
namespace {

struct RecordedCommand {
  size_t line;
  std::vector<std::string> before;  // sent first; their replies are ignored
  std::string command;
  std::string resp2;
  std::string resp3;
};

std::vector<RecordedCommand> recorded_in(const std::filesystem::path &path) {
  std::vector<RecordedCommand> commands;
  std::ifstream file(path);
  size_t number = 0;
  std::vector<std::string> before;
  bool setting_up = false;
  for (std::string line; std::getline(file, line); setting_up = line.starts_with("! ")) {
    ++number;
    const std::string rest = line.size() > 2 ? line.substr(2) : "";
    if (line.starts_with("! ")) {
      if (!setting_up) before.clear();
      before.push_back(rest);
    } else if (line.starts_with("> ")) {
      commands.push_back({number, before, rest, {}, {}});
    } else if (line.starts_with("2 ")) {
      commands.back().resp2 = rest;
      commands.back().resp3 = rest;
    } else if (line.starts_with("3 ")) {
      commands.back().resp3 = rest;
    }
  }
  return commands;
}

int value_of(char digit) {
  return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

/// Decodes \xHH in it.
std::string unescaped(const std::string &word) {
  std::string bytes;
  for (size_t i = 0; i < word.size(); ++i) {
    if (word.compare(i, 2, "\\x") == 0 && i + 3 < word.size()) {
      bytes += static_cast<char>(value_of(word[i + 2]) * 16 + value_of(word[i + 3]));
      i += 3;
    } else {
      bytes += word[i];
    }
  }
  return bytes;
}

/// Words as in a shell: separated by blanks, or in quotes.
std::vector<std::string> words_of(const std::string &command) {
  std::vector<std::string> words;
  char quote = 0;
  bool within = false;
  for (size_t i = 0; i < command.size(); ++i) {
    const char byte = command[i];
    const char next = i + 1 < command.size() ? command[i + 1] : '\0';
    const bool escapes = byte == '\\' && quote != '\'' && (quote == 0 || next == '"' || next == '\\');
    if (quote == 0 && byte == ' ') {
      within = false;
    } else {
      if (!within) words.emplace_back();
      within = true;
      if (escapes) words.back() += command[++i];
      else if (quote == 0 && (byte == '"' || byte == '\'')) quote = byte;
      else if (byte == quote) quote = 0;
      else words.back() += byte;
    }
  }
  for (std::string &word : words) word = unescaped(word);
  return words;
}

std::string encoded(const std::string &command) {
  const std::vector<std::string> words = words_of(command);
  std::string request = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string &word : words) request += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return request;
}

/// A reply as written in a file.
std::string shown(const std::string &reply) {
  constexpr Bytes digits = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < reply.size(); ++i) {
    const auto byte = static_cast<unsigned char>(reply[i]);
    if (reply.compare(i, 2, "\r\n") == 0) {
      ++i;
      if (i + 1 != reply.size()) text += "\\n";
    } else if (byte == '\\') {
      text += "\\\\";
    } else if (byte < 32 || byte > 126) {
      text += "\\x";
      text += {digits[byte / 16], digits[byte % 16]};
    } else {
      text += reply[i];
    }
  }
  return text;
}

const std::filesystem::path place = std::filesystem::path(POSTERN_TESTS_DIR) / "recorded/redis";

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(place)) names.push_back(entry.path().stem());
  return names;
}

class RedisRecorded : public RedisTest, public testing::WithParamInterface<std::string> {
 protected:
  RedisRecorded() { create_keyspace(engine_); }

  /// Sends every command of the file; the reply to a blocked client comes when it wakes.
  void play(bool resp3) {
    if (resp3) send("HELLO 3\r\n");
    for (const RecordedCommand &command : recorded_in(place / (GetParam() + ".txt"))) {
      for (const std::string &before : command.before) send(encoded(before));
      std::string reply = send(encoded(command.command));
      while (reply.empty() && connection().asleep()) reply = connection().sleep_on();
      EXPECT_EQ(shown(reply), resp3 ? command.resp3 : command.resp2)
          << GetParam() << ".txt:" << command.line << ": " << command.command;
    }
  }
};

TEST_P(RedisRecorded, AnswersAsRedisInResp2) {
  play(false);
}
TEST_P(RedisRecorded, AnswersAsRedisInResp3) {
  play(true);
}

INSTANTIATE_TEST_SUITE_P(Files, RedisRecorded, testing::ValuesIn(files()), [](const auto &file) { return file.param; });

}  // namespace
}  // namespace postern::redis
