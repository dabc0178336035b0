// library_text.h: the first line of a library of functions: `#!lua name=mylib`.
#pragma once

#include <functional>
#include <string>

#include "base/bytes.h"

namespace postern::redis {

struct LibraryText {
  std::string name;
  Bytes body{};  ///< what follows the first line, from its end on, so that numbers of lines are right
};

/// Returns an error, or an empty text.
std::string read_library_text(Bytes text, LibraryText &library);

/// Splits a line into words as Redis does: 'quoted', "with \x41 and \n", or neither. Returns false for a quote that
/// does not end, or not at the end of its word. Calls take(std::string).
bool split_words(Bytes line, const std::function<void(std::string)> &take);

}  // namespace postern::redis
