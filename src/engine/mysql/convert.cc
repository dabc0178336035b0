#include "engine/mysql/server.h"

#include "engine/mysql/convert.h"

#include <cmath>
#include <limits>

#include "engine/mysql/differences.h"
#include "engine/rows/integer_type.h"

namespace postern::mysqld {

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

bool is_well_formed(const CHARSET_INFO *charset, Bytes text) {
  int error = 0;
  const size_t good =
      charset->cset->well_formed_len(charset, text.data(), text.data() + text.size(), text.size(), &error);
  return error == 0 && good == text.size();
}

Fit store_string(THD *thd, Field *field, Bytes text) {
  if (field->store(text.data(), text.size(), field->charset()) == TYPE_OK) return Fit::exact;
  if (!is_well_formed(field->charset(), text)) return Fit::unfit;
  thd->clear_error();
  return fit_of(compare_as_text(field, text), 0);
}

bool is_blank(Bytes text) {
  return text.find_first_not_of(' ') == Bytes::npos;
}

/// The number at the beginning of the text, 0 if there is none, as in SQL; `whole`: only blanks follow it.
my_decimal leading_decimal(Bytes text, bool &whole) {
  my_decimal number;
  const char *end = text.data() + text.size();
  const int lost = str2my_decimal(0, text.data(), &number, &end);
  whole = (lost & ~E_DEC_TRUNCATED) == 0 && is_blank(text.substr(static_cast<size_t>(end - text.data())));
  return number;
}

double leading_double(Bytes text, bool &whole) {
  const CHARSET_INFO *const charset = &my_charset_latin1;
  const char *end = nullptr;
  int error = 0;
  const double number = charset->cset->strntod(charset, text.data(), text.size(), &end, &error);
  whole = error == 0 && end != text.data() && is_blank(text.substr(static_cast<size_t>(end - text.data())));
  return number;
}

Fit store_decimal(THD *thd, Field *field, const my_decimal &given) {
  field->store_decimal(&given);  // rounds, which is no error to it
  thd->clear_error();
  my_decimal buffer;
  return fit_of(my_decimal_cmp(field->val_decimal(&buffer), &given), 0);
}

/// A FLOAT stands for its printed text, not for its further digits as a DOUBLE.
Fit store_real(Field *field, Bytes text) {
  bool whole = false;
  const double given = leading_double(text, whole);
  if (!whole || field->store(given) != TYPE_OK) return Fit::unfit;
  const bool is_float = field->type() == MYSQL_TYPE_FLOAT;
  return fit_of(field->val_real(), is_float ? static_cast<double>(static_cast<float>(given)) : given);
}

bool has_digit_but_zero(Bytes text) {
  return text.find_first_of("123456789") != Bytes::npos;
}

/// Whether the text of a date or time has more at its end than the column: digits of a fraction finer than its own, or
/// a DATE the time of day.
bool has_finer_end(const Field &field, Bytes text) {
  if (!is_temporal_type(field.type())) return false;
  if (field.type() == MYSQL_TYPE_DATE) {
    const size_t day_end = text.find_first_of(" T");
    return day_end != Bytes::npos && has_digit_but_zero(text.substr(day_end));
  }
  const size_t point = text.rfind('.');
  return point != Bytes::npos && text.size() - point - 1 > field.decimals() &&
         has_digit_but_zero(text.substr(point + 1 + field.decimals()));
}

/// Conversions warn of losses only when the session counts warnings; the warnings are dropped here.
class Counting {
 public:
  explicit Counting(THD *thd) : thd_(thd), before_(thd->check_for_truncated_fields) {
    thd_->check_for_truncated_fields = CHECK_FIELD_WARN;
  }
  ~Counting() {
    thd_->check_for_truncated_fields = before_;
    if (thd_->is_error()) thd_->clear_error();
    if (thd_->get_stmt_da()->current_statement_cond_count() != 0) thd_->get_stmt_da()->reset_condition_info(thd_);
  }
  Counting(const Counting &) = delete;
  Counting &operator=(const Counting &) = delete;

 private:
  THD *const thd_;
  const enum_check_fields before_;
};

bool is_list(const Field &field) {
  return field.real_type() == MYSQL_TYPE_ENUM || field.real_type() == MYSQL_TYPE_SET;
}

/// Every other type.
Fit store_special(THD *thd, Field *field, Bytes text) {
  const ulong warnings = thd->get_stmt_da()->current_statement_cond_count();
  // MySQL rounds digits finer than the column's, without a warning.
  if (has_finer_end(*field, text)) return Fit::unfit;
  const bool is_text = is_list(*field) || field->type() == MYSQL_TYPE_BIT;
  const type_conversion_status lost =
      field->store(text.data(), text.size(), is_text ? field->charset() : &my_charset_latin1);
  const bool warned =
      lost != TYPE_OK || thd->get_stmt_da()->current_statement_cond_count() != warnings || thd->is_error();
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
  const double most = field->type() == MYSQL_TYPE_FLOAT ? static_cast<double>(std::numeric_limits<float>::max())
                                                        : std::numeric_limits<double>::max();
  field->store(given > most ? most : given < -most ? -most : given);
  return fit_of(field->val_real(), given);
}

Fit place_year(Field *field, Bytes text) {
  bool whole = false;
  const double given = leading_double(text, whole);
  const double year = given < 1901 ? 0 : given > 2155 ? 2155 : std::floor(given);
  field->store(static_cast<longlong>(year), true);
  return fit_of(year, given);
}

/// A date or time with a finer fraction than the column's lies after the one without that fraction.
Fit place_finer(THD *thd, Field *field, Bytes text) {
  const size_t end = field->type() == MYSQL_TYPE_DATE ? text.find_first_of(" T") : text.rfind('.');
  const size_t kept = field->decimals() == 0 || field->type() == MYSQL_TYPE_DATE ? end : end + 1 + field->decimals();
  if (store_special(thd, field, text.substr(0, kept)) != Fit::exact) return Fit::unfit;
  return text.front() == '-' ? Fit::above : Fit::below;
}

}  // namespace

int compare_as_text(Field *field, Bytes text) {
  String buffer;
  const String *const ours = field->val_str(&buffer);
  const CHARSET_INFO *const charset = field->charset();
  return charset->coll->strnncollsp(charset, pointer_cast<const uchar *>(ours->ptr()), ours->length(),
                                    pointer_cast<const uchar *>(text.data()), text.size());
}

Fit store(THD *thd, Field *field, Bytes text) {
  field->set_notnull();
  if (const sql::IntegerType type = integer_type(field); type.bytes != 0) return store_integer(field, text, type);
  const Counting counting(thd);
  if (field->result_type() == DECIMAL_RESULT) {
    bool whole = false;
    const my_decimal given = leading_decimal(text, whole);
    return whole ? store_decimal(thd, field, given) : Fit::unfit;
  }
  if (field->result_type() == REAL_RESULT) return store_real(field, text);
  return is_text_column(*field) ? store_string(thd, field, text) : store_special(thd, field, text);
}

Fit place(THD *thd, Field *field, Bytes text) {
  const Fit fit = store(thd, field, text);
  if (fit == Fit::exact && (is_list(*field) || field->real_type() == MYSQL_TYPE_STRING)) {
    // Padding and trimming do not matter for `=`, but for order. In an ENUM or SET only names are ordered, not the
    // numbers that it also accepts.
    const int order = compare_as_text(field, text);
    return is_list(*field) && order != 0 ? Fit::as_text : fit_of(order, 0);
  }
  if (fit != Fit::unfit) return fit;
  if (const sql::IntegerType type = integer_type(field); type.bytes != 0) return place_integer(field, text, type);
  const Counting counting(thd);
  bool whole = false;
  switch (field->type()) {
    case MYSQL_TYPE_NEWDECIMAL: return store_decimal(thd, field, leading_decimal(text, whole));
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE: return place_real(field, text);
    case MYSQL_TYPE_YEAR: return place_year(field, text);
    case MYSQL_TYPE_BIT: return Fit::below;  // more bytes than it has, which store() took for its largest value
    default: break;
  }
  if (has_finer_end(*field, text)) return place_finer(thd, field, text);
  return is_list(*field) || is_text_column(*field) ? Fit::as_text : Fit::unfit;
}

}  // namespace postern::mysqld
