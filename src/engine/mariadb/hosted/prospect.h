// prospect.h: guesses a statement's properties from its first bytes, before the server serves it.
#pragma once

#include "contract/server_session.h"

class THD;

namespace postern::mariadb {

/// `thd` is idle.
Prospect prospect_of(THD *thd, const Statement &statement);

}  // namespace postern::mariadb
