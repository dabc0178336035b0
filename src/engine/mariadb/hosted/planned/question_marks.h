// question_marks.h: where a text of SQL has its values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace postern::mariadb {

/// The places of each ? that is in no quotes and in no comment.
std::vector<uint32_t> question_marks(Bytes text);

}  // namespace postern::mariadb
