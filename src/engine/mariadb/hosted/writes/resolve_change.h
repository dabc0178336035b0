// resolve_change.h: from a ChangeForm's names to columns and a key of an open table, where that may be changed together
// with the rows of other sessions in one transaction.
//
// A column gets its value by the server's own conversion, in the session's sql_mode and time zone, and what draws a
// warning there is left to the server. So it is known here only that the conversion is one that both would make:
// - Texts: for texts, numbers, dates, times, ENUM and SET.
// - Integers: for numbers. Doubles that are integers come as these, and a text would get another text of them.
// - Numbers with a fraction or an exponent: for DECIMAL, FLOAT and DOUBLE. Bytes without a character set: for BINARY,
//   VARBINARY and BLOB.
// - Sums: of integer columns, where nobody rounds (see add() in change_row.cc).
// - BIT, YEAR, geometries, compressed columns, columns that are generated: none.
#pragma once

#include "engine/mariadb/hosted/writes/change_form.h"
#include "engine/mariadb/hosted/plans/why_not.h"

class Field;
struct TABLE;

namespace postern::mariadb {

/// Finds the columns and the key in `table`, which is open, or returns why not. `change` holds for this definition of
/// the table only.
std::optional<WhyNot> resolve_change(const ChangeForm &form, const TABLE &table, ResolvedChange &change);

/// Which values a column takes as they are.
bool takes_texts(const Field &field);
bool takes_integers(const Field &field);
/// Whether it takes numbers with a fraction, or bytes without a character set, as they are.
bool holds_fractions(const Field &field);
bool holds_bytes(const Field &field);
/// Whether the column holds integers, and so may be added to.
bool holds_integers(const Field &field);

}  // namespace postern::mariadb
