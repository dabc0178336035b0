// convert.h: converts a client's text to a column's value, and reports whether anything was lost.
#pragma once

#include "contract/op.h"
#include "engine/sql/fit.h"

class Field;
class THD;

namespace postern::mariadb {

using sql::Fit;

/// Stores a value that is not NULL in `field`, in the record the field points to. Text is taken in the column's own
/// character set, numbers and dates as ASCII. Never rounds or truncates silently: the result reports it.
Fit store(THD *thd, Field *field, Bytes text);

/// The same for the bound of a range: text that is no value of the column is converted as in an SQL comparison of the
/// column with it. `unfit`: the comparison is NULL for every row.
Fit place(THD *thd, Field *field, Bytes text);

/// How the text in `field`, of a row, compares with `text`: below 0, 0, above 0.
int compare_as_text(Field *field, Bytes text);

}  // namespace postern::mariadb
