#include "engine/mariadb/basics/server.h"

#include <string_view>

#include "engine/mariadb/hosted/reads/recogniser.h"

namespace postern::mariadb {
namespace {

constexpr int depth_max = 4;

std::string_view name_of(const Item_func &function) {
  const LEX_CSTRING name = function.func_name_cstring();
  return {name.str, name.length};
}

bool read_time(const Item_func &function, FormValue &to) {
  using What = FormTime::What;
  const std::string_view name = name_of(function);
  if (function.argument_count() != 0) return false;
  to.from = FormValue::From::time;
  to.time = {};
  if (name == "unix_timestamp") to.from = FormValue::From::seconds;
  else if (name == "current_timestamp") to.time.what = What::now;
  else if (name == "utc_timestamp") to.time.what = What::utc;
  else if (name == "curdate") to.time.what = What::date;
  else if (name == "utc_date") to.time.what = What::utc_date;
  else return false;
  if (to.from == FormValue::From::seconds || to.time.what >= What::date) return true;
  to.time.digits = static_cast<uint8_t>(function.decimals);
  return function.decimals <= TIME_SECOND_PART_DIGITS;
}

bool read_variable(Item_func &function, FormValue &to) {
  if (function.functype() != Item_func::GUSERVAR_FUNC) return false;
  const LEX_CSTRING name = static_cast<Item_func_get_user_var &>(function).get_name();
  to.from = FormValue::From::variable;
  to.text.assign(name.str, name.length);
  return true;
}

bool read_number_of_session(const Item_func &function, FormValue &to) {
  const std::string_view name = name_of(function);
  if (function.argument_count() != 0) return false;
  if (name == "last_insert_id") to.from = FormValue::From::told_id;
  else if (name == "connection_id") to.from = FormValue::From::session;
  else return false;
  return true;
}

}  // namespace

bool Recogniser::any_value(Item *item, FormValue &to, int depth) {
  if (++values_ > plan_values_max || depth == depth_max) return false;
  if (value(item, to)) return true;
  if (item->type() != Item::FUNC_ITEM) return false;
  auto &function = *static_cast<Item_func *>(item);
  if (name_of(function) == "date_add_interval") return read_moment(function, to, depth);
  return read_variable(function, to) || read_number_of_session(function, to) || read_time(function, to) ||
         read_sum(function, to, depth);
}

/// A term of a sum, or the number of an interval.
bool Recogniser::number(Item *item, FormValue &to, int depth) {
  return any_value(item, to, depth + 1) && to.from != FormValue::From::text && to.from != FormValue::From::time;
}

bool Recogniser::read_sum(Item_func &function, FormValue &to, int depth) {
  using Sum = FormValue::Sum;
  const std::string_view name = name_of(function);
  const uint count = function.argument_count();
  if (name == "+") to.sum = Sum::add;
  else if (name == "-") to.sum = count == 1 ? Sum::negate : Sum::subtract;
  else if (name == "*") to.sum = Sum::multiply;
  else return false;
  if (count != (to.sum == Sum::negate ? 1U : 2U)) return false;
  to.from = FormValue::From::sum;
  to.terms.resize(count);
  for (uint i = 0; i < count; ++i)
    if (!number(function.arguments()[i], to.terms[i], depth)) return false;
  return true;
}

/// NOW() and an interval of whole units.
bool Recogniser::read_moment(Item_func &function, FormValue &to, int depth) {
  const auto &moment = static_cast<Item_date_add_interval &>(function);
  Item **const arguments = function.arguments();
  if (moment.int_type > INTERVAL_SECOND || arguments[0]->type() != Item::FUNC_ITEM) return false;
  if (!read_time(*static_cast<Item_func *>(arguments[0]), to) || to.from != FormValue::From::time) return false;
  to.time.unit = static_cast<uint8_t>(moment.int_type);
  to.time.backwards = moment.date_sub_interval;
  to.terms.resize(1);
  return number(arguments[1], to.terms[0], depth);
}

}  // namespace postern::mariadb
