#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "redis/keyspace/maps.h"

namespace postern::redis {
namespace {

MapRow user_row() {
  return {.prefix = "user:",
          .db = "0",
          .kind = "row",
          .database = "shop",
          .table = "user",
          .key_columns = "country, id",
          .value_columns = "full_name name,email",
          .expire_column = "expires",
          .expire_unit = "s",
          .options = "no_flush,no_create"};
}

std::vector<std::string> names(const TableSpec &spec) {
  return {spec.columns.begin(), spec.columns.end()};
}

TEST(Map, CountsKeysThenExpiryThenFields) {
  const Map map(user_row());
  EXPECT_EQ(map.problem(), "");
  EXPECT_EQ(names(map.spec()), (std::vector<std::string>{"country", "id", "expires", "full_name", "email"}));
  EXPECT_EQ(map.key_columns(), 2U);
  EXPECT_EQ(map.expiry_column(), 2U);
  EXPECT_EQ(map.version_column(), Map::no_column);
  EXPECT_EQ(map.first_field(), 3U);
  EXPECT_FALSE(map.may_create());
  EXPECT_FALSE(map.may_flush());
  EXPECT_TRUE(map.may_delete());
}

TEST(Map, StringsOfAKeyspaceAreReadWithoutItsOtherColumns) {
  const Map map({.prefix = "",
                 .db = "0",
                 .kind = "generic",
                 .database = "keys",
                 .table = "entries",
                 .key_columns = "k",
                 .value_columns = "v",
                 .expire_column = "expires",
                 .version_column = "version"});
  EXPECT_EQ(map.problem(), "");
  Bytes columns[string_entry::columns];
  const TableSpec spec = map.string_spec(columns);
  EXPECT_EQ(names(spec), (std::vector<std::string>{"k", "expires", "type", "v"}));
  EXPECT_EQ(spec.table, "entries");
  EXPECT_EQ(spec.key_columns, 1U);
}

TEST(Map, FieldsHaveTheirOwnNamesComparedByteByByte) {
  const Map map(user_row());
  EXPECT_EQ(map.find_field("name"), 0U);
  EXPECT_EQ(map.find_field("email"), 1U);
  EXPECT_EQ(map.find_field("full_name"), Map::no_column);
  EXPECT_EQ(map.find_field("EMAIL"), Map::no_column);
  const uint32_t wanted[] = {1};
  Bytes room[4];
  EXPECT_EQ(names(map.spec(wanted, room)), (std::vector<std::string>{"country", "id", "expires", "email"}));
}

TEST(Map, SecondsAreRoundedUp) {
  const Map map(user_row());
  EXPECT_EQ(map.to_column(1'001), 2);
  EXPECT_EQ(map.to_column(0), 0);
  EXPECT_EQ(map.from_column(2), 2'000);
}

TEST(Map, ReportsErrorsInItsRow) {
  const auto problem = [](auto change) {
    MapRow row = user_row();
    change(row);
    return Map(row).problem();
  };
  EXPECT_NE(problem([](MapRow &row) { row.db = "16"; }), "");
  EXPECT_NE(problem([](MapRow &row) { row.value_columns = "*"; }), "");
  EXPECT_NE(problem([](MapRow &row) { row.key_columns = " , "; }), "");
  EXPECT_NE(problem([](MapRow &row) { row.separator = ""; }), "");
  EXPECT_NE(problem([](MapRow &row) { row.kind = "value"; }), "");
  EXPECT_NE(problem([](MapRow &row) { row.kind = "generic"; }), "");
}

TEST(MapSnapshot, TheLongestPrefixServesTheKey) {
  std::vector<std::shared_ptr<const Map>> maps;
  for (const char *const prefix : {"", "user:", "user:vip:"}) {
    MapRow row = user_row();
    row.prefix = prefix;
    maps.push_back(std::make_shared<const Map>(row));
  }
  const MapSnapshot snapshot(maps, "");
  EXPECT_EQ(snapshot.find(0, "user:vip:7"), 2U);
  EXPECT_EQ(snapshot.find(0, "user:vi"), 1U);
  EXPECT_EQ(snapshot.find(0, "use"), 0U);
  EXPECT_EQ(snapshot.find(0, ""), 0U);
  EXPECT_EQ(snapshot.find(1, "user:7"), MapSnapshot::none);
  EXPECT_TRUE(snapshot.has_database(0));
  EXPECT_FALSE(snapshot.has_database(1));
  EXPECT_EQ(snapshot.with_row(maps[1]->row()), maps[1]);
}

}  // namespace
}  // namespace postern::redis
