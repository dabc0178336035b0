// computed_value.h: values computed from a statement's own values and its time, before any row is read: sums, NOW(),
// NOW() - INTERVAL 1 DAY.
#pragma once

#include <span>
#include <string>

#include "contract/value.h"
#include "engine/mariadb/hosted/reads/read_form.h"

class Field;

namespace postern::mariadb {

/// Computes a sum, or UNIX_TIMESTAMP(). False: the server's result may differ for some type that a client may have
/// bound. The current THD has the time of the statement.
bool computed_number(const FormValue &place, std::span<const Value> arguments, Value &value);

/// Reads a user variable of the current THD. False: it holds no integer. Texts in variables compare by rules of their
/// own.
bool integer_of_variable(const std::string &name, Value &value);

/// LAST_INSERT_ID() or CONNECTION_ID() of the current THD.
Value number_of_session(FormValue::From which);

/// Assigns a point in time to the column, in the time zone of the current THD.
bool store_time(Field &field, const FormValue &place, std::span<const Value> arguments);

/// Stores a point in time in the record that `field` points to, like store_exactly() for other values.
bool store_time_exactly(Field &field, Exact exact, const FormValue &place, std::span<const Value> arguments);

}  // namespace postern::mariadb
