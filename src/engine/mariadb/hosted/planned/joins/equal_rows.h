// equal_rows.h: may_be_equal(), for a SELECT DISTINCT with an OFFSET.
#pragma once

class JOIN;

namespace postern::mariadb {

/// Whether some values may make all columns of the answer constant. Then the server sends one row, whatever the OFFSET
/// is. Called for a JOIN that is resolved and not optimized, without derived tables and groups. False is certain.
bool may_be_equal(JOIN &join);

}  // namespace postern::mariadb
