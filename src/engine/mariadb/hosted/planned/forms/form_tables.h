// form_tables.h: examines the tables of a form without waiting.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/mariadb/hosted/planned/forms/form_parts.h"
#include "engine/mariadb/hosted/plans/why_not.h"

class THD;
struct TABLE;

namespace postern::mariadb {

/// A hash of the definitions of tables, in order, and of views. Never equal to that of a single one.
uint64_t version_of_tables(std::span<const TABLE *const> tables, std::span<const uint64_t> views);

/// Opens the tables while `look` runs, in an idle session; does not change the session otherwise, and does not wait.
/// `look` gets version_of_tables(), too. False: they cannot be opened now.
bool look_at_tables(THD *thd, const FormParts &parts,
                    const std::function<void(std::span<const TABLE *const>, uint64_t)> &look);

/// Whether the account of `thd` may read all columns of each table and view, and the views' definers those of their
/// tables. If not, an error may be set.
bool may_read_tables(THD *thd, const FormParts &parts);

}  // namespace postern::mariadb
