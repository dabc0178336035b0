// resolve_read.h: from a ReadForm's names to the columns and the index of an open table.
//
// The heart of it is exactness: a value is looked up in an index only where that finds the rows for which the server's
// comparison is true, and no others. By type of column:
// - Integers: a number in a text is compared as a double by the server, with BIGINT as an integer; a double as a
//   double. So only a value with one integer for all of these is exact, and below 2^53.
// - DECIMAL of at most 15 digits: integers and decimals only, and doubles that are integers, as which they come. Texts
//   and other doubles are compared as doubles.
// - CHAR, VARCHAR, TEXT: texts only; a number makes numbers of all rows. The column's collation wins over the value's.
//   The value must mean the same characters in the column's character set: character_sets_agree().
// - VARBINARY: the bytes. BINARY(n) is compared with its zero bytes, but they are filled up in a key: n bytes only.
// - CHAR under a NO PAD collation: none. Its key has blanks that the comparison does not see, and a letter that is
//   compared as two ('ß' as 'ss') has more of them.
// - DATE, DATETIME: texts as the server would write them; others may mean a time, a time zone, or draw a warning.
// - FLOAT, DOUBLE, BIT, YEAR, TIME, TIMESTAMP, ENUM, SET, UUID, INET, geometries: none.
#pragma once

#include <optional>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "engine/mariadb/hosted/reads/read_form.h"
#include "engine/mariadb/hosted/plans/why_not.h"

class Field;
struct TABLE;
struct charset_info_st;

namespace postern::mariadb {

/// In place of a column's number: the table has none of that name.
inline constexpr uint16_t no_field = UINT16_MAX;

/// Finds columns and index in `table`, which is open, or returns why not. `read` holds for this definition of the table
/// only.
std::optional<WhyNot> resolve(const ReadForm &form, const TABLE &table, ResolvedRead &read);

/// Where the columns are that `form` wants. As resolve(), of which it is a part.
std::optional<WhyNot> resolve_wanted(const ReadForm &form, const TABLE &table, std::vector<uint16_t> &columns);

/// Whether two conditions are on one column: their values may contradict each other. The server sees that before it
/// looks for rows, and its answer shows that in small ways.
bool tests_a_column_twice(const ResolvedRead &read);

/// The column's position in `table`, or no_field where there is none that a statement can name.
uint16_t field_of(const TABLE &table, const std::string &name);

/// What makes comparing with the column exact. False if nothing does.
bool exactness(const Field &field, Exact &exact);

/// Whether the column is one of texts, or of bytes: CHAR, VARCHAR, TEXT, BINARY, VARBINARY or BLOB.
bool is_text(const Field &field);

/// Whether `text`, a value in the character set of a connection, consists of the same bytes in the column's, and the
/// server would compare in the column's collation.
bool character_sets_agree(const charset_info_st *column, const charset_info_st *connection, Bytes text);

}  // namespace postern::mariadb
