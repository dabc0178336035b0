#include "engine/sql/texts/question_marks.h"

#include <cstddef>

namespace postern::sql {
namespace {

/// Returns the end of a string, a quoted name or a comment that begins at `at`; `at` itself if none does.
size_t skip_quoted(Bytes text, size_t at) {
  const char one = text[at];
  const auto behind = [text](size_t end, size_t size) { return end == Bytes::npos ? text.size() : end + size; };
  if (one == '\'' || one == '"' || one == '`') {
    for (size_t i = at + 1; i < text.size(); ++i) {
      if (text[i] == '\\' && one != '`') ++i;
      else if (text[i] == one) return i + 1;
    }
    return text.size();
  }
  if (text.substr(at, 2) == "/*") return behind(text.find("*/", at + 2), 2);
  if (one == '#' || text.substr(at, 3) == "-- ") return behind(text.find('\n', at), 1);
  return at;
}

}  // namespace

std::vector<uint32_t> question_marks(Bytes text) {
  std::vector<uint32_t> found;
  for (size_t at = 0; at < text.size();) {
    if (const size_t next = skip_quoted(text, at); next != at) {
      at = next;
      continue;
    }
    if (text[at] == '?') found.push_back(static_cast<uint32_t>(at));
    ++at;
  }
  return found;
}

}  // namespace postern::sql
