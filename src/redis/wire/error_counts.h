// error_counts.h: how often errors were answered, by the word that begins them.
//
// Of all doors of this protocol in the process. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace postern::redis::error_counts {

/// `text` begins with the word, and a blank after it. There are at most 128 words that only scripts use; one more
/// counts as ERR.
void note(Bytes text) noexcept;
/// The errors since the last reset, by their words.
std::vector<std::pair<std::string, uint64_t>> told();
void forget() noexcept;

}  // namespace postern::redis::error_counts
