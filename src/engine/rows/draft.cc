#include "engine/server/server.h"

#include "engine/rows/draft.h"

#include <limits>
#include <utility>

#include "base/limits.h"
#include "engine/server/differences.h"
#include "engine/rows/charsets.h"
#include "engine/rows/integer_type.h"

namespace postern::rows {
namespace {

/// Stores a plain integer without the server's parser, which handles fractions and exponents. False for others.
bool store_natural(Field *field, Bytes text) {
  uint64_t number = 0;
  if (integer_type(field).bytes == 0 || !sql::parse_short_natural(text, number)) return false;
  field->set_notnull();
  field->store(static_cast<longlong>(number), false);  // reports numbers out of range as it does for a text
  return true;
}

void store_text(Field *field, Bytes text, bool unicode) {
  if (store_natural(field, text)) return;
  const CHARSET_INFO *const charset = charset_of_values(field, unicode);
  if (ends_within_a_character(field, charset, text)) return;
  field->set_notnull();
  field->store(text.data(), text.size(), charset);
}

/// The whole text, except surrounding blanks, has to be a number.
bool parse_decimal(Bytes text, my_decimal &number) {
  const size_t first = text.find_first_not_of(' ');
  const size_t last = text.find_last_not_of(' ');
  if (first == Bytes::npos) return false;
  text = text.substr(first, last - first + 1);
  if (text.find_first_not_of("+-.0123456789eE") != Bytes::npos) return false;
  size_t parsed = 0;
  const int error = decimal_of(text, number, parsed);
  return (error & ~E_DEC_TRUNCATED) == 0 && parsed == text.size();
}

Draft::Sum crossing(int before, int after) {
  return (before > 0 && after < 0) || (before < 0 && after > 0) ? Draft::Sum::changed_sign : Draft::Sum::kept_sign;
}

int sign(__int128 number) {
  return number < 0 ? -1 : number > 0;
}

int sign(const my_decimal &number) {
  return my_decimal_is_zero(&number) ? 0 : number.sign() ? -1 : 1;
}

std::string text_of(const my_decimal &number) {
  String text;
  print_decimal(number, text);
  return {text.ptr(), text.length()};
}

}  // namespace

const CHARSET_INFO *charset_of_values(const Field *field, bool unicode) {
  if (unicode && foreign_charset(*field) != nullptr) return &my_charset_utf8mb4_general_ci;
  const enum_field_types type = field->real_type();
  const bool is_characters =
      type == MYSQL_TYPE_ENUM || type == MYSQL_TYPE_SET || type == MYSQL_TYPE_BIT || holds_given_bytes(*field, type);
  return is_characters ? field->charset() : &my_charset_utf8mb4_general_ci;
}

bool ends_within_a_character(const Field *field, const CHARSET_INFO *charset, Bytes text) {
  if (charset->mbminlen == 1 || text.size() % charset->mbminlen == 0) return false;
  my_error(ER_INVALID_CHARACTER_STRING, MYF(0), name_of(*charset), std::string(name_of(*field)).c_str());
  return true;
}

void store_strictly(Field *field, const Value &value, bool unicode) {
  switch (value.kind()) {
    case Value::Kind::null: set_field_to_null_with_conversions(field, false); return;
    case Value::Kind::bytes: store_text(field, value.bytes(), unicode); return;
    case Value::Kind::integer:
      field->set_notnull();
      field->store(static_cast<longlong>(value.integer()), false);
      return;
    case Value::Kind::natural:
      field->set_notnull();
      field->store(static_cast<longlong>(value.natural()), true);
      return;
  }
}

struct RowDraft::Change {
  enum class Kind : uint8_t { value, decimal, real };
  uint16_t field = 0;
  Kind kind = Kind::value;
  Value value{};
  double real = 0;
  my_decimal decimal;
  std::string text{};  // what `value` borrows, where a number is stored as text
};

RowDraft::RowDraft() = default;
RowDraft::~RowDraft() = default;

void RowDraft::begin(OpenTable &table) {
  table_ = &table;
  count_ = 0;
  failure_ = Failure::none;
}

void RowDraft::begin(OpenTable &table, std::span<const Value> values) {
  begin(table);
  for (uint32_t i = 0; i < values.size() && i < table.columns.size(); ++i) set(i, values[i]);
}

RowDraft::Change &RowDraft::next(uint16_t field) {
  if (count_ == changes_.size()) changes_.push_back(std::make_unique<Change>());
  Change &change = *changes_[count_++];
  change.field = field;
  change.kind = Change::Kind::value;
  return change;
}

/// The last change of the column so far, for a column that is named twice.
const RowDraft::Change *RowDraft::pending(uint16_t field) const {
  for (size_t i = count_; i-- > 0;)
    if (changes_[i]->field == field) return changes_[i].get();
  return nullptr;
}

void RowDraft::set(uint32_t column, const Value &value) {
  next(table_->columns[column]).value = value;
}

Draft::Sum RowDraft::add(uint32_t column, const Value &amount, bool subtract) {
  const uint16_t position = table_->columns[column];
  Field *const field = table_->table->field[position];
  if (amount.is_null() || failure_ != Failure::none) return Sum::kept_sign;
  if (field->is_null()) {
    set(column, Value::null());  // NULL and anything is NULL, which is a change that changes nothing
    return Sum::kept_sign;
  }
  const Change *const before = pending(position);
  Change &change = next(position);

  char digits[24];
  Bytes text;
  __int128 number = 0;
  sql::Number parsed;
  bool is_integer = true;
  switch (amount.kind()) {
    case Value::Kind::null: return Sum::kept_sign;
    case Value::Kind::bytes:
      text = amount.bytes();
      is_integer = sql::parse_number(text, parsed) && parsed.is_integer();
      number = parsed.negative ? -static_cast<__int128>(parsed.magnitude) : static_cast<__int128>(parsed.magnitude);
      break;
    case Value::Kind::integer:
      number = amount.integer();
      text = {digits, static_cast<size_t>(print_integer(digits, amount.integer()) - digits)};
      break;
    case Value::Kind::natural:
      number = amount.natural();
      text = {digits, static_cast<size_t>(print_natural(digits, amount.natural()) - digits)};
      break;
  }
  switch (field->cmp_type()) {
    case INT_RESULT:
      if (is_integer && (before == nullptr || before->kind == Change::Kind::value))
        return add_integer(change, field, before, subtract ? -number : number);
      return add_decimal(change, field, before, text, subtract);
    case DECIMAL_RESULT: return add_decimal(change, field, before, text, subtract);
    case REAL_RESULT: return add_real(change, field, before, text, subtract);
    case STRING_RESULT:
      if (holds_given_bytes(*field, field->real_type())) return add_decimal(change, field, before, text, subtract);
      break;
    default: break;
  }
  refuse(field, name_of(*field), Failure::bad_value);
  return Sum::kept_sign;
}

Draft::Sum RowDraft::add_integer(Change &change, Field *field, const Change *before, __int128 amount) {
  const bool is_unsigned = has_flag(*field, UNSIGNED_FLAG);
  __int128 old;
  if (before != nullptr && before->value.kind() != Value::Kind::bytes) {
    old = before->value.kind() == Value::Kind::natural ? static_cast<__int128>(before->value.natural())
                                                       : static_cast<__int128>(before->value.integer());
  } else {
    const longlong value = field->val_int();
    old = is_unsigned ? static_cast<__int128>(static_cast<ulonglong>(value)) : value;
  }
  const __int128 sum = old + amount;
  if (sum >= std::numeric_limits<int64_t>::min() && sum <= std::numeric_limits<int64_t>::max()) {
    change.value = Value::of_integer(static_cast<int64_t>(sum));
  } else if (sum > 0 && sum <= std::numeric_limits<uint64_t>::max()) {
    change.value = Value::of_natural(static_cast<uint64_t>(sum));
  } else {
    // Beyond every column; as text it still is the number that the message names.
    my_decimal left, right, total;
    int2my_decimal(E_DEC_FATAL_ERROR, static_cast<longlong>(old), old < 0 ? false : is_unsigned, &left);
    const bool down = amount < 0;
    int2my_decimal(E_DEC_FATAL_ERROR, static_cast<longlong>(down ? -amount : amount), true, &right);
    if (down) my_decimal_sub(E_DEC_FATAL_ERROR, &total, &left, &right);
    else my_decimal_add(E_DEC_FATAL_ERROR, &total, &left, &right);
    change.text = text_of(total);
    change.value = Value::of(change.text);
  }
  if (is_unsigned && sum < 0) return Sum::changed_sign;
  return crossing(sign(old), sign(sum));
}

Draft::Sum RowDraft::add_decimal(Change &change, Field *field, const Change *before, Bytes amount, bool subtract) {
  my_decimal old, by;
  const my_decimal *left = &old;
  if (before != nullptr && before->kind == Change::Kind::decimal) {
    left = &before->decimal;
  } else if (holds_given_bytes(*field, field->real_type())) {
    String buffer;
    String converted;
    const Bytes text = text_in(field, buffer, converted);
    if (!parse_decimal(text, old)) {
      refuse(field, text, Failure::bad_value);
      return Sum::kept_sign;
    }
  } else {
    left = field->val_decimal(&old);
  }
  if (!parse_decimal(amount, by)) {
    refuse(field, amount, Failure::not_a_number);
    return Sum::kept_sign;
  }
  change.kind = Change::Kind::decimal;
  const int error =
      subtract ? my_decimal_sub(0, &change.decimal, left, &by) : my_decimal_add(0, &change.decimal, left, &by);
  if (error & ~E_DEC_TRUNCATED) refuse(field, amount, Failure::not_a_number);
  if (has_flag(*field, UNSIGNED_FLAG) && sign(change.decimal) < 0) return Sum::changed_sign;
  return crossing(sign(*left), sign(change.decimal));
}

Draft::Sum RowDraft::add_real(Change &change, Field *field, const Change *before, Bytes amount, bool subtract) {
  double by = 0;
  if (!parse_real(amount, by)) {
    refuse(field, amount, Failure::not_a_number);
    return Sum::kept_sign;
  }
  const double old = before != nullptr && before->kind == Change::Kind::real ? before->real : field->val_real();
  change.kind = Change::Kind::real;
  change.real = subtract ? old - by : old + by;
  if (has_flag(*field, UNSIGNED_FLAG) && change.real < 0) return Sum::changed_sign;
  return crossing((old > 0) - (old < 0), (change.real > 0) - (change.real < 0));
}

/// The column's value after `change`, as far as known before storing.
Bytes RowDraft::pending_text(const Change &change, std::string &room) {
  switch (change.kind) {
    case Change::Kind::decimal: room = text_of(change.decimal); return room;
    case Change::Kind::real: {
      String text;
      text.set_real(change.real, as_many_digits_as_needed, &my_charset_latin1);
      room.assign(text.ptr(), text.length());
      return room;
    }
    case Change::Kind::value: break;
  }
  switch (change.value.kind()) {
    case Value::Kind::null: break;
    case Value::Kind::bytes: return change.value.bytes();
    case Value::Kind::integer: room = std::to_string(change.value.integer()); return room;
    case Value::Kind::natural: room = std::to_string(change.value.natural()); return room;
  }
  return {};
}

/// The column's value as the client would read it.
Bytes RowDraft::text_in(Field *field, String &buffer, String &converted) const {
  const String *const text = field->val_str(&buffer);
  if (text == nullptr) return {};
  const Bytes held(text->ptr(), text->length());
  const CHARSET_INFO *const charset = table_->spec->unicode ? foreign_charset(*field) : nullptr;
  return charset == nullptr ? held : to_unicode(charset, held, converted);
}

void RowDraft::extend(uint32_t column, Bytes bytes, bool at_front) {
  if (failure_ != Failure::none) return;
  const uint16_t position = table_->columns[column];
  Field *const field = table_->table->field[position];
  std::string room;
  String buffer;
  String converted;
  Bytes old;
  if (const Change *const before = pending(position)) {
    old = pending_text(*before, room);
  } else if (!field->is_null()) {
    old = text_in(field, buffer, converted);
  }
  const size_t size = old.size() + bytes.size();
  THD *const thd = table_->table->in_use;
  if (size > thd->variables.max_allowed_packet) {
    failure_ = Failure::bad_value;
    message_ = packet_overflow_of(thd, "concat");
    return;
  }
  std::string joined;
  joined.reserve(size);
  joined.append(at_front ? bytes : old).append(at_front ? old : bytes);
  Change &change = next(position);
  change.text = std::move(joined);
  change.value = Value::of(change.text);
  has_long_text_ |= size > limits::arena_bytes_kept;
}

void RowDraft::give_back() {
  if (!std::exchange(has_long_text_, false)) return;
  for (const std::unique_ptr<Change> &change : changes_)
    if (change->text.capacity() > limits::arena_bytes_kept) std::string().swap(change->text);
}

void RowDraft::refuse(const Field *field, Bytes text, Failure failure) {
  failure_ = failure;
  message_ =
      "Not a number: '" + std::string(text.substr(0, 64)) + "' for column '" + std::string(name_of(*field)) + "'";
}

uint16_t RowDraft::field(size_t change) const {
  return changes_[change]->field;
}

bool RowDraft::is_null(size_t change) const {
  return changes_[change]->kind == Change::Kind::value && changes_[change]->value.is_null();
}

void RowDraft::store(size_t at, Field *field) const {
  const Change &change = *changes_[at];
  switch (change.kind) {
    case Change::Kind::value: return store_strictly(field, change.value, table_->spec->unicode);
    case Change::Kind::decimal:
      field->set_notnull();
      field->store_decimal(&change.decimal);
      return;
    case Change::Kind::real:
      field->set_notnull();
      field->store(change.real);
      return;
  }
}

const my_decimal *RowDraft::decimal(size_t change) const {
  return changes_[change]->kind == Change::Kind::decimal ? &changes_[change]->decimal : nullptr;
}

const double *RowDraft::real(size_t change) const {
  return changes_[change]->kind == Change::Kind::real ? &changes_[change]->real : nullptr;
}

const Value &RowDraft::value(size_t change) const {
  return changes_[change]->value;
}

}  // namespace postern::rows
