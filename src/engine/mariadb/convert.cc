#include "engine/mariadb/server.h"

#include "engine/mariadb/convert.h"

#include <limits>

#include "engine/mariadb/failures.h"

namespace postern::mariadb {
namespace {

/// A decimal number as far as integer columns care.
struct Number {
  bool negative = false;
  bool fraction = false;  ///< more than the integer part, towards the sign
  bool overflow = false;  ///< beyond 64 bits
  uint64_t magnitude = 0;
};

bool parse_number(Bytes text, Number &number) {
  const char *at = text.data();
  const char *const end = at + text.size();
  if (at != end && (*at == '-' || *at == '+')) number.negative = *at++ == '-';
  const char *const digits = at;
  for (; at != end && *at >= '0' && *at <= '9'; ++at) {
    const auto digit = static_cast<uint64_t>(*at - '0');
    if (number.magnitude > (std::numeric_limits<uint64_t>::max() - digit) / 10) number.overflow = true;
    number.magnitude = number.magnitude * 10 + digit;
  }
  bool any = at != digits;
  if (at != end && *at == '.') {
    const char *const decimals = ++at;
    for (; at != end && *at >= '0' && *at <= '9'; ++at) number.fraction |= *at != '0';
    any |= at != decimals;
  }
  return any && at == end;
}

Fit store_integer(Field *field, Bytes text, uint32_t bytes, std::string &message) {
  Number number;
  if (!parse_number(text, number)) {
    message = "Incorrect integer value: '" + std::string(text) + "' for column '" + field->field_name.str + "'";
    return Fit::unfit;
  }
  const uint32_t bits = bytes * 8;
  const bool is_unsigned = field->flags & UNSIGNED_FLAG;
  const uint64_t most =
      is_unsigned ? std::numeric_limits<uint64_t>::max() >> (64 - bits) : (uint64_t{1} << (bits - 1)) - 1;
  const uint64_t least = is_unsigned ? 0 : uint64_t{1} << (bits - 1);  // as a magnitude
  Fit fit = Fit::exact;
  uint64_t magnitude = number.magnitude;
  const uint64_t bound = number.negative ? least : most;
  if (number.overflow || magnitude > bound) {
    magnitude = bound;
    fit = number.negative ? Fit::above : Fit::below;
  } else if (number.fraction) {
    fit = number.negative ? Fit::above : Fit::below;
  }
  const auto value = static_cast<longlong>(number.negative ? 0 - magnitude : magnitude);
  field->store(value, is_unsigned);
  return fit;
}

Fit store_string(THD *thd, Field *field, Bytes text, std::string &message) {
  CHARSET_INFO *const charset = field->charset();
  if (field->store(text.data(), text.size(), charset) == 0) return Fit::exact;
  const Well_formed_prefix prefix(charset, text.data(), text.size(), text.size());
  if (prefix.length() != text.size()) {
    message =
        std::string("Invalid ") + charset->cs_name.str + " character string for column '" + field->field_name.str + "'";
    return Fit::unfit;
  }
  String buffer;
  const String *const stored = field->val_str(&buffer);
  const int order = charset->strnncollsp(stored->ptr(), stored->length(), text.data(), text.size());
  thd->clear_error(true);
  return order == 0 ? Fit::exact : order < 0 ? Fit::below : Fit::above;
}

Fit store_decimal(THD *thd, Field *field, Bytes text, std::string &message) {
  my_decimal given;
  if (str2my_decimal(0, text.data(), text.size(), &my_charset_latin1, &given) & ~(E_DEC_TRUNCATED)) {
    message = "Incorrect decimal value: '" + std::string(text) + "' for column '" + field->field_name.str + "'";
    return Fit::unfit;
  }
  field->store(text.data(), text.size(), &my_charset_latin1);  // rounds, which is no error to it
  thd->clear_error(true);
  my_decimal buffer;
  const my_decimal *const stored = field->val_decimal(&buffer);
  const int order = my_decimal_cmp(stored, &given);
  return order == 0 ? Fit::exact : order < 0 ? Fit::below : Fit::above;
}

bool has_digit_but_zero(Bytes text) {
  return text.find_first_of("123456789") != Bytes::npos;
}

/// Whether the column cut away the end of a date or time: digits of a fraction finer than its own, or a DATE the time
/// of day. The server takes that for no loss.
bool end_was_cut(const Field *field, Bytes text) {
  if (field->cmp_type() != TIME_RESULT) return false;
  if (field->type_handler()->field_type() == MYSQL_TYPE_DATE) {
    const size_t day_end = text.find_first_of(" T");
    return day_end != Bytes::npos && has_digit_but_zero(text.substr(day_end));
  }
  const size_t point = text.rfind('.');
  return point != Bytes::npos && text.size() - point - 1 > field->decimals() &&
         has_digit_but_zero(text.substr(point + 1 + field->decimals()));
}

}  // namespace

Fit store(THD *thd, Field *field, Bytes text, std::string &message) {
  field->set_notnull();
  switch (field->real_type()) {
    case MYSQL_TYPE_TINY: return store_integer(field, text, 1, message);
    case MYSQL_TYPE_SHORT: return store_integer(field, text, 2, message);
    case MYSQL_TYPE_INT24: return store_integer(field, text, 3, message);
    case MYSQL_TYPE_LONG: return store_integer(field, text, 4, message);
    case MYSQL_TYPE_LONGLONG: return store_integer(field, text, 8, message);
    default: break;
  }

  // Conversions tell of what they lose only when somebody counts.
  const enum_check_fields counting = thd->count_cuted_fields;
  thd->count_cuted_fields = CHECK_FIELD_WARN;
  ulong warnings = thd->get_stmt_da()->current_statement_warn_count();
  Fit fit = Fit::exact;
  if (field->result_type() == DECIMAL_RESULT) {
    fit = store_decimal(thd, field, text, message);
  } else if (field->real_type() == MYSQL_TYPE_VARCHAR || field->flags & BLOB_FLAG ||
             field->type_handler() == &type_handler_string || field->type_handler() == &type_handler_varchar) {
    fit = store_string(thd, field, text, message);
  } else {
    const bool is_text = field->flags & (ENUM_FLAG | SET_FLAG) || field->type() == MYSQL_TYPE_BIT;
    int lost = field->store(text.data(), text.size(), is_text ? field->charset() : &my_charset_latin1);
    if (lost != 0 && !is_text && field->type() == MYSQL_TYPE_STRING && text.size() == field->pack_length()) {
      // UUID and INET6 may also be given as the bytes they are stored as.
      lost = field->store(text.data(), text.size(), &my_charset_bin);
      if (lost == 0) warnings = thd->get_stmt_da()->current_statement_warn_count();
    }
    const bool cut = end_was_cut(field, text);
    const bool warned = lost != 0 || thd->get_stmt_da()->current_statement_warn_count() != warnings || thd->is_error();
    if (cut && lost != 1 && !thd->is_error()) {
      fit = text.front() == '-' ? Fit::above : Fit::below;
    } else if (warned) {
      fit = Fit::unfit;
      message = thd->is_error()
                    ? thd->get_stmt_da()->message()
                    : "Incorrect value: '" + std::string(text) + "' for column '" + field->field_name.str + "'";
    }
  }
  thd->count_cuted_fields = counting;
  if (thd->get_stmt_da()->current_statement_warn_count() != 0) thd->get_stmt_da()->clear_warning_info(thd->query_id);
  if (thd->is_error()) thd->clear_error(true);
  return fit;
}

}  // namespace postern::mariadb
