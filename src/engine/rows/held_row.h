// held_row.h: HeldRow, a row that neighbouring writes change only in its table's buffers, until it is stored once for
// all of them: for example a key's row, when many commands add elements to the key.
//
// record[0] is the row after the last write, record[1] the row in the storage engine. The row is locked, and no other
// op touches the buffers: an op on another row of the table stores it first. Belongs to one executor's Writer.
#pragma once

#include <span>
#include <string>

#include "contract/value.h"
#include "engine/server/table.h"

namespace postern::rows {

class HeldRow {
 public:
  /// `key` is the key of the table's index that identifies this row.
  void hold(OpenTable &table, std::span<const Value> key) {
    table_ = &table;
    key_.clear();
    for (const Value &value : key) add(value, key_);
    changed = false;
  }
  void forget() { table_ = nullptr; }

  /// nullptr: no row is held.
  OpenTable *table() const { return table_; }
  /// Values of different kinds may identify the same row; they count as different keys.
  bool is(const OpenTable &table, std::span<const Value> key) {
    if (&table != table_ || key.empty()) return false;
    asked_.clear();
    for (const Value &value : key) add(value, asked_);
    return asked_ == key_;
  }

  bool changed = false;  ///< whether record[0] has to be stored

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
