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

/// The character set of values for the column: characters belong to the column's own, everything else is read from text
/// as SQL's literals are, and called by its text in messages.
const CHARSET_INFO *charset_of_values(const Field *field, bool unicode);
/// True, with an error set, if `text` ends in an incomplete character: the server would pad that on its left.
bool ends_within_a_character(const Field *field, const CHARSET_INFO *charset, Bytes text);

/// Stores `value` in `field` as SQL in strict mode would: numbers, dates and the like from their text, characters in
/// the column's own character set, or converted to it (`unicode`, as TableSpec has it). What does not fit is an error
/// in the diagnostics area.
void store_strictly(Field *field, const Value &value, bool unicode);

/// Belongs to one executor and is reused for every row.
class RowDraft final : public Draft {
 public:
  RowDraft();
  ~RowDraft();

  /// A new draft for the row in record[0] of the table.
  void begin(OpenTable &table);
  /// A draft that gives the first columns these values.
  void begin(OpenTable &table, std::span<const Value> values);

  void set(uint32_t column, const Value &value) override;
  Sum add(uint32_t column, const Value &amount, bool subtract) override;
  void extend(uint32_t column, Bytes bytes, bool at_front) override;

  /// Gives back the memory of long values, when the row is done.
  void give_back();

  /// What went wrong in add() or extend(), and the words for it.
  Failure failure() const { return failure_; }
  const std::string &message() const { return message_; }

  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  /// The position in TABLE::field of the n-th change.
  uint16_t field(size_t change) const;
  bool is_null(size_t change) const;
  /// Stores the n-th change in `field`.
  void store(size_t change, Field *field) const;
  /// The n-th change: a number that was computed, or the value that was given.
  const my_decimal *decimal(size_t change) const;
  const double *real(size_t change) const;
  const Value &value(size_t change) const;
  /// As TableSpec has it.
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
  std::vector<std::unique_ptr<Change>> changes_;  // a value may borrow from the change it is in, so none moves
  size_t count_ = 0;
  bool has_long_text_ = false;
  Failure failure_ = Failure::none;
  std::string message_;
};

}  // namespace postern::rows
