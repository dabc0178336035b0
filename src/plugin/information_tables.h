// information_tables.h: the tables of INFORMATION_SCHEMA that the rows of information.def declare.
#pragma once

#include "engine/information.h"

namespace postern::plugin::information {

#define COLUMN(table, name, kind, characters, sentence)
#define TABLE(name, plugin, sentence)          \
  namespace name {                             \
  extern const engine::InformationTable table; \
  }
#include "information.def"
#undef TABLE
#undef COLUMN

}  // namespace postern::plugin::information
