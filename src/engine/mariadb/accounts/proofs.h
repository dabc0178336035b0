// proofs.h: a client's proofs of its password, computed by the server's own functions.
#pragma once

#include "engine/sql/packets/handshake.h"

namespace postern::mariadb {

/// May be called on any thread.
extern const sql::Proofs proofs;

}  // namespace postern::mariadb
