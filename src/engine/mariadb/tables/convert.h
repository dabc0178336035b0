// convert.h: from a client's text to a column's value, and whether anything was lost on the way.
#pragma once

#include "contract/op.h"
#include "engine/sql/fit.h"

class Field;
class THD;

namespace postern::mariadb {

using sql::Fit;

/// Stores a value that is not NULL in `field`, in the record the field points to. Text is taken in the column's own
/// character set, numbers and dates as ASCII. Never rounds or cuts in silence: the result says so.
Fit store(THD *thd, Field *field, Bytes text);

/// The same for the bound of a range: text that is no value of the column means what SQL makes of it where it compares
/// the column with that text. `unfit` here: SQL's answer is NULL, for every row.
Fit place(THD *thd, Field *field, Bytes text);

/// How the text in `field`, of a row, compares with `text`: below 0, 0, above 0.
int compare_as_text(Field *field, Bytes text);

}  // namespace postern::mariadb
