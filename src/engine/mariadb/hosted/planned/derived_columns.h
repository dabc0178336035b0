// derived_columns.h: where the columns of a derived table come from, as its SELECT is written.
#pragma once

#include "engine/mariadb/hosted/planned/form_parts.h"

struct TABLE_LIST;

namespace postern::mariadb {

/// `table`: a SELECT in the place of a table, parsed and not yet resolved.
FormDerived derived_of(const TABLE_LIST &table);

}  // namespace postern::mariadb
