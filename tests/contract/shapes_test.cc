// Stores the engine's descriptions of columns of every type in a table of the server;
// tests/integration/engine/test_contract.py compares them with SQL's descriptions of the same columns.
#include <string>
#include <vector>

#include "server_fixture.h"

namespace postern::contract_test {
namespace {

class ShapeReply final : public Reply {
 public:
  void shape(std::span<const ColumnShape> columns) override {
    for (const ColumnShape &one : columns) {
      if (!told.empty()) told += ", ";
      told += "('" + std::string(one.name) + "'";
      for (const uint32_t number :
           {uint32_t{one.type}, uint32_t{one.decimals}, uint32_t{one.flags}, uint32_t{one.charset}, one.length})
        told += ", " + std::to_string(number);
      told += ")";
    }
  }
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override { failure = outcome.failure; }
  void restart() override {}

  std::string told;
  Failure failure = Failure::internal;
};

const char *const every_type =
    "CREATE OR REPLACE TABLE contract.every_type (id INT AUTO_INCREMENT PRIMARY KEY,"
    "i1 TINYINT, i1u TINYINT UNSIGNED NOT NULL, b BOOLEAN, i2 SMALLINT(3), i3 MEDIUMINT, i4 INT ZEROFILL, i8 BIGINT,"
    "i8u BIGINT UNSIGNED, f FLOAT, f2 FLOAT(7,3), d DOUBLE UNSIGNED, d2 DOUBLE(10,2), n DECIMAL(10,3) NOT NULL,"
    "n2 DECIMAL(5,0) UNSIGNED, bit1 BIT, bit17 BIT(17), y YEAR, dd DATE, t TIME, t3 TIME(3), dt DATETIME NOT NULL,"
    "dt6 DATETIME(6), ts TIMESTAMP NULL, ts2 TIMESTAMP(2) DEFAULT NOW(2) ON UPDATE NOW(2),"
    "c CHAR(10) CHARACTER SET latin1, c4 CHAR(10) CHARACTER SET utf8mb4, bin BINARY(5),"
    "v VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL, v3 VARCHAR(7) CHARACTER SET utf8mb3,"
    "v2 VARCHAR(7) CHARACTER SET ucs2, u1400 VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_ai_ci,"
    "vb VARBINARY(50), vc VARCHAR(50) COMPRESSED, tt TINYTEXT, tx TEXT CHARACTER SET utf8mb4, mt MEDIUMTEXT,"
    "lt LONGTEXT, tb TINYBLOB, bl BLOB NOT NULL, mb MEDIUMBLOB, lb LONGBLOB, bc BLOB COMPRESSED,"
    "e ENUM('a','bc') CHARACTER SET latin1, s SET('a','bc') CHARACTER SET utf8mb4, j JSON, uu UUID, ip6 INET6, ip4 "
    "INET4,"
    "g GEOMETRY, p POINT NOT NULL, gen INT AS (i2 + 1), gens VARCHAR(20) AS (CONCAT(v, '!')) PERSISTENT,"
    "UNIQUE ku (i4), KEY km (dt, v(5)), KEY kc (c))";

using ServerShapes = ExecutorTest<ServerFixture>;

TEST_F(ServerShapes, AreLeftForComparison) {
  ASSERT_TRUE(fixture_.sql.run(every_type));
  const std::string names = fixture_.sql.ask(
      "SET group_concat_max_len = 100000; SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM "
      "information_schema.columns WHERE table_schema = 'contract' AND table_name = 'every_type'");
  std::vector<Bytes> columns;
  for (size_t at = 0; at < names.size();) {
    const size_t end = names.find_first_of(",\n", at);
    columns.push_back(Bytes(names).substr(at, end - at));
    at = end + 1;
  }
  ASSERT_GT(columns.size(), 40u);
  TableSlot &slot = opened({"contract", "every_type", "PRIMARY", columns});
  const Value one[] = {Value::of("1")};
  const Find find{.key = one, .shape_wanted = true};
  ShapeReply reply;
  Op op;
  op.verb = Verb::find;
  op.slot = &slot;
  op.find = &find;
  op.reply = &reply;
  EXPECT_TRUE(executor_->run({.ops = {&op, 1}}).lasted());
  EXPECT_EQ(reply.failure, Failure::none);
  EXPECT_TRUE(fixture_.sql.run(
      "CREATE OR REPLACE TABLE contract.shapes (at INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(64), type INT,"
      "decimals INT, flags INT, charset INT, length BIGINT);"
      "INSERT INTO contract.shapes (name, type, decimals, flags, charset, length) VALUES " +
      reply.told));
}

}  // namespace
}  // namespace postern::contract_test
