// error_counts.h: how often errors were answered, by the word that begins them.
//
// Of all doors of this protocol in the process. Any thread.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace postern::redis::error_counts {

/// `text` begins with the word. One that nobody has heard of counts as ERR.
void note(Bytes text) noexcept;
/// The errors since the last reset, by their words.
std::vector<std::pair<Bytes, uint64_t>> told();
void forget() noexcept;

}  // namespace postern::redis::error_counts
