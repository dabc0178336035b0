#include "engine/mariadb/basics/server.h"

#include <cstring>

#include "engine/mariadb/hosted/planned/forms/known_functions.h"
#include "engine/mariadb/hosted/planned/planned_form.h"
#include "engine/sql/texts/plain_text.h"
#include "engine/sql/plans/plan_values.h"

namespace postern::mariadb {
namespace {

/// Whether such a column may hold it exactly.
bool is_of_its_kind(const Value &value, ValueUse use) {
  const bool is_bytes = value.kind() == Value::Kind::bytes;
  const bool is_text = is_bytes && value.spelling() == Value::Spelling::text;
  Bytes inside;
  const bool is_written = is_bytes && value.spelling() == Value::Spelling::real;
  const sql::Written kind = is_written ? sql::written(value.bytes(), inside) : sql::Written::number;
  int64_t number = 0;
  switch (use) {
    case ValueUse::integer:
      return !value.is_null() && (!is_bytes || is_text || sql::is_integer_as_written(value, number));
    case ValueUse::decimal: return !value.is_null() && (!is_bytes || sql::is_decimal(value));
    case ValueUse::text:
      return is_text || kind == sql::Written::unicode || (is_bytes && value.spelling() == Value::Spelling::binary);
    case ValueUse::time: return is_text || kind == sql::Written::date || kind == sql::Written::timestamp;
    case ValueUse::uuid: return is_text && sql::is_plain_uuid(value.bytes());
    case ValueUse::sum: return !value.is_null() && !is_bytes;
    case ValueUse::shapes:
    case ValueUse::limit:
    case ValueUse::offset: break;
  }
  return true;
}

bool is_small(const Value &number) {
  if (number.kind() == Value::Kind::natural) return number.natural() < static_cast<uint64_t>(sum_operand_end);
  return number.integer() > -sum_operand_end && number.integer() < sum_operand_end;
}

/// As it stands: one that is written as something else has other bytes.
bool has_bytes(const Value &value, uint32_t count) {
  return value.kind() == Value::Kind::bytes && value.bytes().size() == count &&
         (value.spelling() == Value::Spelling::text || value.spelling() == Value::Spelling::binary);
}

sql::LiteralRules literal_rules_of(const THD *thd) {
  const CHARSET_INFO &client = *thd->variables.character_set_client;
  return {.any_byte = client.mbmaxlen == 1 || std::strncmp(client.cs_name.str, "utf8", 4) == 0,
          .backslash_escapes = (thd->variables.sql_mode & MODE_NO_BACKSLASH_ESCAPES) == 0};
}

}  // namespace

/// A literal in a sum, but no parameter, may be something else than an integer. A BINARY column pads what is shorter.
bool PlannedForm::shapes(size_t at, const Value &value) const {
  const ValuePlace &place = places_[at];
  if (place.use == ValueUse::sum) return parts_.literals && value.kind() == Value::Kind::bytes;
  return place.use == ValueUse::shapes || (place.bytes != 0 && !has_bytes(value, place.bytes));
}

/// The values that shape the plan, in a form to be compared. False: one of them cannot be written.
bool PlannedForm::shape_of(std::span<const Value> values, std::string &shape) const {
  shape.clear();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!shapes(i, values[i])) {
      if (!add_class(values, i, shape)) return false;
      continue;
    }
    const Value &value = values[i];
    shape += static_cast<char>(static_cast<int>(value.kind()) * 8 + static_cast<int>(value.spelling()));
    switch (value.kind()) {
      case Value::Kind::null: return false;
      case Value::Kind::integer: shape += std::to_string(value.integer()); break;
      case Value::Kind::natural: shape += std::to_string(value.natural()); break;
      case Value::Kind::bytes:
        shape.append(std::to_string(value.bytes().size())).append(1, ':').append(value.bytes());
        break;
    }
  }
  return true;
}

/// Adds the class of a varying value to the shape, because some classes need plans of their own. False: the value has
/// none.
bool PlannedForm::add_class(std::span<const Value> values, size_t at, std::string &shape) const {
  const Value &value = values[at];
  if (places_[at].use == ValueUse::limit) {
    const std::optional<uint64_t> rows = limit_in(values);
    if (rows) shape.append(1, 'L').append(std::to_string(sql::limit_class(*rows)));
    return rows.has_value();
  }
  if (!is_of_its_kind(value, places_[at].use)) return false;
  if (places_[at].use == ValueUse::sum) {
    if (!parts_.literals && !is_small(value)) return false;
    shape += value.kind() == Value::Kind::natural ? 'n' : 's';
  }
  const bool is_decimal = places_[at].use == ValueUse::decimal;
  if (is_decimal || places_[at].use == ValueUse::integer)
    shape += sql::is_beyond(value) ? 'U' : is_decimal && sql::is_decimal(value) ? 'D' : 'i';
  if (parts_.values[at].as != PlacedValue::As::pattern) return true;
  // One as it is written begins with a word.
  if (value.kind() != Value::Kind::bytes || value.bytes().empty() || value.spelling() == Value::Spelling::real)
    return false;
  // Only a pattern with a beginning is a range.
  shape += value.bytes()[0] == '%' || value.bytes()[0] == '_' ? '%' : 'P';
  return true;
}

/// Rows up to the last one that is wanted.
std::optional<uint64_t> PlannedForm::limit_in(std::span<const Value> values) const {
  uint64_t rows = 0;
  uint64_t offset = 0;
  for (size_t i = 0; i < values.size(); ++i)
    if ((places_[i].use == ValueUse::limit && !sql::is_row_count(values[i], rows)) ||
        (places_[i].use == ValueUse::offset && !sql::is_row_count(values[i], offset)))
      return std::nullopt;
  // With LIMIT 0 the server answers before reading.
  if (rows == 0) return std::nullopt;
  return rows + offset;
}

/// The text with the values that shape the plan, or with all; empty: one of them cannot be written.
std::string PlannedForm::text_with(std::span<const Value> values, const THD *thd, bool all) const {
  std::string text;
  size_t from = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!all && !shapes(i, values[i])) continue;
    text.append(parts_.text, from, parts_.values[i].at - from);
    from = parts_.values[i].at + 1;
    if (!sql::append_literal(text, values[i], literal_rules_of(thd))) return {};
  }
  return text.append(parts_.text, from);
}

/// Those that vary. Good until the next call on this thread.
std::span<const Value> PlannedForm::values_of(const Statement &statement) const {
  static thread_local std::vector<Value> values;
  values.clear();
  for (size_t i = 0; i < statement.values.size(); ++i)
    if (!shapes(i, statement.values[i])) values.push_back(statement.values[i]);
  return values;
}

}  // namespace postern::mariadb
