#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/reads/computed_value.h"

#include <tztime.h>

#include <cstdlib>

#include "engine/mariadb/hosted/reads/exact_value.h"

namespace postern::mariadb {
namespace {

/// Integers below it are exact as doubles, which some clients bind in place of integers.
constexpr int64_t exact_end = int64_t{1} << 53;
constexpr int64_t interval_end = int64_t{1} << 31;

struct Number {
  int64_t value = 0;
  bool is_natural = false;
};

bool is_same_as_double(int64_t number) {
  return number > -exact_end && number < exact_end;
}

bool number_of(const FormValue &place, std::span<const Value> arguments, Number &number);

bool sum_of(const FormValue &place, std::span<const Value> arguments, Number &sum) {
  Number left;
  Number right;
  const bool is_pair = place.sum != FormValue::Sum::negate;
  if (!number_of(place.terms[0], arguments, left) || (is_pair && !number_of(place.terms[1], arguments, right)))
    return false;
  bool overflows = false;
  switch (place.sum) {
    case FormValue::Sum::add: sum.value = left.value + right.value; break;
    case FormValue::Sum::subtract: sum.value = left.value - right.value; break;
    case FormValue::Sum::multiply: overflows = __builtin_mul_overflow(left.value, right.value, &sum.value); break;
    case FormValue::Sum::negate: sum.value = -left.value; break;
  }
  // With doubles it would be a negative zero.
  const bool has_negative = left.value < 0 || right.value < 0 || place.sum == FormValue::Sum::negate;
  const bool may_be_signed = sum.value == 0 && has_negative && place.sum >= FormValue::Sum::multiply;
  sum.is_natural = is_pair && (left.is_natural || right.is_natural);
  // Whether a negative unsigned result is an error depends on the sql_mode.
  return !overflows && !may_be_signed && is_same_as_double(sum.value) && !(sum.is_natural && sum.value < 0);
}

bool number_of(const FormValue &place, std::span<const Value> arguments, Number &number) {
  if (place.from == FormValue::From::sum) return sum_of(place, arguments, number);
  Value value;
  if (!value_of(place, arguments, value)) return false;
  switch (value.kind()) {
    case Value::Kind::integer: number = {value.integer(), false}; break;
    case Value::Kind::natural:
      if (value.natural() >= static_cast<uint64_t>(exact_end)) return false;
      number = {static_cast<int64_t>(value.natural()), true};
      break;
    case Value::Kind::null:
    case Value::Kind::bytes: return false;
  }
  return is_same_as_double(number.value);
}

ulong fraction_of(THD *thd, uint8_t digits) {
  if (digits == 0) return 0;
  const ulong part = thd->query_start_sec_part();
  return part - static_cast<ulong>(my_time_fraction_remainder(part, digits));
}

INTERVAL interval_of(interval_type unit, int64_t number, bool backwards) {
  INTERVAL interval{};
  const auto amount = static_cast<ulong>(std::abs(number));
  interval.neg = (number < 0) != backwards;
  switch (unit) {
    case INTERVAL_YEAR: interval.year = amount; break;
    case INTERVAL_QUARTER: interval.month = amount * 3; break;
    case INTERVAL_MONTH: interval.month = amount; break;
    case INTERVAL_WEEK: interval.day = amount * 7; break;
    case INTERVAL_DAY: interval.day = amount; break;
    case INTERVAL_HOUR: interval.hour = amount; break;
    case INTERVAL_MINUTE: interval.minute = amount; break;
    default: interval.second = amount; break;
  }
  return interval;
}

bool time_of(const FormValue &place, std::span<const Value> arguments, MYSQL_TIME &time) {
  THD *const thd = current_thd;
  const FormTime::What what = place.time.what;
  const bool is_utc = what == FormTime::What::utc || what == FormTime::What::utc_date;
  (is_utc ? my_tz_UTC : thd->variables.time_zone)->gmt_sec_to_TIME(&time, thd->query_start());
  time.second_part = fraction_of(thd, place.time.digits);
  if (what == FormTime::What::date || what == FormTime::What::utc_date) {
    time.hour = time.minute = time.second = 0;
    time.time_type = MYSQL_TIMESTAMP_DATE;
  }
  if (place.terms.empty()) return true;
  Number number;
  if (!number_of(place.terms[0], arguments, number) || std::abs(number.value) >= interval_end) return false;
  const auto unit = static_cast<interval_type>(place.time.unit);
  if (unit > INTERVAL_DAY) time.time_type = MYSQL_TIMESTAMP_DATETIME;
  return !date_add_interval(thd, &time, unit, interval_of(unit, number.value, place.time.backwards), false);
}

}  // namespace

bool computed_number(const FormValue &place, std::span<const Value> arguments, Value &value) {
  if (place.from == FormValue::From::seconds) {
    value = Value::of_integer(static_cast<int64_t>(current_thd->query_start()));
    return true;
  }
  Number sum;
  if (!sum_of(place, arguments, sum)) return false;
  value = sum.is_natural ? Value::of_natural(static_cast<uint64_t>(sum.value)) : Value::of_integer(sum.value);
  return true;
}

bool integer_of_variable(const std::string &name, Value &value) {
  THD *const thd = current_thd;
  const auto *const key = reinterpret_cast<const uchar *>(name.data());
  const auto *const variable =
      reinterpret_cast<const user_var_entry *>(my_hash_search(&thd->user_vars, key, name.size()));
  if (variable == nullptr || variable->type_handler()->result_type() != INT_RESULT) return false;
  bool is_null = false;
  const longlong number = variable->val_int(&is_null);
  const bool is_natural = variable->type_handler()->is_unsigned();
  value = is_natural ? Value::of_natural(static_cast<uint64_t>(number)) : Value::of_integer(number);
  return !is_null;
}

/// Both are unsigned, as in the server.
Value number_of_session(FormValue::From which) {
  const THD *const thd = current_thd;
  return Value::of_natural(which == FormValue::From::told_id ? thd->first_successful_insert_id_in_prev_stmt
                                                             : thd->variables.pseudo_thread_id);
}

/// The server stores NOW() in a TIMESTAMP without a time zone; conversion back would be ambiguous in a repeated hour.
bool store_time(Field &field, const FormValue &place, std::span<const Value> arguments) {
  field.set_notnull();
  if (place.time.what == FormTime::What::now && place.terms.empty() && field.type() == MYSQL_TYPE_TIMESTAMP) {
    THD *const thd = current_thd;
    return field.store_timestamp(thd->query_start(), fraction_of(thd, place.time.digits)) == 0;
  }
  MYSQL_TIME time;
  return time_of(place, arguments, time) && field.store_time_dec(&time, place.time.digits) == 0;
}

bool store_time_exactly(Field &field, Exact exact, const FormValue &place, std::span<const Value> arguments) {
  MYSQL_TIME time;
  if (!time_of(place, arguments, time)) return false;
  const bool is_date = time.time_type == MYSQL_TIMESTAMP_DATE;
  if (exact != Exact::datetime && (exact != Exact::date || !is_date)) return false;
  if (exact == Exact::datetime && my_time_fraction_remainder(time.second_part, field.decimals()) != 0) return false;
  field.set_notnull();
  return field.store_time_dec(&time, TIME_SECOND_PART_DIGITS) == 0;
}

}  // namespace postern::mariadb
