// logins_known.h: how clients are let in, as learnt on threads that may wait: the server's greeting, and which accounts
// need no more than the client's answer to it.
//
// Any thread. All of it may be wrong by the next moment: a caller compares it with the server's own doings.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "engine/sql/packets/greeting.h"

class THD;

namespace postern::mariadb {

/// As the server would greet a client now; nullptr: not known.
std::shared_ptr<const sql::Greeting> known_greeting();
/// The server has begun the conversation with `said`; the THD had `status` then. May throw std::bad_alloc.
void learn_greeting(THD *thd, Bytes said, uint16_t status);
/// The server greets otherwise.
void forget_greeting();

/// Whether one packet verified the last client that gave this name.
bool answers_once(Bytes name);
void note_answers(Bytes name, bool once);

}  // namespace postern::mariadb
