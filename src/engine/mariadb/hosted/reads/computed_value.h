// computed_value.h: values that are computed of a statement's own values and of its time, before any row is read: sums,
// NOW(), NOW() - INTERVAL 1 DAY.
#pragma once

#include <span>
#include <string>

#include "contract/value.h"
#include "engine/mariadb/hosted/reads/read_form.h"

class Field;

namespace postern::mariadb {

/// A sum, or UNIX_TIMESTAMP(). False: it is not known to be the server's result in every type that a client may have
/// bound. The current THD has the time of the statement.
bool computed_number(const FormValue &place, std::span<const Value> arguments, Value &value);

/// A user's variable of the current THD. False: it has no integer. A text in one compares by rules of its own.
bool integer_of_variable(const std::string &name, Value &value);

/// LAST_INSERT_ID() or CONNECTION_ID() of the current THD.
Value number_of_session(FormValue::From which);

/// Gives the column a point in time as an assignment does, in the time zone of the current THD.
bool store_time(Field &field, const FormValue &place, std::span<const Value> arguments);

/// Puts a point in time into the record that `field` points to, as store_exactly() does with other values.
bool store_time_exactly(Field &field, Exact exact, const FormValue &place, std::span<const Value> arguments);

}  // namespace postern::mariadb
