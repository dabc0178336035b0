// row.h: RowReader, which converts a record to Values.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "contract/value.h"

class Field;
struct TABLE;

namespace postern::rows {

/// Converts TABLE::record[0] to the columns that a client asked for. Integers and plain strings are taken straight from
/// the record; every other type is rendered by the server's own Field::val_str(), so that its text form is SQL's.
/// Belongs to one OpenTable.
class RowReader {
 public:
  RowReader();
  ~RowReader();

  /// Prepares for the fields of an open table; needed anew after every open. `unicode`: as TableSpec has it.
  void bind(TABLE *table, std::span<const uint16_t> columns, bool unicode);
  /// Whether it is prepared for this instance of the table.
  bool reads(const TABLE *table) const;
  /// The row in record[0]; valid until the record changes or the next read().
  Row read();
  /// Bytes of the row's possibly long values: all except numbers, dates and VARCHAR.
  size_t long_bytes() const { return long_bytes_; }
  /// Whether a row was so large that the memory of its values, and the table's own copy, should be freed before the
  /// next one.
  bool holds_much() const { return holds_much_; }
  /// Gives back the memory of the values, when the last row is done.
  void give_back();

 private:
  void convert();

  struct Column;
  std::vector<Column> columns_;
  std::vector<Value> values_;
  bool converts_ = false;  // one of the columns
  size_t long_bytes_ = 0;
  bool holds_much_ = false;
};

}  // namespace postern::rows
