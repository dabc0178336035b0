// opened_index.h: OpenedIndex, one spec resolved in a table; the part common to MariaDB and MySQL.
#pragma once

#include "engine/server/server.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "contract/kept_spec.h"
#include "engine/rows/row.h"
#include "engine/sql/attempt.h"
#include "engine/sql/specs.h"
#include "engine/sql/storage_engine.h"

namespace postern::rows {

class WriteTable;

/// For reading it has a TABLE instance of its own, with its own read set and index cursor, so that the storage engine
/// builds the row template once; for writing, all specs share one instance. Each server's OpenTable derives from it.
/// Belongs to one executor and is used on its thread only.
class OpenedIndex {
 public:
  /// `own_bytes`: the size of the object, with the part that the server adds.
  OpenedIndex(sql::Spec *its_spec, size_t own_bytes);

  const uint32_t id;      ///< that of its spec
  const uint64_t serial;  ///< that of its spec
  const std::string database;
  const std::string name;
  const KeptSpec spec;                            ///< the names that it was opened by
  const std::shared_ptr<sql::SpecCounts> counts;  ///< that of its spec

  uint64_t batch = 0;  ///< the last batch that used this
  sql::TableState state = sql::TableState::failed;
  Failure failure = Failure::none;
  sql::ServerError error;  ///< the server's error for `failure`

  bool admitted = false;                       ///< its names are such that may be opened
  TABLE *table = nullptr;                      ///< nullptr while not open
  const sql::StorageEngine *engine = nullptr;  ///< nullptr for one that may not be opened
  bool resolved = false;                       ///< the members below are valid for `table`, or for the last one
  uint32_t index = 0;                          ///< position in TABLE::key_info
  std::vector<uint16_t> columns;               ///< positions in TABLE::field
  std::vector<uint16_t> filter_columns;        ///< likewise
  bool unique = false;                         ///< the whole key, without NULL, identifies at most one row
  bool repeats = false;                        ///< repeating a find in the same batch gives the same rows
  std::string definition;                      ///< the version of the table's definition for which all this is valid
  RowReader reader;
  std::vector<uchar> key;  ///< room for one key

  // For a table open for writing.
  WriteTable *target = nullptr;  ///< shared with other specs

  bool positions = false;       ///< the read set has the columns of a Position
  bool key_is_read = false;     ///< the read set has the columns of the index, for row_matches()
  bool has_large_rows = false;  ///< the row read last was one

  // Counts of this batch.
  uint64_t finds = 0;
  uint64_t rows_examined = 0;

  const size_t bytes;  ///< of memory, about

  KEY &key_info() const { return table->key_info[index]; }
  handler &file() const { return *table->file; }
};

}  // namespace postern::rows
