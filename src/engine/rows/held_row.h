// held_row.h: HeldRow, a row that neighbouring writes change in its table's buffers alone, until it is stored once for
// all of them: the row of a key that many commands add elements to.
//
// record[0] is the row as the last of them left it, record[1] as the storage engine has it. The row is locked, and no
// other op touches the buffers: an op on another row of the table has it stored first. Belongs to one executor's
// Writer.
#pragma once

#include <span>
#include <string>

#include "contract/value.h"
#include "engine/server/table.h"

namespace postern::rows {

class HeldRow {
 public:
  /// `key` is that of the table's index, and of this row alone.
  void hold(OpenTable &table, std::span<const Value> key) {
    table_ = &table;
    key_.clear();
    for (const Value &value : key) add(value, key_);
    changed = false;
  }
  void forget() { table_ = nullptr; }

  /// nullptr: none is held.
  OpenTable *table() const { return table_; }
  /// Values of another kind may name the same row, which is another matter then.
  bool is(const OpenTable &table, std::span<const Value> key) {
    if (&table != table_ || key.empty()) return false;
    asked_.clear();
    for (const Value &value : key) add(value, asked_);
    return asked_ == key_;
  }

  bool changed = false;  ///< record[0] has to be stored

 private:
  static void add(const Value &value, std::string &to) {
    const auto put = [&to](const auto &number) { to.append(reinterpret_cast<const char *>(&number), sizeof number); };
    put(value.kind());
    switch (value.kind()) {
      case Value::Kind::null: break;
      case Value::Kind::integer: put(value.integer()); break;
      case Value::Kind::natural: put(value.natural()); break;
      case Value::Kind::bytes:
        put(value.bytes().size());
        to.append(value.bytes());
        break;
    }
  }

  OpenTable *table_ = nullptr;
  std::string key_;
  std::string asked_;
};

}  // namespace postern::rows
