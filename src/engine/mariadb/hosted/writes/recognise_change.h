// recognise_change.h: translates the server's parse tree of an UPDATE, DELETE, INSERT or REPLACE to a ChangeForm. Like
// recognise.h for SELECT, and with the same rule: a statement with a part that is not understood is left to the server.
#pragma once

#include "engine/mariadb/hosted/writes/change_form.h"
#include "engine/mariadb/hosted/plans/why_not.h"

class THD;
struct LEX;

namespace postern::mariadb {

/// See recognise().
std::optional<WhyNot> recognise_change(THD *thd, LEX &lex, ChangeForm &form);

}  // namespace postern::mariadb
