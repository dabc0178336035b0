// derived_columns.h: finds the origins of a derived table's columns in its SELECT.
#pragma once

#include "engine/mariadb/hosted/planned/forms/form_parts.h"

struct TABLE_LIST;

namespace postern::mariadb {

/// `table`: a derived table, parsed and not yet resolved.
FormDerived derived_of(const TABLE_LIST &table);

}  // namespace postern::mariadb
