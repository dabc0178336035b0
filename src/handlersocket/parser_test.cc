#include "handlersocket/parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/fake/fake_engine.h"
#include "handlersocket/testing/op_text.h"
#include "handlersocket/protocol.h"
#include "handlersocket/testing/same_tokens.h"
#include "support/unit/escaped.h"
#include "support/unit/json.h"

namespace postern::handlersocket {
namespace {

using test::escaped;

TEST(HsNatural, SkipsBytesThatAreNoDigitsAndDoesNotWrap) {
  EXPECT_EQ(natural(""), 0u);
  EXPECT_EQ(natural("abc"), 0u);
  EXPECT_EQ(natural("-1"), 1u);
  EXPECT_EQ(natural("0x"), 0u);
  EXPECT_EQ(natural("1e3"), 13u);
  EXPECT_EQ(natural("4294967296"), 4294967296u);
  EXPECT_EQ(natural("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(natural("18446744073709551616"), UINT64_MAX);
  EXPECT_EQ(natural("99999999999999999999999"), UINT64_MAX);
  EXPECT_EQ(natural("99999999999999999999999000"), UINT64_MAX);
}

TEST(HsTokens, EqualThePlainTokenizerOnRandomLines) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  // Special bytes are frequent, so that they meet at block boundaries.
  const std::string_view bytes("\t\t\t\x01\x01\x00\x00@A0123abc\xff\x40\x3f", 20);
  for (int i = 0; i < 100'000; ++i) {
    std::string line(random() % (i % 10 == 0 ? 200 : 24), '\0');
    for (char &byte : line) byte = bytes[random() % bytes.size()];
    ASSERT_TRUE(plain::same_tokens(line)) << "seed " << seed << ", line " << escaped(line);
  }
}

std::vector<test::Json> vectors() {
  std::ifstream file(POSTERN_TESTS_DIR "/wire/handlersocket/vectors.jsonl");
  std::vector<test::Json> found;
  for (std::string line; std::getline(file, line);) found.push_back(test::read_json(line));
  return found;
}

std::string all_requests(const test::Json &vector) {
  std::string bytes;
  for (const test::Json &before : test::member(vector, "pre")) bytes += test::bytes_of(before, "send");
  return bytes + test::bytes_of(vector, "send");
}

TEST(HsTokens, EqualThePlainTokenizerOnEveryVector) {
  for (const test::Json &vector : vectors()) {
    const std::string bytes = all_requests(vector);
    for (size_t start = 0, end; start < bytes.size(); start = end + 1) {
      end = std::min(bytes.find('\n', start), bytes.size());
      EXPECT_TRUE(plain::same_tokens(bytes.substr(start, end - start))) << test::bytes_of(vector, "id");
    }
  }
}

/// Feeds a session pieces of bytes, as they might be received, and returns the ops that it parses.
class Pieces {
 public:
  explicit Pieces(Access access) : protocol_(Settings{.access = access}) {
    session_ = protocol_.open_session(output_, peer_);
  }

  void receive(std::string_view bytes) {
    const std::span<char> room = input_.room(std::max<size_t>(bytes.size(), 1));
    std::copy(bytes.begin(), bytes.end(), room.begin());
    input_.received(bytes.size());
    while (session_->collect(input_, batch_, 3) == Collected::more) {
      ASSERT_LE(batch_.size(), 3u);
      settle();
    }
    settle();
  }

  const std::string &ops() const { return ops_; }

 private:
  /// No engine: the slots stay empty, but the session only learns it when it is settled, which it never is here.
  void settle() {
    for (const Op &op : batch_.ops()) ops_ += op_text(op) + "\n";
    batch_.clear();
    input_.settle();
  }

  HandlerSocket protocol_;
  const Peer peer_{};
  Input input_;
  Output output_;
  Batch batch_;
  std::unique_ptr<Session> session_;
  std::string ops_;
};

std::string ops_of(Access access, const std::vector<std::string_view> &pieces) {
  Pieces session(access);
  for (const std::string_view piece : pieces) session.receive(piece);
  return session.ops();
}

TEST(HsParser, GivesTheSameOpsHoweverABytestreamIsCut) {
  for (const test::Json &vector : vectors()) {
    const std::string bytes = all_requests(vector);
    const std::string_view view(bytes);
    const Access access = test::bytes_of(vector, "port") == "rd" ? Access::read : Access::write;
    const std::string expected = ops_of(access, {view});
    const auto lines = std::count(bytes.begin(), bytes.end(), '\n');
    EXPECT_EQ(std::count(expected.begin(), expected.end(), '\n'), lines) << test::bytes_of(vector, "id");
    const size_t step = bytes.size() > 2'000 ? bytes.size() / 97 : 1;
    for (size_t cut = 0; cut <= bytes.size(); cut += step)
      ASSERT_EQ(ops_of(access, {view.substr(0, cut), view.substr(cut)}), expected)
          << test::bytes_of(vector, "id") << " at " << cut;
    std::vector<std::string_view> single;
    for (size_t i = 0; i < bytes.size(); ++i) single.push_back(view.substr(i, 1));
    ASSERT_EQ(ops_of(access, single), expected) << test::bytes_of(vector, "id") << " byte by byte";
  }
}

IndexRequest parsed(std::string line, Arena &arena, Reason expected = Failure::none, Rules rules = {}) {
  static std::vector<std::unique_ptr<std::string>> kept;  // the views point into these
  kept.push_back(std::make_unique<std::string>(std::move(line)));
  std::string &bytes = *kept.back();
  Tokens tokens(bytes.data(), bytes.data() + bytes.size());
  IndexRequest request;
  const Reason reason = parse_index_request(tokens, rules, arena, request);
  EXPECT_EQ(failure_name(reason.failure), failure_name(expected.failure)) << escaped(bytes);
  EXPECT_EQ(reason.refusal, expected.refusal) << escaped(bytes);
  return request;
}

TEST(HsFind, HasDefaultsForOmittedFields) {
  Arena arena;
  const Find find = parsed("=\t1\tkey", arena).find;
  EXPECT_EQ(find.comparison, Comparison::equal);
  ASSERT_EQ(find.key.size(), 1u);
  EXPECT_EQ(find.key[0].bytes(), "key");
  EXPECT_EQ(find.limit, 1u);
  EXPECT_EQ(find.offset, 0u);
  EXPECT_TRUE(find.in_list.empty());
  EXPECT_TRUE(find.filters.empty());
}

TEST(HsFind, NullKeyPartDiffersFromEmptyString) {
  Arena arena;
  const Find find = parsed(std::string("=\t3\t\x00\t\t\x01@", 9), arena).find;
  ASSERT_EQ(find.key.size(), 3u);
  EXPECT_TRUE(find.key[0].is_null());
  EXPECT_EQ(find.key[1].kind(), Value::Kind::bytes);
  EXPECT_EQ(find.key[1].bytes(), "");
  EXPECT_EQ(find.key[2].bytes(), std::string_view("\0", 1));
}

TEST(HsFind, AcceptsEverythingThatGoesTogether) {
  Arena arena;
  const Find find =
      parsed("<=\t2\ta\tb\t10\t5\t@\t1\t2\tx\ty\tF\t>=\t0\t7\tW\t??\t1", arena, Failure::none, {.filter_columns = 2})
          .find;
  EXPECT_EQ(find.comparison, Comparison::at_most);
  EXPECT_EQ(find.limit, 10u);
  EXPECT_EQ(find.offset, 5u);
  EXPECT_EQ(find.in_part, 1u);
  ASSERT_EQ(find.in_list.size(), 2u);
  EXPECT_EQ(find.in_list[1].bytes(), "y");
  ASSERT_EQ(find.filters.size(), 2u);
  EXPECT_EQ(find.filters[0].comparison, Comparison::at_least);
  EXPECT_EQ(find.filters[1].miss, Filter::Miss::stop);
  EXPECT_EQ(find.filters[1].comparison, Comparison::never);
  EXPECT_EQ(find.filters[1].value.bytes(), "");
}

constexpr Rules writing{.access = Access::write, .filter_columns = 1};

TEST(HsWrite, InsertsSayHowTheyTreatDuplicates) {
  Arena arena;
  const IndexRequest plain = parsed("+\t2\ta\tb\ttoo many", arena, Failure::none, writing);
  EXPECT_EQ(plain.verb, Verb::insert);
  EXPECT_EQ(plain.on_duplicate, OnDuplicate::fail);
  ASSERT_EQ(plain.values.size(), 2u);
  EXPECT_EQ(plain.values[1].bytes(), "b");
  EXPECT_EQ(parsed("I\t1\ta", arena, Failure::none, writing).on_duplicate, OnDuplicate::ignore);
  EXPECT_EQ(parsed("U\t1\ta", arena, Failure::none, writing).on_duplicate, OnDuplicate::update);
  parsed("+\t3\ta\tb", arena, Failure::syntax, writing);
  parsed("+\t0", arena, Failure::no_key_values, writing);
  for (const char *const line : {"+\t1\ta", "I\t1\ta", "U\t1\ta"}) parsed(line, arena, Failure::read_only_door);
}

TEST(HsWrite, ARowMayHaveMoreValuesThanAKey) {
  Arena arena;
  std::string line = "+\t5000";
  for (int i = 0; i < 5'000; ++i) line += "\t" + std::to_string(i);
  const IndexRequest request = parsed(line, arena, Failure::none, writing);
  ASSERT_EQ(request.values.size(), size_t{limits::columns_max});
  EXPECT_EQ(request.values.back().bytes(), "4095");
}

TEST(HsWrite, ModificationsAreWholeWords) {
  Arena arena;
  const IndexRequest request = parsed("=\t1\tk\t1\t0\tF\t=\t0\told\tU?\tnew\t", arena, Failure::none, writing);
  EXPECT_EQ(request.verb, Verb::edit);
  EXPECT_EQ(request.modification, Modification::update);
  EXPECT_TRUE(request.rows_wanted);
  EXPECT_EQ(request.find.filters.size(), 1u);
  ASSERT_EQ(request.values.size(), 2u);
  EXPECT_EQ(request.values[0].bytes(), "new");
  EXPECT_EQ(parsed("=\t1\tk\t1\t0\tD", arena, Failure::none, writing).modification, Modification::erase);
  EXPECT_EQ(parsed("=\t1\tk\t1\t0\t+\t1", arena, Failure::none, writing).modification, Modification::increment);
  EXPECT_EQ(parsed("=\t1\tk\t1\t0\t-\t1", arena, Failure::none, writing).modification, Modification::decrement);
  EXPECT_FALSE(parsed("=\t1\tk\t1\t0\t-\t1", arena, Failure::none, writing).rows_wanted);
  for (const char *const word : {"UPSERT", "U??", "?", "u", "++", "-1"})
    parsed(std::string("=\t1\tk\t1\t0\t") + word + "\t1", arena, Refusal::unknown_modification, writing);
  parsed("=\t1\tk\t1\t0\tU\tnew", arena, Failure::read_only_door);
}

TEST(HsWrite, AMalformedValueIsRefused) {
  Arena arena;
  parsed("+\t1\ta\x01", arena, Failure::syntax, writing);
  parsed("=\t1\tk\t1\t0\tU\ta\x01!", arena, Failure::syntax, writing);
}

TEST(HsFind, AllocatesNothingForNumbersThatTheLineDoesNotBear) {
  for (const char *const line : {"=\t4000000000\ta", "=\t1\t\t1\t0\t@\t0\t4000000000\ta", "+\t4000000000\ta"}) {
    Arena arena;
    std::string bytes(line);
    Tokens tokens(bytes.data(), bytes.data() + bytes.size());
    IndexRequest request;
    EXPECT_FALSE(parse_index_request(tokens, {}, arena, request).is_none());
    EXPECT_LE(arena.bytes(), size_t{64} << 10) << line;
  }
}

}  // namespace
}  // namespace postern::handlersocket
