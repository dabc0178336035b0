// form_views.h: substitutes the SELECTs of views in the text of a form.
//
// A plan reads a view as it reads a derived table. But a view has its own privileges (FormReads), and its text is
// parsed with its own settings: sessions in which the text means something else are left to the server.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/mariadb/hosted/planned/forms/form_parts.h"
#include "engine/mariadb/hosted/plans/why_not.h"

class THD;
class MDL_ticket;

namespace postern::mariadb {

/// Substitutes the SELECT of each view in the text of `parts`, which then has no views among its tables, in an idle
/// session. Does not wait.
std::optional<WhyNot> put_views(THD *thd, ParsedText parsed, FormParts &parts);

/// Takes a metadata lock on the view, which the caller releases if `for_long`, or which ends with the transaction;
/// `ticket`: that lock, if any. Returns a hash of its definition; 0: it is not available now, and an error may be set.
uint64_t version_of_view(THD *thd, const FormView &view, bool for_long, MDL_ticket *&ticket);

/// Whether the session parses the views' texts with the same meaning as their creators.
bool parses_views(const THD *thd);

}  // namespace postern::mariadb
