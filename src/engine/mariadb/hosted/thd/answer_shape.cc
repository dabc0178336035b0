#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/thd/answer_shape.h"

namespace postern::mariadb {

AnswerShape::AnswerShape(const THD *thd, bool is_prepared, bool left_out)
    : results(thd->variables.character_set_results),
      form{.deprecate_eof = (thd->client_capabilities & CLIENT_DEPRECATE_EOF) != 0,
           .cache_metadata = (thd->client_capabilities & MARIADB_CLIENT_CACHE_METADATA) != 0,
           .extended = (thd->client_capabilities & MARIADB_CLIENT_EXTENDED_METADATA) != 0},
      prepared(is_prepared),
      without_metadata(left_out) {}

}  // namespace postern::mariadb
