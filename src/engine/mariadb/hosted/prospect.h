// prospect.h: the prospect of a statement, by its first bytes, before the server serves it.
#pragma once

#include "contract/server_session.h"

class THD;

namespace postern::mariadb {

/// `thd` rests between two commands.
Prospect prospect_of(THD *thd, const Statement &statement);

}  // namespace postern::mariadb
