// Whole sessions over the engine in memory: the transcripts, the original's vectors, and further cases.
#include "handlersocket/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "engine/fake/fake_engine.h"
#include "handlersocket/protocol.h"
#include "support/unit/escaped.h"
#include "support/unit/json.h"
#include "support/unit/lone_connection.h"
#include "support/unit/small_sql.h"

namespace postern::handlersocket {
namespace {

using test::escaped;
using test::LoneConnection;
using test::unescaped;

const std::string wire_dir = POSTERN_TESTS_DIR "/wire/handlersocket/";

std::vector<std::string> lines_of(const std::string &path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> split(const std::string &text, char at) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

/// An engine, a port and one connection to it.
struct Server {
  explicit Server(Settings settings = {}) : protocol(std::move(settings)), executor(engine.attach({}, stop)) {}

  LoneConnection &connection() {
    if (connection_ == nullptr) connection_ = std::make_unique<LoneConnection>(protocol, *executor);
    return *connection_;
  }
  std::string send(std::string_view bytes) { return connection().send(bytes); }
  bool sql(std::string_view statement) { return test::SmallSql(engine, "hst").run(statement); }

  FakeEngine engine;
  const std::atomic<bool> stop{false};
  HandlerSocket protocol;
  std::unique_ptr<Executor> executor;

 private:
  std::unique_ptr<LoneConnection> connection_;
};

// --- transcripts ----------------------------------------------------------------------------------------------

/// Repeats `{text*3}` three times.
std::string repeated(std::string line) {
  for (size_t open; (open = line.find('{')) != std::string::npos;) {
    const size_t star = line.find('*', open);
    const size_t close = line.find('}', star);
    const std::string text = line.substr(open + 1, star - open - 1);
    std::string many;
    for (int i = std::stoi(line.substr(star + 1)); i > 0; --i) many += text;
    line = line.substr(0, open) + many + line.substr(close + 1);
  }
  return line;
}

class Transcript : public testing::TestWithParam<std::string> {};

void play(const std::string &name, const std::function<std::string(LoneConnection &, const std::string &)> &send) {
  Settings settings;
  std::vector<std::string> statements;
  std::vector<std::vector<std::string>> accounts;
  std::vector<std::pair<int, std::string>> script;
  int number = 0;
  for (const std::string &line : lines_of(wire_dir + name)) {
    ++number;
    const std::string word = line.substr(0, line.find(' '));
    const std::string rest = word.size() < line.size() ? line.substr(word.size() + 1) : "";
    if (line.empty() || word == "#") continue;
    if (word == "door") settings.access = rest == "write" ? Access::write : Access::read;
    else if (word == "secret") settings.secret = rest;
    else if (word == "account") accounts.push_back(split(rest, ' '));
    else if (word == "errors") settings.errors = rest == "text" ? ErrorStyle::text : ErrorStyle::compatible;
    else if (word == "sql") statements.push_back(rest);
    else script.emplace_back(number, line);
  }
  settings.accounts = !accounts.empty();
  Server server(settings);
  for (const std::vector<std::string> &account : accounts) {
    ASSERT_GE(account.size(), 2u);
    server.engine.create_account(account[0], unescaped(account[1]));
    for (size_t i = 2; i < account.size(); ++i) server.engine.allow(account[0], "hst", account[i]);
  }
  for (const std::string &statement : statements) ASSERT_TRUE(server.sql(statement)) << statement;

  std::string request, replies;
  const auto exchange = [&] {
    if (!request.empty()) replies += send(server.connection(), request);
    request.clear();
  };
  for (const auto &[at, line] : script) {
    if (line.starts_with("> ")) {
      ASSERT_TRUE(request.empty() ? replies.empty() : true) << name << ':' << at << ": not expected: " << replies;
      request += unescaped(repeated(line.substr(2))) + "\n";
      continue;
    }
    if (line.starts_with(">| ")) {
      exchange();
      request = unescaped(repeated(line.substr(3)));
      exchange();
      continue;
    }
    exchange();
    if (line == "closed") {
      EXPECT_TRUE(server.connection().closed()) << name << ':' << at;
      EXPECT_EQ(replies, "");
      continue;
    }
    ASSERT_TRUE(line.starts_with("< ")) << name << ':' << at << ": " << line;
    const size_t end = replies.find('\n');
    ASSERT_NE(end, std::string::npos) << name << ':' << at << ": no reply";
    EXPECT_EQ(escaped(replies.substr(0, end)), line.substr(2)) << name << ':' << at;
    replies.erase(0, end + 1);
  }
  exchange();
  EXPECT_EQ(replies, "") << name << ": not expected at the end";
}

TEST_P(Transcript, AllAtOnce) {
  play(GetParam(), [](LoneConnection &connection, const std::string &bytes) { return connection.send(bytes); });
}

TEST_P(Transcript, ByteByByte) {
  play(GetParam(), [](LoneConnection &connection, const std::string &bytes) {
    // Sixteen million turns test no more than a thousand.
    if (bytes.size() > 100'000) return connection.send(bytes);
    return connection.send_byte_by_byte(bytes);
  });
}

TEST_P(Transcript, OneOpATurn) {
  play(GetParam(), [](LoneConnection &connection, const std::string &bytes) {
    connection.ops_max = 1;
    return connection.send(bytes);
  });
}

std::vector<std::string> transcripts() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(wire_dir)) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Transcript, testing::ValuesIn(transcripts()),
                         [](const auto &file) { return file.param.substr(0, file.param.find('.')); });

// --- vectors --------------------------------------------------------------------------------------------------

/// The answer to each vector of the read side; `=` stands for the original's answer. The write side has rows with five
/// columns, and needs the types and checks of a real server.
std::map<std::string, std::string> decisions() {
  std::map<std::string, std::string> decided;
  for (const std::string &line : lines_of(wire_dir + "decisions.tsv")) {
    const std::vector<std::string> columns = split(line, '\t');
    if (columns.size() < 3 || columns.size() > 4 || line.starts_with('#')) continue;
    decided[columns[0]] = columns[2];
  }
  return decided;
}

TEST(Vectors, ReadSideIsAnsweredAsDecided) {
  std::map<std::string, std::string> decided = decisions();
  int played = 0;
  for (const std::string &line : lines_of(wire_dir + "vectors.jsonl")) {
    const test::Json vector = test::read_json(line);
    const std::string id = test::bytes_of(vector, "id");
    if (!decided.contains(id)) continue;
    const std::string decision = decided[id];
    decided.erase(id);

    Settings settings{.access = test::bytes_of(vector, "port") == "rd" ? Access::read : Access::write};
    if (test::bytes_of(vector, "server") == "auth") settings.secret = test::bytes_of(vector, "port") + "secret";
    Server server(settings);
    bool understood = true;
    for (const char *const step : {"ddl", "preset", "setup"}) {
      for (const test::Json &statement : test::member(vector, step))
        understood = understood && server.sql(test::bytes_of(statement));
    }
    if (!understood) continue;  // a real server knows more types
    ++played;
    for (const test::Json &before : test::member(vector, "pre")) server.send(test::bytes_of(before, "send"));
    const std::string reply = server.send(test::bytes_of(vector, "send"));
    EXPECT_EQ(escaped(reply), escaped(decision == "=" ? test::bytes_of(vector, "recv") : unescaped(decision))) << id;
  }
  EXPECT_TRUE(decided.empty()) << "no such vector: " << decided.begin()->first;
  EXPECT_GT(played, 120);
}

// --- what needs more than bytes ---------------------------------------------------------------------------------

class HsSession : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server.sql("create table kv(k varchar(30) not null primary key, v varchar(30), n int)"));
    ASSERT_TRUE(server.sql("insert into kv values('a','A',1),('b','B',2)"));
    ASSERT_EQ(server.send("P\t0\thst\tkv\tPRIMARY\tk,v,n\tn\n"), "0\t1\n");
  }
  Server server;
};

TEST_F(HsSession, NamesTheColumnThatDdlTookAway) {
  server.engine.rename_column("hst", "kv", "v", "w");
  EXPECT_EQ(server.send("0\t=\t1\ta\n"), "2\t1\tUnknown column 'v' in hst.kv\n");
  server.engine.rename_column("hst", "kv", "w", "v");
  EXPECT_EQ(server.send("0\t=\t1\ta\n"), "0\t3\ta\tA\t1\n");
}

TEST_F(HsSession, NamesTheTableThatWasDropped) {
  server.engine.drop("hst", "kv");
  EXPECT_EQ(server.send("0\t=\t1\ta\n"), "1\t1\tTable 'hst.kv' doesn't exist\n");
  EXPECT_EQ(server.send("P\t0\thst\tkv\tPRIMARY\tk\n"), "1\t1\topen_table\n");
}

TEST_F(HsSession, AnswersTheStorageEnginesErrorNumber) {
  server.engine.set_engine_error("hst", "kv", 146);
  EXPECT_EQ(server.send("0\t=\t1\ta\n"), "1\t1\t146\n");
}

TEST_F(HsSession, WaitsForABusyTableAndKeepsTheOrder) {
  server.engine.set_busy("hst", "kv", true);
  server.connection().when_busy_argument = &server.engine;
  server.connection().when_busy = [](void *engine) { static_cast<FakeEngine *>(engine)->set_busy("hst", "kv", false); };
  EXPECT_EQ(server.send("0\t=\t1\ta\nX\n0\t=\t1\tb\n"), "0\t3\ta\tA\t1\n2\t1\tcmd\n0\t3\tb\tB\t2\n");
}

TEST_F(HsSession, AnswersALongScanLikeAShortOne) {
  ASSERT_TRUE(server.sql("create table big(id int primary key, v varchar(100))"));
  std::string expected = "0\t2";
  for (int i = 0; i < 9'000; ++i) {
    const std::string number = std::to_string(i);
    const std::string value(50, static_cast<char>('a' + i % 26));
    server.engine.insert("hst", "big", {number, value});
    expected += "\t" + number + "\t" + value;
  }
  ASSERT_EQ(server.send("P\t1\thst\tbig\tPRIMARY\tid,v\n"), "0\t1\n");
  EXPECT_EQ(server.send("0\t=\t1\ta\n1\t>=\t1\t0\t100000\t0\n0\t=\t1\tb\n"),
            "0\t3\ta\tA\t1\n" + expected + "\n0\t3\tb\tB\t2\n");
  EXPECT_EQ(server.connection().slow_finds(), 1u);
}

TEST(HsAccounts, AskTheEngineAnewForEveryRequest) {
  Server server(Settings{.accounts = true});
  ASSERT_TRUE(server.sql("create table kv(k varchar(30) not null primary key, v varchar(30), n int)"));
  ASSERT_TRUE(server.sql("insert into kv values('a','A',1)"));
  server.engine.create_account("ann", "pw");
  const std::string denied = "3\t1\tThe account lacks a privilege for this\n";
  EXPECT_EQ(server.send("A\t2\tann\tpw\nP\t0\thst\tkv\tPRIMARY\tk\n"), "0\t1\n" + denied);
  server.engine.allow("ann", "hst", "kv");
  EXPECT_EQ(server.send("P\t0\thst\tkv\tPRIMARY\tk\n0\t=\t1\ta\n"), "0\t1\n0\t1\ta\n");
  server.engine.forbid("ann", "hst", "kv");
  EXPECT_EQ(server.send("0\t=\t1\ta\n"), denied);
  server.engine.allow("ann", "hst", "kv");
  EXPECT_EQ(server.send("0\t=\t1\ta\n"), "0\t1\ta\n");
  server.engine.drop_account("ann");
  EXPECT_EQ(server.send("0\t=\t1\ta\nA\t2\tann\tpw\n0\t=\t1\ta\n"), denied + "3\t1\tunauth\n3\t1\tunauth\n");
}

TEST(HsAccounts, BelongToOneConnection) {
  Server server(Settings{.accounts = true});
  ASSERT_TRUE(server.sql("create table kv(k varchar(30) not null primary key, v varchar(30), n int)"));
  server.engine.create_account("ann", "pw");
  server.engine.allow("ann", "hst", "kv");
  EXPECT_EQ(server.send("A\t2\tann\tpw\n"), "0\t1\n");
  LoneConnection other(server.protocol, *server.executor);
  EXPECT_EQ(other.send("P\t0\thst\tkv\tPRIMARY\tk\n"), "3\t1\tunauth\n");
}

TEST_F(HsSession, RefusesIndexesBeyondTheLimit) {
  Server small(Settings{.open_indexes_max = 2});
  ASSERT_TRUE(small.sql("create table kv(k varchar(30) not null primary key, v varchar(30), n int)"));
  const std::string open_kv = "\thst\tkv\tPRIMARY\tk\n";
  EXPECT_EQ(small.send("P\t1" + open_kv + "P\t2" + open_kv + "P\t3" + open_kv + "P\t2" + open_kv),
            "0\t1\n0\t1\n2\t1\tToo many open indexes on this connection\n0\t1\n");
  // An index that failed to open takes no id.
  Server other(Settings{.open_indexes_max = 2});
  ASSERT_TRUE(other.sql("create table kv(k varchar(30) not null primary key, v varchar(30), n int)"));
  EXPECT_EQ(other.send("P\t1\thst\tno\tPRIMARY\tk\n"), "1\t1\topen_table\n");
  EXPECT_EQ(other.send("P\t2" + open_kv + "P\t3" + open_kv), "0\t1\n0\t1\n");
}

TEST_F(HsSession, RefusesALineThatGrowsBeyondTheLimitBeforeItEnds) {
  Server small(Settings{.request_bytes_max = 10});
  EXPECT_EQ(small.send("X23456789"), "");
  EXPECT_EQ(small.send("0"), "2\t1\tRequest is longer than the limit\n");
  EXPECT_TRUE(small.connection().closed());
  Server fits(Settings{.request_bytes_max = 10});
  EXPECT_EQ(fits.send("X23456789\n"), "2\t1\tcmd\n");
  EXPECT_FALSE(fits.connection().closed());
}

TEST_F(HsSession, HangsUpOnABrowser) {
  EXPECT_EQ(server.send("x\nGET / HTTP/1.1\r\nHost: a\r\n\r\nx\n"), "2\t1\tcmd\n");
  EXPECT_TRUE(server.connection().closed());
}

TEST_F(HsSession, TakesNoRequestForABrowsers) {
  // Lines of HTTP begin with no command of this protocol, and are only recognised where a command is missing.
  EXPECT_EQ(server.send("P\t1\thst\tGET / HTTP/1.1\t\tk\nA\t1\tHTTP/1.1\n1\t=\t1\tGET / HTTP/1.1\nGET\n"),
            "1\t1\topen_table\n3\t1\tunauth\n2\t1\tstmtnum\n2\t1\tcmd\n");
  EXPECT_FALSE(server.connection().closed());
}

TEST_F(HsSession, BoundsTheMemoryThatShortLinesMayAskFor) {
  std::string lines;
  for (int i = 0; i < 1'000; ++i) lines += "0\t=\t1\t\t1\t0\t@\t0\t10000\ta\n";
  LoneConnection &connection = server.connection();
  connection.ops_max = limits::ops_per_batch_max;
  Input input;
  const std::span<char> room = input.room(lines.size());
  std::copy(lines.begin(), lines.end(), room.begin());
  input.received(lines.size());
  Batch batch;
  EXPECT_EQ(connection.session().collect(input, batch, limits::ops_per_batch_max), Collected::more);
  EXPECT_GT(batch.size(), 0u);
  EXPECT_LT(batch.arena().bytes(), 2 * limits::arena_bytes_per_batch_max);
  // All of them are answered all the same.
  std::string expected;
  for (int i = 0; i < 1'000; ++i) expected += "0\t3\ta\tA\t1\n";
  EXPECT_EQ(server.send(lines), expected);
}

TEST_F(HsSession, GivesItsIndexesBackWhenItEnds) {
  {
    LoneConnection connection(server.protocol, *server.executor);
    for (int i = 0; i < 1'000; ++i) connection.send("P\t" + std::to_string(i % 300) + "\thst\tkv\tPRIMARY\tk\n");
    EXPECT_EQ(server.engine.bindings(), 1u + 300u);
  }
  EXPECT_EQ(server.engine.bindings(), 1u);
}

TEST(HsSessionMemory, IsSmallWhenFresh) {
  EXPECT_LE(sizeof(HandlerSocketSession), 48u);
  EXPECT_LE(sizeof(OpenIndex) + sizeof(TableSlot), 32u);
}

TEST(HsOpenIndexes, KeepRoomForIndexesThatFailedToOpen) {
  OpenIndexes indexes;
  for (uint32_t id = 1; id <= 4; ++id) indexes.add(id, 0);
  indexes.settle();  // none of their slots was filled
  EXPECT_EQ(indexes.size(), 0u);
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint32_t id = 1; id <= 5; ++id) EXPECT_EQ(indexes.add(id, round).id, id);
    EXPECT_EQ(indexes.find(5)->filter_columns, round);
    indexes.settle();
    EXPECT_EQ(indexes.find(5), nullptr);
  }
}

TEST(HsOpenIndexes, FindsDenseAndSparseIds) {
  for (const uint32_t step : {1u, 3u, 1'000'003u}) {
    OpenIndexes indexes;
    for (uint32_t i = 0; i < 1'000; ++i) {
      const uint32_t id = (i * 7 % 1'000) * step + 5;
      ASSERT_EQ(indexes.find(id), nullptr);
      indexes.add(id, i);
    }
    for (uint32_t i = 0; i < 1'000; ++i) {
      const uint32_t id = (i * 7 % 1'000) * step + 5;
      ASSERT_NE(indexes.find(id), nullptr);
      EXPECT_EQ(indexes.find(id)->filter_columns, i);
    }
    EXPECT_EQ(indexes.find(0), nullptr);
    EXPECT_EQ(indexes.find(6), step == 1 ? indexes.find(5) + 1 : nullptr);
    EXPECT_EQ(indexes.find(uint64_t{1} << 32 | 5), nullptr);
  }
}

}  // namespace
}  // namespace postern::handlersocket
