#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/reads/exact_value.h"

#include "engine/mariadb/hosted/reads/computed_value.h"
#include "engine/mariadb/hosted/reads/resolve_read.h"
#include "engine/sql/texts/plain_text.h"

namespace postern::mariadb {
namespace {

using sql::Written;

bool store_number(Field &field, const Value &value) {
  if (value.kind() == Value::Kind::natural) return field.store(static_cast<longlong>(value.natural()), true) == 0;
  return field.store(static_cast<longlong>(value.integer()), false) == 0;
}

/// Bytes without a character set compare as bytes with a binary column, but differently with a text.
bool store_text(THD *thd, Field &field, Exact exact, const Value &value) {
  const Bytes text = value.bytes();
  CHARSET_INFO *const charset = field.charset();
  const bool is_binary = value.spelling() == Value::Spelling::binary;
  if (is_binary ? charset != &my_charset_bin : !text_is_same(thd, field, text)) return false;
  const size_t characters = charset->numchars(text.data(), text.data() + text.size());
  if (characters > field.char_length()) return false;
  if (exact == Exact::binary_fixed && characters != field.char_length()) return false;
  return field.store(text.data(), text.size(), charset) == 0;
}

/// Stores the Unicode characters of `text`, whatever the connection's character set.
bool store_unicode(Field &field, Exact exact, Bytes text) {
  CHARSET_INFO *const unicode = &my_charset_utf8mb4_general_ci;
  CHARSET_INFO *const charset = field.charset();
  if (exact != Exact::text || charset == &my_charset_bin || !character_sets_agree(charset, unicode, text)) return false;
  if (Well_formed_prefix(unicode, text.data(), text.size()).length() != text.size()) return false;
  return charset->numchars(text.data(), text.data() + text.size()) <= field.char_length() &&
         field.store(text.data(), text.size(), charset) == 0;
}

/// A text without a character set is the sixteen bytes of a UUID, or none.
bool store_uuid(THD *thd, Field &field, Bytes text) {
  const bool is_binary =
      thd->variables.collation_connection == &my_charset_bin || thd->variables.character_set_client == &my_charset_bin;
  return !is_binary && sql::is_plain_uuid(text) && field.store(text.data(), text.size(), &my_charset_latin1) == 0;
}

bool store_time(Field &field, Bytes text, bool with_time) {
  const bool is_plain = with_time ? sql::is_plain_datetime(text, field.decimals()) : sql::is_plain_date(text);
  return is_plain && field.store(text.data(), text.size(), &my_charset_latin1) == 0;
}

/// DATE'...' is midnight to a column with a time.
bool store_written_time(Field &field, Exact exact, Written kind, Bytes text) {
  if (kind == Written::date) return sql::is_plain_date(text) && store_time(field, text, false);
  return exact == Exact::datetime && kind == Written::timestamp && store_time(field, text, true);
}

}  // namespace

bool text_is_same(THD *thd, const Field &field, Bytes text) {
  CHARSET_INFO *const connection = thd->variables.collation_connection;
  CHARSET_INFO *const client = thd->variables.character_set_client;
  if (!character_sets_agree(field.charset(), connection, text) || !character_sets_agree(connection, client, text))
    return false;
  if (field.charset() == &my_charset_bin && !my_charset_same(connection, client) &&
      !character_sets_agree(client, connection, text))
    return false;
  return Well_formed_prefix(connection, text.data(), text.size()).length() == text.size();
}

bool store_exactly(THD *thd, Field &field, Exact exact, const Value &value) {
  if (value.is_null()) return false;
  field.set_notnull();
  const bool is_bytes = value.kind() == Value::Kind::bytes;
  const bool is_text = is_bytes && value.spelling() == Value::Spelling::text;
  Bytes inside;
  const bool is_written = is_bytes && value.spelling() == Value::Spelling::real;
  const Written kind = is_written ? sql::written(value.bytes(), inside) : Written::number;
  switch (exact) {
    case Exact::integer: {
      if (!is_bytes) return store_number(field, value);
      int64_t number = 0;
      const bool is_exact =
          is_text ? sql::is_plain_integer(value.bytes(), number) : sql::is_integer_as_written(value, number);
      return is_exact && field.store(number, false) == 0;
    }
    case Exact::decimal: return !is_bytes && store_number(field, value);
    case Exact::text:
    case Exact::binary_fixed: {
      if (kind == Written::unicode) return store_unicode(field, exact, inside);
      const bool is_literal = is_text || (is_bytes && value.spelling() == Value::Spelling::binary);
      return is_literal && store_text(thd, field, exact, value);
    }
    case Exact::uuid: return is_text && store_uuid(thd, field, value.bytes());
    case Exact::date:
    case Exact::datetime:
      if (is_written) return store_written_time(field, exact, kind, inside);
      return is_text && store_time(field, value.bytes(), exact == Exact::datetime);
  }
  return false;
}

ComparedAs compared_as(Exact exact, const Value &value) {
  const bool is_number = exact == Exact::integer || exact == Exact::decimal;
  if (!is_number || value.kind() != Value::Kind::bytes) return ComparedAs::column;
  if (value.spelling() != Value::Spelling::decimal) return ComparedAs::real;
  return exact == Exact::decimal ? ComparedAs::column : ComparedAs::decimal;
}

bool value_of(const FormValue &place, std::span<const Value> arguments, Value &value) {
  switch (place.from) {
    case FormValue::From::argument:
      if (place.argument >= arguments.size()) return false;
      value = arguments[place.argument];
      return true;
    case FormValue::From::integer: value = Value::of_integer(place.integer); return true;
    case FormValue::From::text: value = Value::of(place.text); return true;
    case FormValue::From::sum:
    case FormValue::From::seconds: return computed_number(place, arguments, value);
    case FormValue::From::variable: return integer_of_variable(place.text, value);
    case FormValue::From::told_id:
    case FormValue::From::session: value = number_of_session(place.from); return true;
    case FormValue::From::null: value = Value::null(); return true;
    case FormValue::From::time:
    case FormValue::From::standard: return false;
  }
  return false;
}

}  // namespace postern::mariadb
