// row_calls.h: the calls that change a row of a storage engine, in one place, so that tests can put faults in theirs
// (testing/faulty_row_calls.cc).
//
// Called on the thread that has the table open and locked for writing. They return a code of the storage engine, 0 for
// success. A code does not imply that the row is unchanged: WriteOp::fail_to_change() knows the ones that do.
#pragma once

struct TABLE;

namespace postern::mariadb {

/// Inserts the row in record[0].
int insert_row(TABLE &table);
/// Updates the row in record[1] to that in record[0].
int update_row(TABLE &table);
/// Deletes the row in record[1], of a table without history, to replace it.
int delete_old_row(TABLE &table);
/// Deletes the row in record[0]; in a versioned table it becomes history.
int delete_row(TABLE &table);

}  // namespace postern::mariadb
