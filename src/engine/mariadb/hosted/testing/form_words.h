// form_words.h: the meaning that recognition finds in a statement, in words, for tests inside a server.
#pragma once

#include <string>

#include "base/bytes.h"
#include "engine/mariadb/hosted/reads/recognise.h"

namespace postern::mariadb::test {

/// The recognisers of statements: by key, changes by key, SELECTs that the server plans once.
enum class Recognises : uint8_t { reads, changes, planned };

/// Recognises `text`, which has a ? for each argument, in the session of the calling thread. No table has to exist. For
/// example "name from test.users where id= ?0 limit ?1 (2)", with the number of arguments, or "not: OR".
std::string form_in_words(Recognises what, Bytes text, ParsedText parsed);

}  // namespace postern::mariadb::test
