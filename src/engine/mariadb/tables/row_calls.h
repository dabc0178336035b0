// row_calls.h: the calls that change a row of a storage engine, in one place, so that tests can put faults in theirs
// (testing/faulty_row_calls.cc).
//
// Called on the thread that has the table open and locked for writing. They return a code of the storage engine, 0 for
// success. A code does not say that the row is as it was: WriteOp::fail_to_change() knows which ones do.
#pragma once

struct TABLE;

namespace postern::mariadb {

/// A new row, which is in record[0].
int insert_row(TABLE &table);
/// The row of record[1] becomes that of record[0].
int update_row(TABLE &table);
/// The row in record[1], of a table that keeps no history, where another one is to take its place.
int delete_old_row(TABLE &table);
/// The row in record[0]; in a table that keeps its history, it becomes history.
int delete_row(TABLE &table);

}  // namespace postern::mariadb
