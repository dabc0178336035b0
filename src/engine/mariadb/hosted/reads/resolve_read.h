// resolve_read.h: resolves a ReadForm's names to columns and an index of an open table.
//
// It must be exact: a value is looked up in an index only if that finds exactly the rows for which the server's
// comparison is true. By type of column:
// - Integers: the server compares a number in a text as a double, or, with BIGINT, as an integer; a double as a double.
//   So a value is exact only if all of these give the same integer, below 2^53.
// - DECIMAL of at most 15 digits: integers and decimals only, including doubles with integral values, which come as
//   integers. Texts and other doubles are compared as doubles.
// - CHAR, VARCHAR, TEXT: texts only; a number would convert all rows to numbers. The column's collation wins over the
//   value's. The value must mean the same characters in the column's character set: character_sets_agree().
// - VARBINARY: bytes. BINARY(n) is compared including its padding, but keys are padded: exactly n bytes only.
// - CHAR under a NO PAD collation: none. Its key contains blanks that the comparison ignores, and a letter that expands
//   to two ('ß' to 'ss') has more of them.
// - DATE, DATETIME: texts in the server's own format; others may mean a time or a time zone, or cause a warning.
// - UUID: texts of one. The server compares sixteen bytes then, whatever the letters' case. Its order depends on the
//   version that made the table, so no ranges.
// - FLOAT, DOUBLE, BIT, YEAR, TIME, TIMESTAMP, ENUM, SET, INET, geometries: none.
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

/// In place of a column's position: no column has that name.
inline constexpr uint16_t no_field = UINT16_MAX;

/// Finds columns and index in `table`, which is open, or returns why not. `read` is valid for this definition of the
/// table only.
std::optional<WhyNot> resolve(const ReadForm &form, const TABLE &table, ResolvedRead &read);

/// For a change by `chosen`: adds the walks of other indexes that the server weighs against it. False: some are not
/// known.
bool resolve_others(const ReadForm &form, const TABLE &table, const ResolvedRead &chosen,
                    std::vector<ResolvedRead> &others);

/// For a change by `chosen`: whether conditions on an indexed column may contradict each other, so that the server
/// locks no row.
bool may_contradict(const ReadForm &form, const TABLE &table, const ResolvedRead &chosen);

/// Finds the columns that `form` wants. A part of resolve().
std::optional<WhyNot> resolve_wanted(const ReadForm &form, const TABLE &table, std::vector<uint16_t> &columns);

/// Whether two conditions are on one column, so that their values may contradict each other. The server notices that
/// before it reads rows, and its answer differs slightly.
bool tests_a_column_twice(const ResolvedRead &read);

/// The column's position in `table`, or no_field if no visible column has the name.
uint16_t field_of(const TABLE &table, const std::string &name);

/// The condition that makes comparisons with the column exact. False: none.
bool exactness(const Field &field, Exact &exact);

/// Whether the column holds texts or bytes: CHAR, VARCHAR, TEXT, BINARY, VARBINARY or BLOB.
bool is_text(const Field &field);

/// Whether `text`, in a connection's character set, has the same bytes in the column's, and the server would compare in
/// the column's collation.
bool character_sets_agree(const charset_info_st *column, const charset_info_st *connection, Bytes text);

}  // namespace postern::mariadb
