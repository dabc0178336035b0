// library_text.h: the first line of a library of functions: `#!lua name=mylib`.
#pragma once

#include <functional>
#include <string>

#include "base/bytes.h"

namespace postern::redis {

struct LibraryText {
  std::string name;
  Bytes body{};  ///< the text after the first line, including its end, so that line numbers are right
};

/// Returns an error, or an empty text.
std::string read_library_text(Bytes text, LibraryText &library);

/// Splits a line into words as Redis does: 'quoted', "with \x41 and \n", or bare. Returns false for a quote that does
/// not end, or ends inside a word. Calls take(std::string).
bool split_words(Bytes line, const std::function<void(std::string)> &take);

}  // namespace postern::redis
