// recognise.h: translates the server's parse tree of a statement to a ReadForm.
//
// Only the server's own parser decides the meaning of a statement: a form is recognised if every part of it is
// understood, and anything else in the tree leaves the statement to the server. Resolution decides, against the table,
// whether columns and index exist, and whether the values compare exactly (resolve_read.h).
#pragma once

#include <optional>
#include <cstdint>

#include <string>

#include "base/bytes.h"
#include "engine/mariadb/hosted/reads/read_form.h"
#include "engine/mariadb/hosted/plans/why_not.h"

class THD;
struct LEX;

namespace postern::mariadb {

/// Whether a statement's text was parsed unchanged, or its form, with a ? for each literal. The server names unnamed
/// columns after that text.
enum class ParsedText : uint8_t { own, form };

/// Sets `form` to the meaning of a parsed statement, or returns why it has none. `lex` may have been prepared and
/// executed since. The THD's connection collation must be the one at parsing.
std::optional<WhyNot> recognise(THD *thd, LEX &lex, ParsedText parsed, ReadForm &form);

}  // namespace postern::mariadb
