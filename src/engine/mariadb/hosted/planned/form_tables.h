// form_tables.h: the tables of a form, looked at without waiting.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/mariadb/hosted/planned/form_parts.h"
#include "engine/mariadb/hosted/plans/why_not.h"

class THD;
struct TABLE;

namespace postern::mariadb {

/// Whether statements that read the table may be planned once.
std::optional<WhyNot> may_be_planned(const TABLE &table);

/// A number for the definitions of tables together, in their order, and for those of views. Never that of one of them
/// alone.
uint64_t version_of_tables(std::span<const TABLE *const> tables, std::span<const uint64_t> views);

/// Opens the tables for as long as `look` takes, in a session that rests between two commands; nothing else changes in
/// the session, and nothing waits. `look` gets version_of_tables(), too. False: they cannot be opened just now.
bool look_at_tables(THD *thd, const FormParts &parts,
                    const std::function<void(std::span<const TABLE *const>, uint64_t)> &look);

/// Whether the account of `thd` may read all of each table and view, and the definers of views what those read. Where
/// one may not, an error may be set.
bool may_read_tables(THD *thd, const FormParts &parts);

}  // namespace postern::mariadb
