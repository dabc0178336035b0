// question_marks.h: finds the places of values in a text of SQL.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace postern::sql {

/// The places of each ? outside of quotes and comments.
std::vector<uint32_t> question_marks(Bytes text);

}  // namespace postern::sql
