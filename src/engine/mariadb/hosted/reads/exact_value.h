// exact_value.h: values of statements put into columns, only where the column then holds exactly that value: see Exact
// in read_form.h, and resolve_read.h for the reasons.
#pragma once

#include "contract/value.h"
#include "engine/mariadb/hosted/reads/read_form.h"

class Field;
class THD;

namespace postern::mariadb {

/// Puts a value into the record that `field` points to. A text is in the session's connection character set, and came
/// in that of its client. False: the server's own comparison might find another value equal, or none.
bool store_exactly(THD *thd, Field &field, Exact exact, const Value &value);

/// Whether the bytes of a text mean the same to the server, which may convert texts between three character sets on
/// their way from client to column.
bool text_is_same(THD *thd, const Field &field, Bytes text);

/// What stands for a place in a form, if the execution has it; not a point in time.
bool value_of(const FormValue &place, std::span<const Value> arguments, Value &value);

}  // namespace postern::mariadb
