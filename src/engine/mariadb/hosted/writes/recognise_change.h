// recognise_change.h: from the server's parse tree of an UPDATE, a DELETE, an INSERT or a REPLACE to a ChangeForm. As
// recognise.h is for SELECT, and with the same rule: a statement with a part that is not understood is the server's.
#pragma once

#include "engine/mariadb/hosted/writes/change_form.h"
#include "engine/mariadb/hosted/plans/why_not.h"

class THD;
struct LEX;

namespace postern::mariadb {

/// As recognise().
std::optional<WhyNot> recognise_change(THD *thd, LEX &lex, ChangeForm &form);

}  // namespace postern::mariadb
