// glob.h: patterns as KEYS and CONFIG GET have them: `*`, `?`, `[abc]`, `[^a-z]`, and `\` before a literal character.
#pragma once

#include "base/bytes.h"

namespace postern::redis {

/// Whether `text` matches the pattern, as in Redis, in a time bounded by the product of the lengths.
[[nodiscard]] bool glob_matches(Bytes pattern, Bytes text, bool fold_case = false);

/// The prefix common to all matching texts: `pattern` itself if it has no special characters.
[[nodiscard]] Bytes glob_prefix(Bytes pattern);

}  // namespace postern::redis
