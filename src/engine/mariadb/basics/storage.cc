#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/storage.h"

#include <algorithm>
#include <iterator>

namespace postern::mariadb {
namespace {

// Debian also packages these: CONNECT looks for its columns where a SELECT has them and answers zeros else; Mroonga
// takes no NULL and no new primary key, without an error; MERGE has to have its tables opened for it; the answers of
// SPHINX and S3 depend on another server that tests do not have; CSV and PERFORMANCE_SCHEMA have no index.
constexpr StorageEngine engines[] = {
    {"InnoDB", Walks::both, true},
    {"MyISAM", Walks::both, true},
    {"Aria", Walks::both, true},
    {"MEMORY", Walks::both, true},
    {"ROCKSDB", Walks::both, true},
    {"ARCHIVE", Walks::none, false},
    {"BLACKHOLE", Walks::both, false},
    // The other server sends the rows of a range in the order it likes.
    {"FEDERATED", Walks::none, false},
    {"OQGRAPH", Walks::none, false},
    // Downwards it leaves out the first row.
    {"SEQUENCE", Walks::up, false},
    // Asks the other server for a range as SQL has it, where NULL is in none.
    {"SPIDER", Walks::both_without_null, false},
};

}  // namespace

Bytes storage_engine_name(const TABLE &table) {
  return ha_resolve_storage_engine_name(table.file->partition_ht());
}

const StorageEngine *storage_engine(const TABLE &table) {
  const Bytes name = storage_engine_name(table);
  const auto *const found = std::ranges::find(engines, name, &StorageEngine::name);
  return found == std::end(engines) ? nullptr : found;
}

}  // namespace postern::mariadb
