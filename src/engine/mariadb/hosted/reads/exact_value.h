// exact_value.h: stores a statement's values in columns, only if the column then holds exactly that value: see Exact in
// read_form.h, and resolve_read.h for the reasons.
#pragma once

#include "contract/value.h"
#include "engine/mariadb/hosted/reads/read_form.h"

class Field;
class THD;

namespace postern::mariadb {

/// Stores a value in the record that `field` points to. A text is in the session's connection character set, converted
/// from the client's. False: the server's own comparison might find another value equal, or none.
bool store_exactly(THD *thd, Field &field, Exact exact, const Value &value);

/// The type in which the server compares a column with a value: `c = '5'` compares doubles if the column has integers.
enum class ComparedAs : uint8_t { column, decimal, real };
ComparedAs compared_as(Exact exact, const Value &value);

/// Whether a text's bytes keep their meaning in the server, which may convert texts between three character sets from
/// client to column.
bool text_is_same(THD *thd, const Field &field, Bytes text);

/// The value for a place in a form, if the execution has it; not a point in time.
bool value_of(const FormValue &place, std::span<const Value> arguments, Value &value);

}  // namespace postern::mariadb
