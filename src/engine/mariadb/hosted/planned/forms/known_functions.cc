#include "engine/mariadb/hosted/planned/forms/known_functions.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace postern::mariadb {
namespace {

/// Functions that give the same for the same arguments in the same context (PlanContext), without a trace elsewhere.
constexpr std::string_view sums[] = {"+", "-", "*"};
constexpr int depth_max = 8;
constexpr std::string_view functions_known[] = {
    "=", "<=>", "<>", "<", "<=", ">", ">=", "and", "or", "not", "xor", "isnull", "isnotnull", "istrue", "isfalse",
    "isnottrue", "isnotfalse", "between", "in", " IN ", "like", "if", "ifnull", "nullif", "coalesce", "case", "+", "-",
    "*", "/", "DIV", "%", "MOD", "abs", "ceiling", "floor", "round", "truncate", "sign", "greatest", "least", "concat",
    "concat_ws", "ucase", "lcase", "upper", "lower", "length", "octet_length", "char_length", "substr", "substring",
    "left", "right", "trim", "ltrim", "rtrim", "replace", "reverse", "locate", "instr", "year", "month", "dayofmonth",
    "quarter", "hour", "minute", "second", "to_days", "cast_as_date", "cast_as_char",
    // Numbers and bits.
    "cast_as_signed", "cast_as_unsigned", "decimal_typecast", "double_typecast", "|", "&", "^", "~", "<<", ">>",
    "bit_count", "sqrt", "pow", "exp", "ln", "log2", "log10", "crc32", "conv",
    // Texts.
    "field", "find_in_set", "elt", "substring_index", "lpad", "rpad", "repeat", "space", "insert", "ascii", "ord",
    "hex", "unhex", "md5", "sha", "sha2", "strcmp", "bit_length", "to_base64", "from_base64",
    // Dates; none gives a TIME, which becomes a date by that of today.
    "date_add_interval", "date_format", "dayofweek", "weekday", "dayofyear", "dayname", "monthname", "week", "yearweek",
    "last_day", "makedate", "from_days", "timestampdiff", "extract", "unix_timestamp", "from_unixtime",
    "cast_as_datetime",
    // JSON, in columns and texts.
    "json_extract", "json_unquote", "json_value", "json_contains", "json_length", "json_valid"};

std::string_view name_of(const Item_func &function) {
  const LEX_CSTRING name = function.func_name_cstring();
  return {name.str, name.length};
}

/// Of parameters and small integers.
bool is_small_sum(LEX &lex, Item &item, int depth) {
  List_iterator_fast<Item_param> params(lex.param_list);
  while (const Item *one = params++)
    if (one == &item) return true;
  if (item.type() == Item::CONST_ITEM) {
    if (!item.basic_const_item() || item.cmp_type() != INT_RESULT) return false;
    const longlong number = item.val_int();
    return number > -sum_operand_end && number < sum_operand_end;
  }
  if (item.type() != Item::FUNC_ITEM || depth == depth_max) return false;
  const auto &function = static_cast<Item_func &>(item);
  const std::string_view name = name_of(function);
  Item **const arguments = function.arguments();
  return (name == "+" || name == "-") &&
         std::all_of(arguments, arguments + function.argument_count(),
                     [&lex, depth](Item *one) { return is_small_sum(lex, *one, depth + 1); });
}

constexpr std::string_view times[] = {"current_timestamp", "utc_timestamp", "curdate",       "utc_date",
                                      "curtime",           "utc_time",      "unix_timestamp"};
constexpr std::string_view numbers[] = {"connection_id", "last_insert_id"};
constexpr std::string_view texts[] = {"database", "user", "current_user"};

}  // namespace

bool is_known(const Item_func &function) {
  return std::ranges::find(functions_known, name_of(function)) != std::end(functions_known);
}

bool compares_two(const Item_func &function) {
  switch (function.functype()) {
    case Item_func::EQ_FUNC:
    case Item_func::NE_FUNC:
    case Item_func::LT_FUNC:
    case Item_func::LE_FUNC:
    case Item_func::GT_FUNC:
    case Item_func::GE_FUNC:
    case Item_func::EQUAL_FUNC: return true;
    default: return false;
  }
}

bool calculates_with(LEX &lex, ParsedText parsed, Item_func &function, uint argument) {
  const std::string_view name = name_of(function);
  if (name == "date_add_interval") return argument == 1;
  if (std::ranges::find(sums, name) == std::end(sums)) return false;
  return parsed == ParsedText::form || is_small_sum(lex, function, 0);
}

bool is_named(const Item_func &function, std::string_view name) {
  return name_of(function) == name;
}

SessionFunction session_function(const Item &item) {
  if (item.type() != Item::FUNC_ITEM) return SessionFunction::none;
  const auto &function = static_cast<const Item_func &>(item);
  if (function.argument_count() != 0) return SessionFunction::none;
  const auto is_own = [&](std::string_view name) { return is_named(function, name); };
  if (tells_time(function) || std::ranges::any_of(numbers, is_own)) return SessionFunction::number;
  return std::ranges::any_of(texts, is_own) ? SessionFunction::text : SessionFunction::none;
}

bool tells_time(const Item_func &function) {
  return function.argument_count() == 0 &&
         std::ranges::any_of(times, [&](std::string_view name) { return is_named(function, name); });
}

}  // namespace postern::mariadb
