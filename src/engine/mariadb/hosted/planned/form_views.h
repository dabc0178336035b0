// form_views.h: puts the SELECTs of views into the text of a form.
//
// A plan reads a view as it reads a derived table. But a view has privileges of its own (FormReads), and its text is
// parsed with settings of its own: the server answers sessions in which the same text means something else.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/mariadb/hosted/planned/form_parts.h"
#include "engine/mariadb/hosted/plans/why_not.h"

class THD;
class MDL_ticket;

namespace postern::mariadb {

/// Puts the SELECT of each view into the text of `parts`, which then has no views among its tables, in a session that
/// rests between two commands. Does not wait.
std::optional<WhyNot> put_views(THD *thd, ParsedText parsed, FormParts &parts);

/// Takes a metadata lock on the view, which its caller releases where `for_long`, or else with others of the
/// transaction; `ticket`: that lock, if there is one. Returns a number for its definition; 0: it is not to be had just
/// now, and an error may be set.
uint64_t version_of_view(THD *thd, const FormView &view, bool for_long, MDL_ticket *&ticket);

/// Whether the session parses the texts of views as those that have made them did.
bool parses_views(const THD *thd);

}  // namespace postern::mariadb
