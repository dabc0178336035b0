// answer_shape.h: AnswerShape, everything besides the statement that decides the server's bytes around the rows of an
// answer.
#pragma once

#include "engine/sql/packets/answer.h"

class THD;
struct charset_info_st;

namespace postern::mariadb {

struct AnswerShape {
  AnswerShape(const THD *thd, bool is_prepared, bool left_out = false);

  const charset_info_st *results = nullptr;  ///< the character set that answers are converted to; nullptr: none
  sql::AnswerForm form;
  bool prepared = false;
  bool without_metadata = false;  ///< column definitions are sent to this client, which caches them: ClientMetadata

  bool operator==(const AnswerShape &) const = default;
};

}  // namespace postern::mariadb
