#include "engine/server/server.h"

#include "engine/rows/opened_index.h"

#include "engine/server/opening.h"

namespace postern::rows {
namespace {

/// The size of a wanted column besides its name, about.
constexpr size_t bytes_per_column = 128;

}  // namespace

OpenedIndex::OpenedIndex(sql::Spec *its_spec, size_t own_bytes)
    : id(its_spec->id()),
      serial(its_spec->serial()),
      database(table_name(its_spec->spec().database)),
      name(table_name(its_spec->spec().table)),
      spec(its_spec->spec()),
      counts(its_spec->counts()),
      bytes(own_bytes + spec.bytes() + (spec->columns.size() + spec->filter_columns.size()) * bytes_per_column) {}

}  // namespace postern::rows
