// recognise.h: from what the server's parser made of a statement to a ReadForm.
//
// What a statement means is decided by the server's own parser alone: only forms are recognised whose every part is
// understood, and whatever else is in the tree makes the statement the server's. Whether columns and index exist, and
// whether its values compare exactly, is resolution's to say, against the table (resolve_read.h).
#pragma once

#include <optional>
#include <cstdint>

#include <string>

#include "base/bytes.h"
#include "engine/mariadb/hosted/recognise/read_form.h"
#include "engine/mariadb/hosted/recognise/why_not.h"

class THD;
struct LEX;

namespace postern::mariadb {

/// Whether a statement's text was parsed as it is, or its form, which has a ? in the place of each literal. By such a
/// text the server calls columns that have no name.
enum class ParsedText : uint8_t { own, form };

/// Sets `form` to the meaning of a parsed statement, or returns why it has none. `lex` may have been prepared, and
/// executed, since. The THD's connection collation must be the one that it was parsed with.
std::optional<WhyNot> recognise(THD *thd, LEX &lex, ParsedText parsed, ReadForm &form);

}  // namespace postern::mariadb
