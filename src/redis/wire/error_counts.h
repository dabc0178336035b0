// error_counts.h: counts error replies by their error code.
//
// Shared by all doors of this protocol in the process. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace postern::redis::error_counts {

/// `text` begins with the code and a blank. At most 128 codes that only scripts use are kept; further ones count as
/// ERR.
void note(Bytes text) noexcept;
/// The errors since the last reset, by code.
std::vector<std::pair<std::string, uint64_t>> told();
void forget() noexcept;

}  // namespace postern::redis::error_counts
