// plan_words.h: the meaning of a statement and how it would be answered, in words, for tests inside a server.
#pragma once

#include <string>

#include "base/bytes.h"

namespace postern::mariadb::test {

/// Recognises `text`, which has a ? for each argument, in the session of the calling thread; and resolves the plan with
/// the table if that statement has it open. For example "one PRIMARY(id) filter(name) columns(2)" or "not: OR".
std::string plan_in_words(Bytes text);

}  // namespace postern::mariadb::test
