// draft.h: RowDraft, the new values of one row, computed by the server's arithmetic and stored by its conversions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/failure.h"
#include "contract/edit.h"
#include "engine/server/table.h"

class Field;
class String;
class my_decimal;

namespace postern::rows {

/// The character set of values for the column: texts have the column's own; other values are parsed from text like SQL
/// literals.
const CHARSET_INFO *charset_of_values(const Field *field, bool unicode);
/// True, with an error set, if `text` ends in an incomplete character: the server would pad it on the left.
bool ends_within_a_character(const Field *field, const CHARSET_INFO *charset, Bytes text);

/// Stores `value` in `field` as SQL does in strict mode: numbers, dates and so on from their text; texts in the
/// column's character set, or converted to it (`unicode`, see TableSpec). A value that does not fit sets an error in
/// the diagnostics area.
void store_strictly(Field *field, const Value &value, bool unicode);

/// Belongs to one executor and is reused for every row.
class RowDraft final : public Draft {
 public:
  RowDraft();
  ~RowDraft();

  /// Begins a draft for the row in record[0] of the table.
  void begin(OpenTable &table);
  /// Begins a draft that gives the first columns these values.
  void begin(OpenTable &table, std::span<const Value> values);

  void set(uint32_t column, const Value &value) override;
  Sum add(uint32_t column, const Value &amount, bool subtract) override;
  void extend(uint32_t column, Bytes bytes, bool at_front) override;

  /// Gives back the memory of long values, when the row is done.
  void give_back();

  /// The failure in add() or extend(), and its message.
  Failure failure() const { return failure_; }
  const std::string &message() const { return message_; }

  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  /// The position in TABLE::field of the n-th change.
  uint16_t field(size_t change) const;
  bool is_null(size_t change) const;
  /// Stores the n-th change in `field`.
  void store(size_t change, Field *field) const;
  /// The n-th change: a computed number, or the given value.
  const my_decimal *decimal(size_t change) const;
  const double *real(size_t change) const;
  const Value &value(size_t change) const;
  /// See TableSpec::unicode.
  bool unicode() const { return table_->spec->unicode; }

 private:
  struct Change;
  Change &next(uint16_t field);
  static Bytes pending_text(const Change &change, std::string &room);
  Bytes text_in(Field *field, String &buffer, String &converted) const;
  const Change *pending(uint16_t field) const;
  Sum add_integer(Change &change, Field *field, const Change *before, __int128 amount);
  Sum add_real(Change &change, Field *field, const Change *before, Bytes amount, bool subtract);
  Sum add_decimal(Change &change, Field *field, const Change *before, Bytes amount, bool subtract);
  void refuse(const Field *field, Bytes text, Failure failure);

  OpenTable *table_ = nullptr;
  std::vector<std::unique_ptr<Change>> changes_;  // stable addresses: a value may borrow from its own change
  size_t count_ = 0;
  bool has_long_text_ = false;
  Failure failure_ = Failure::none;
  std::string message_;
};

}  // namespace postern::rows
