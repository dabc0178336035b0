#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/tables/convert.h"

#include <cmath>
#include <limits>

#include "engine/rows/integer_type.h"

namespace postern::mariadb {

using sql::fit_of;

namespace {

Fit store_integer(Field *field, Bytes text, sql::IntegerType type) {
  sql::Number number;
  int64_t value = 0;
  if (!sql::parse_number(text, number)) return Fit::unfit;
  const Fit fit = sql::fit_integer(number, type, value);
  field->store(value, type.is_unsigned);
  return fit;
}

bool is_well_formed(CHARSET_INFO *charset, Bytes text) {
  return Well_formed_prefix(charset, text.data(), text.size(), text.size()).length() == text.size();
}

Fit store_string(THD *thd, Field *field, Bytes text) {
  CHARSET_INFO *const charset = field->charset();
  if (field->store(text.data(), text.size(), charset) == 0) return Fit::exact;
  if (!is_well_formed(charset, text)) return Fit::unfit;
  thd->clear_error(true);
  return fit_of(compare_as_text(field, text), 0);
}

bool is_blank(Bytes text) {
  return text.find_first_not_of(' ') == Bytes::npos;
}

/// The number at the beginning of the text, 0 if there is none, as in SQL; `whole`: only blanks follow it.
my_decimal leading_decimal(Bytes text, bool &whole) {
  my_decimal number;
  const char *end = text.data();
  const int lost = str2my_decimal(0, text.data(), text.size(), &my_charset_latin1, &number, &end);
  whole = (lost & ~E_DEC_TRUNCATED) == 0 && is_blank(text.substr(static_cast<size_t>(end - text.data())));
  return number;
}

double leading_double(Bytes text, bool &whole) {
  char *end = nullptr;
  int error = 0;
  const double number = my_charset_latin1.strntod(const_cast<char *>(text.data()), text.size(), &end, &error);
  whole = error == 0 && end != text.data() && is_blank(text.substr(static_cast<size_t>(end - text.data())));
  return number;
}

Fit store_decimal(THD *thd, Field *field, const my_decimal &given) {
  field->store_decimal(&given);  // rounds, which is no error to it
  thd->clear_error(true);
  my_decimal buffer;
  return fit_of(my_decimal_cmp(field->val_decimal(&buffer), &given), 0);
}

/// A FLOAT stands for its printed text, not for its further digits as a DOUBLE.
Fit store_real(Field *field, Bytes text) {
  bool whole = false;
  const double given = leading_double(text, whole);
  if (!whole || field->store(given) != 0) return Fit::unfit;
  const bool is_float = field->type() == MYSQL_TYPE_FLOAT;
  return fit_of(field->val_real(), is_float ? static_cast<double>(static_cast<float>(given)) : given);
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

/// Conversions warn of losses only when the session counts warnings; the warnings are dropped here.
class Counting {
 public:
  Counting(THD *thd, enum_check_fields how) : thd_(thd), before_(thd->count_cuted_fields) {
    thd_->count_cuted_fields = how;
  }
  ~Counting() {
    thd_->count_cuted_fields = before_;
    if (thd_->get_stmt_da()->current_statement_warn_count() != 0)
      thd_->get_stmt_da()->clear_warning_info(thd_->query_id);
    if (thd_->is_error()) thd_->clear_error(true);
  }
  Counting(const Counting &) = delete;
  Counting &operator=(const Counting &) = delete;

 private:
  THD *const thd_;
  const enum_check_fields before_;
};

bool is_character(const Field *field) {
  return field->real_type() == MYSQL_TYPE_VARCHAR || field->flags & BLOB_FLAG ||
         field->type_handler() == &type_handler_string || field->type_handler() == &type_handler_varchar;
}

/// Every other type.
Fit store_special(THD *thd, Field *field, Bytes text) {
  ulong warnings = thd->get_stmt_da()->current_statement_warn_count();
  const bool is_text = field->flags & (ENUM_FLAG | SET_FLAG) || field->type() == MYSQL_TYPE_BIT;
  int lost = field->store(text.data(), text.size(), is_text ? field->charset() : &my_charset_latin1);
  if (lost != 0 && !is_text && field->type() == MYSQL_TYPE_STRING && text.size() == field->pack_length()) {
    // UUID and INET6 may also be given as their stored bytes. A value that was lost left NULL.
    field->set_notnull();
    lost = field->store(text.data(), text.size(), &my_charset_bin);
    if (lost == 0) warnings = thd->get_stmt_da()->current_statement_warn_count();
  }
  const bool cut = end_was_cut(field, text);
  const bool warned = lost != 0 || thd->get_stmt_da()->current_statement_warn_count() != warnings || thd->is_error();
  if (cut && lost != 1 && !thd->is_error()) return text.front() == '-' ? Fit::above : Fit::below;
  return warned ? Fit::unfit : Fit::exact;
}

// --- places of text that is no value ---------------------------------------------------------------------------------

Fit place_integer(Field *field, Bytes text, sql::IntegerType type) {
  bool whole = false;
  int64_t value = 0;
  const Fit fit = sql::fit_bound(leading_double(text, whole), type, value);
  field->store(value, type.is_unsigned);
  return fit;
}

Fit place_real(Field *field, Bytes text) {
  bool whole = false;
  const double given = leading_double(text, whole);
  if (field->type() == MYSQL_TYPE_DOUBLE) {
    float8store(field->ptr, given);
    return Fit::exact;
  }
  const double most = std::numeric_limits<float>::max();
  const auto nearest = static_cast<float>(given > most ? most : given < -most ? -most : given);
  float4store(field->ptr, nearest);
  return fit_of(static_cast<double>(nearest), given);
}

/// SQL compares with the year that it would store, if valid, otherwise with the number.
Fit place_year(THD *thd, Field *field, Bytes text) {
  thd->count_cuted_fields = CHECK_FIELD_IGNORE;
  if (field->store(text.data(), text.size(), &my_charset_latin1) == 0) return Fit::exact;
  bool whole = false;
  const double given = leading_double(text, whole);
  const double year = given < 1901 ? 0 : given > 2155 ? 2155 : std::floor(given);
  *field->ptr = static_cast<uchar>(year == 0 ? 0 : year - 1900);
  return fit_of(year, given);
}

/// Stores a date or time truncated to the column's precision, whatever the session's rules for dates.
Fit place_moment(THD *thd, Field *field, const MYSQL_TIME &given, date_mode_t how) {
  const sql_mode_t mode = thd->variables.sql_mode;
  thd->variables.sql_mode = MODE_INVALID_DATES;
  field->store_time_dec(&given, TIME_SECOND_PART_DIGITS);
  thd->variables.sql_mode = mode;
  MYSQL_TIME stored;
  set_zero_time(&stored, given.time_type);
  field->get_date(&stored, how);
  return fit_of(pack_time(&stored), pack_time(&given));
}

bool is_real_date(const MYSQL_TIME &date) {
  if (date.month == 0 || date.day == 0) return false;
  const bool leap_day = date.month == 2 && date.day == 29 && calc_days_in_year(date.year) == 366;
  return date.day <= days_in_month[date.month - 1] || leap_day;
}

/// A TIMESTAMP cannot hold invalid dates, and has a limited range of years.
Fit place_timestamp(THD *thd, Field *field, const MYSQL_TIME &given, date_mode_t how) {
  MYSQL_TIME next = given;
  if (!is_real_date(given)) {
    next.month += given.month == 0 || given.day != 0 ? 1 : 0;
    next.day = 1;
    next.hour = next.minute = next.second = 0;
    next.second_part = 0;
  }
  uint error = 0;
  const bool is_late = TIME_to_timestamp(thd, &next, &error) == 0 && error != 0 && given.year > 1970;
  if (is_late) {
    field->store_timestamp_dec({TIMESTAMP_MAX_VALUE, TIME_MAX_SECOND_PART}, TIME_SECOND_PART_DIGITS);
    return Fit::below;
  }
  place_moment(thd, field, next, how);
  MYSQL_TIME stored;
  set_zero_time(&stored, given.time_type);
  field->get_date(&stored, how);
  return fit_of(pack_time(&stored), pack_time(&given));
}

/// The date or time in the text; without one, zero of this type.
template <class Options>
MYSQL_TIME moment_in(THD *thd, Bytes text, const Options &how, enum_mysql_timestamp_type type) {
  Temporal::Warn warnings;
  const Temporal_hybrid read(thd, &warnings, text.data(), text.size(), &my_charset_latin1, how);
  MYSQL_TIME moment;
  set_zero_time(&moment, type);
  if (read.is_valid_temporal()) read.copy_valid_value_to_mysql_time(&moment);
  return moment;
}

/// SQL compares with the date and time it reads from the text; without one, with zero.
Fit place_datetime(THD *thd, Field *field, Bytes text) {
  const Datetime::Options_cmp how(thd);
  MYSQL_TIME given = moment_in(thd, text, how, MYSQL_TIMESTAMP_DATETIME);
  given.time_type = MYSQL_TIMESTAMP_DATETIME;
  if (field->type() == MYSQL_TYPE_TIMESTAMP) return place_timestamp(thd, field, given, how);
  return place_moment(thd, field, given, how);
}

Fit place_time(THD *thd, Field *field, Bytes text) {
  const Time::Options_cmp how(thd);
  MYSQL_TIME given = moment_in(thd, text, how, MYSQL_TIMESTAMP_TIME);
  if (given.time_type != MYSQL_TIMESTAMP_TIME) {
    int lost = 0;
    const Time time_of_day(&lost, &given, 0);
    given = *time_of_day.get_mysql_time();
  }
  return place_moment(thd, field, given, how);
}

}  // namespace

int compare_as_text(Field *field, Bytes text) {
  String buffer;
  const String *const ours = field->val_str(&buffer);
  return field->charset()->strnncollsp(ours->ptr(), ours->length(), text.data(), text.size());
}

Fit store(THD *thd, Field *field, Bytes text) {
  field->set_notnull();
  if (const sql::IntegerType type = integer_type(field); type.bytes != 0) return store_integer(field, text, type);
  const Counting counting(thd, CHECK_FIELD_WARN);
  if (field->result_type() == DECIMAL_RESULT) {
    bool whole = false;
    const my_decimal given = leading_decimal(text, whole);
    return whole ? store_decimal(thd, field, given) : Fit::unfit;
  }
  if (field->result_type() == REAL_RESULT) return store_real(field, text);
  return is_character(field) ? store_string(thd, field, text) : store_special(thd, field, text);
}

Fit place(THD *thd, Field *field, Bytes text) {
  const Fit fit = store(thd, field, text);
  const bool is_list = field->flags & (ENUM_FLAG | SET_FLAG);
  if (fit == Fit::exact && (is_list || field->type_handler() == &type_handler_string)) {
    // Padding and trimming do not matter for `=`, but for order. In an ENUM or SET only names are ordered, not the
    // numbers that it also accepts.
    const int order = compare_as_text(field, text);
    return is_list && order != 0 ? Fit::as_text : fit_of(order, 0);
  }
  if (fit != Fit::unfit) return fit;
  if (const sql::IntegerType type = integer_type(field); type.bytes != 0) return place_integer(field, text, type);
  const Counting counting(thd, CHECK_FIELD_WARN);
  bool whole = false;
  switch (field->type()) {
    case MYSQL_TYPE_NEWDECIMAL:
    case MYSQL_TYPE_DECIMAL: return store_decimal(thd, field, leading_decimal(text, whole));
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE: return place_real(field, text);
    case MYSQL_TYPE_YEAR: return place_year(thd, field, text);
    case MYSQL_TYPE_DATE:
    case MYSQL_TYPE_DATETIME:
    case MYSQL_TYPE_TIMESTAMP: return place_datetime(thd, field, text);
    case MYSQL_TYPE_TIME: return place_time(thd, field, text);
    case MYSQL_TYPE_BIT: return Fit::below;  // more bytes than it has, which store() took for its largest value
    default: return is_list || is_character(field) ? Fit::as_text : Fit::unfit;
  }
}

}  // namespace postern::mariadb
