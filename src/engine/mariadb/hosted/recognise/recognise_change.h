// recognise_change.h: from what the server's parser made of an UPDATE, a DELETE, an INSERT or a REPLACE to a
// ChangeForm. As recognise.h is for SELECT, and with the same rule: what is not understood in every part is the
// server's.
#pragma once

#include "engine/mariadb/hosted/recognise/change_form.h"
#include "engine/mariadb/hosted/recognise/why_not.h"

class THD;
struct LEX;

namespace postern::mariadb {

/// As recognise().
std::optional<WhyNot> recognise_change(THD *thd, LEX &lex, ChangeForm &form);

}  // namespace postern::mariadb
