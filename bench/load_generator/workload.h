// workload.h: the requests and their correct answers. A row's key determines every column, so every answer can be
// checked. Knows no protocol.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace postern::bench {

enum class Kind : uint8_t {
  find,       // one row by its key
  multi,      // many rows by a list of keys
  scan,       // rows in key order from a key on
  update,     // a new name for a row of `written`
  insert,     // a new row in `fresh`; for stores without tables a new or overwritten value
  increment,  // adds 1 in `counter`
  zero,       // for stores without tables: makes the counter
};
constexpr size_t kinds = 7;
const char *name_of(Kind kind);
bool kind_of(Bytes name, Kind &kind);
constexpr bool is_write(Kind kind) {
  return kind >= Kind::update;
}

/// The columns that a find reads.
enum class Cells : uint8_t {
  user,     // name, email and time of creation, of the 2010 article's table
  email,    // one column of a table of 15
  value,    // one column of Table::size bytes
  columns,  // the first Table::size of many columns
};

/// The choice of rows to read. Stores without tables have values under keys with the table's name, see key_prefix().
struct Table {
  std::string name = "user";
  Cells cells = Cells::user;
  uint32_t size = 0;
};
/// `user`, or a copy of it for updates, so that every run reads the same rows: `written`; `user_N`, which has N rows;
/// `people`; `value_N` with values of N bytes; `wide_N`, the first N columns of `wide`.
bool table_of(Bytes name, Table &table);
std::vector<std::string> columns_of(const Table &table);

struct Shape {
  Table table{};
  uint32_t multi_keys = 50;
  uint32_t scan_rows = 10;
};

struct Request {
  Kind kind = Kind::find;
  uint64_t key = 1;
  uint64_t version = 0;          // the version of the name that an update writes; 0 is the initial name
  std::vector<uint64_t> keys{};  // of Kind::multi, all different
  int64_t due_ns = 0;            // the time when it was, or should have been, sent
  uint64_t answers_before = 0;   // of all clients, with those that its client still waits for
};

/// The number of rows in a correct answer; 1 for a write.
uint32_t rows_of(const Request &request, const Shape &shape);

constexpr Bytes created = "2010-02-03 11:22:33";

void put_number(std::string &out, uint64_t number);
void put_name(std::string &out, uint64_t key, uint64_t version);
void put_email(std::string &out, uint64_t key);
/// The cells of a row, `between` them: the value of stores without columns. `version` matters for users alone.
void put_row(std::string &out, const Table &table, uint64_t key, uint64_t version, char between);
/// The prefix of a row's key in stores without tables.
std::string key_prefix(const Table &table);

/// A row's initial name, or the one that an update has set.
bool is_name(Bytes text, uint64_t key);
bool is_email(Bytes text, uint64_t key);
/// `column` counts from 0.
bool is_cell(Bytes text, const Table &table, size_t column, uint64_t key);
/// Compares with the output of put_row, of any version.
bool is_row(Bytes text, const Table &table, uint64_t key, char between);
/// The key of a name; 0 if it is not a name.
uint64_t key_of_name(Bytes text);

}  // namespace postern::bench
