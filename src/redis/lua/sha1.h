// sha1.h: the name of a script: the SHA-1 of its text in 40 hexadecimal digits.
#pragma once

#include <array>
#include <string>

#include "base/bytes.h"

namespace postern::redis::lua {

inline constexpr size_t sha1_digits = 40;
std::array<char, sha1_digits> sha1_of(Bytes text);

}  // namespace postern::redis::lua
