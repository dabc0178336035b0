// glob.h: patterns as KEYS and CONFIG GET have them: `*`, `?`, `[abc]`, `[^a-z]`, and `\` before what means itself.
#pragma once

#include "base/bytes.h"

namespace postern::redis {

/// Whether `text` is of the pattern. The same answers as Redis's, in a time bounded by the product of the lengths.
[[nodiscard]] bool glob_matches(Bytes pattern, Bytes text, bool fold_case = false);

/// The beginning that every text of the pattern has. It is `pattern` itself if nothing in it is special.
[[nodiscard]] Bytes glob_prefix(Bytes pattern);

}  // namespace postern::redis
