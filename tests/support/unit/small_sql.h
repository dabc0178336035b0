// small_sql.h: enough SQL to create the tables of the tests in a FakeEngine: `create table` with integer, varchar
// and text columns and plain or FULLTEXT keys, `create or replace view`, and `insert into ... values`.
//
// Other statements are refused, so that a test with, say, a prefix index is left to a real server.
#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "engine/fake/fake_engine.h"

namespace postern::test {

class SmallSql {
 public:
  SmallSql(FakeEngine &engine, std::string_view database) : engine_(engine), database_(database) {}

  /// Returns false if the fake engine cannot represent the statement.
  bool run(std::string_view statement) {
    statement_ = statement;
    at_ = 0;
    if (take("create") && take("table")) return create();
    at_ = 0;
    if (take("create") && take("or") && take("replace") && take("view")) {
      engine_.create(database_, word(), {}, {}, FakeEngine::Kind::view);
      return true;
    }
    at_ = 0;
    if (take("insert") && take("into")) return insert();
    return false;
  }

 private:
  bool create() {
    const std::string table = word();
    std::vector<FakeEngine::Column> columns;
    std::vector<FakeEngine::Index> indexes;
    if (!take("(")) return false;
    do {
      if (!item(columns, indexes)) return false;
    } while (take(","));
    if (!take(")")) return false;
    while (!done()) {  // engine and character set
      const std::string option = word();
      if (option == "engine" && take("=") && (take("innodb") || take("myisam"))) continue;
      if (option == "default" && take("charset") && take("=") && word() == "utf8mb4") continue;
      return false;
    }
    engine_.create(database_, table, columns, indexes);
    return true;
  }

  /// Parses a column or an index.
  bool item(std::vector<FakeEngine::Column> &columns, std::vector<FakeEngine::Index> &indexes) {
    std::string name = word();
    if (name == "primary") return take("key") && index("PRIMARY", indexes);
    if (name == "unique") return take("key") && index(word(), indexes);
    if (name == "key") return index(word(), indexes);
    if (name == "fulltext") {
      if (!take("key") || !index(word(), indexes)) return false;
      indexes.back().usable = false;
      return true;
    }
    const std::string type = word();
    FakeEngine::Column column{name};
    if (type == "varchar") {
      column.type = FakeEngine::Type::text;
      if (!take("(") || word().empty() || !take(")")) return false;
    } else if (type == "text") {
      column.type = FakeEngine::Type::blob;
    } else if (type != "int" && type != "bigint") {
      return false;
    }
    columns.push_back(column);
    while (true) {
      if (take("not")) {
        if (!take("null")) return false;
        columns.back().nullable = false;
      } else if (take("primary")) {
        if (!take("key")) return false;
        columns.back().nullable = false;
        indexes.insert(indexes.begin(), {"PRIMARY", {name}});
      } else {
        return next() == ',' || next() == ')';
      }
    }
  }

  bool index(const std::string &name, std::vector<FakeEngine::Index> &indexes) {
    FakeEngine::Index index{name, {}};
    if (!take("(")) return false;
    do index.columns.push_back(word());
    while (take(","));
    if (!take(")")) return false;
    indexes.insert(name == "PRIMARY" ? indexes.begin() : indexes.end(), index);
    return true;
  }

  bool insert() {
    const std::string table = word();
    if (!take("values")) return false;
    do {
      std::vector<FakeEngine::Cell> row;
      if (!take("(")) return false;
      do {
        if (next() == '\'') {
          const size_t end = statement_.find('\'', at_ + 1);
          if (end == std::string_view::npos) return false;
          row.emplace_back(statement_.substr(at_ + 1, end - at_ - 1));
          at_ = end + 1;
        } else if (take("null")) {
          row.emplace_back();
        } else {
          row.emplace_back(take("-") ? "-" + word() : word());
        }
      } while (take(","));
      if (!take(")")) return false;
      engine_.insert(database_, table, row);
    } while (take(","));
    return done();
  }

  char next() {
    while (at_ < statement_.size() && statement_[at_] == ' ') ++at_;
    return at_ < statement_.size() ? statement_[at_] : '\0';
  }
  bool done() { return next() == '\0'; }

  std::string word() {
    next();
    std::string found;
    const auto in_word = [](char byte) { return std::isalnum(static_cast<unsigned char>(byte)) || byte == '_'; };
    while (at_ < statement_.size() && in_word(statement_[at_])) found += statement_[at_++];
    return found;
  }

  /// Consumes the word or sign if it comes next.
  bool take(std::string_view wanted) {
    next();
    const size_t before = at_;
    if (std::isalpha(static_cast<unsigned char>(wanted[0]))) {
      std::string found = word();
      for (char &byte : found) byte = static_cast<char>(std::tolower(static_cast<unsigned char>(byte)));
      if (found == wanted) return true;
    } else if (statement_.substr(at_).starts_with(wanted)) {
      at_ += wanted.size();
      return true;
    }
    at_ = before;
    return false;
  }

  FakeEngine &engine_;
  const std::string database_;
  std::string_view statement_;
  size_t at_ = 0;
};

}  // namespace postern::test
