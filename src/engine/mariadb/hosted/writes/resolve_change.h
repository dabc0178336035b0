// resolve_change.h: resolves a ChangeForm's names to columns and a key of an open table, if the change may share a
// transaction with other sessions.
//
// A column gets its value by the server's own conversion, in the session's sql_mode and time zone, and conversions with
// warnings are left to the server. It checks that both would make the same conversion:
// - Texts: for texts, numbers, dates, times, ENUM and SET.
// - Integers: for numbers. Doubles with integral values come as integers, but convert to a different text, so not for
//   texts.
// - Numbers with a fraction or an exponent: for DECIMAL, FLOAT and DOUBLE. Bytes without a character set: for BINARY,
//   VARBINARY and BLOB.
// - Sums: of integer columns, without rounding (see add() in change_row.cc).
// - BIT, YEAR, geometries, compressed and generated columns: none.
#pragma once

#include "engine/mariadb/hosted/writes/change_form.h"
#include "engine/mariadb/hosted/plans/why_not.h"

class Field;
struct TABLE;

namespace postern::mariadb {

/// Finds the columns and the key in `table`, which is open, or returns why not. `change` is valid for this definition
/// of the table only.
std::optional<WhyNot> resolve_change(const ChangeForm &form, const TABLE &table, ResolvedChange &change);

/// The values that a column stores unchanged.
bool takes_texts(const Field &field);
bool takes_integers(const Field &field);
/// Whether it stores numbers with a fraction, or bytes without a character set, unchanged.
bool holds_fractions(const Field &field);
bool holds_bytes(const Field &field);
/// Whether the column holds integers, and so may be added to.
bool holds_integers(const Field &field);

}  // namespace postern::mariadb
