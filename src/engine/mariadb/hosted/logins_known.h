// logins_known.h: facts about logins, learnt on threads that may wait: the server's greeting, and the accounts that
// need only the client's answer to it.
//
// Any thread. Facts may become outdated at any moment: callers compare them with the server's actual behaviour.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "engine/sql/packets/greeting.h"

class THD;

namespace postern::mariadb {

/// The server's present greeting; nullptr: unknown.
std::shared_ptr<const sql::Greeting> known_greeting();
/// Learns from a greeting `said` by the server; the THD had `status` then. May throw std::bad_alloc.
void learn_greeting(THD *thd, Bytes said, uint16_t status);
/// Notes that the server greets differently.
void forget_greeting();

/// Whether one packet verified the last client with this name.
bool answers_once(Bytes name);
void note_answers(Bytes name, bool once);

}  // namespace postern::mariadb
