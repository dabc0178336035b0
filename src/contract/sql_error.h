// sql_error.h: how a client of SQL is told of a failure: SqlError, and the one for each Failure.
#pragma once

#include <cstdint>

#include "base/failure.h"

namespace postern {

/// An error number and the SQLSTATE that goes with it.
struct SqlError {
  uint16_t number = 0;  ///< 0: none
  char state[6] = "";   ///< five characters and a zero
};
static_assert(sizeof(SqlError) == 8);

/// What SQL answers in the same case, or what is closest to it. For failures that the server itself has not told.
constexpr SqlError sql_error_of(Failure failure) {
  switch (failure) {
    case Failure::none: return {};
    case Failure::unknown_command: return {1047, "08S01"};
    case Failure::syntax: return {1064, "42000"};
    case Failure::request_too_large: return {1153, "08S01"};
    case Failure::unknown_operator: return {1064, "42000"};
    case Failure::unknown_modification: return {1064, "42000"};
    case Failure::not_implemented: return {1235, "42000"};
    case Failure::no_key_values: return {1064, "42000"};
    case Failure::too_many_key_values: return {1064, "42000"};
    case Failure::too_many_filters: return {1064, "42000"};
    case Failure::empty_in_list: return {1064, "42000"};
    case Failure::unknown_filter_type: return {1064, "42000"};
    case Failure::read_only_door: return {1290, "HY000"};
    case Failure::unauthorized: return {1045, "28000"};
    case Failure::unknown_authentication: return {1251, "08004"};
    case Failure::tls_required: return {1045, "28000"};
    case Failure::request_timed_out: return {1159, "08S01"};
    case Failure::too_many_connections: return {1040, "08004"};
    case Failure::too_many_logins: return {1129, "HY000"};
    case Failure::privilege_denied: return {1142, "42000"};
    case Failure::too_many_columns: return {1117, "HY000"};
    case Failure::too_many_open_indexes: return {1461, "42000"};
    case Failure::not_open: return {1109, "42S02"};
    case Failure::no_table: return {1146, "42S02"};
    case Failure::cannot_open: return {1105, "HY000"};
    case Failure::not_a_base_table: return {1347, "HY000"};
    case Failure::system_schema: return {1142, "42000"};
    case Failure::engine_unsupported: return {1031, "HY000"};
    case Failure::no_index: return {1176, "42000"};
    case Failure::index_unusable: return {1031, "HY000"};
    case Failure::index_not_the_key: return {1105, "HY000"};
    case Failure::no_column: return {1054, "42S22"};
    case Failure::too_many_key_parts: return {1070, "42000"};
    case Failure::bad_key_value: return {1366, "22007"};
    case Failure::no_filter_column: return {1054, "42S22"};
    case Failure::filter_on_blob: return {1235, "42000"};
    case Failure::row_too_large: return {1118, "42000"};
    case Failure::bad_value: return {1366, "22007"};
    case Failure::not_a_number: return {1366, "22007"};
    case Failure::constraint: return {4025, "23000"};
    case Failure::too_many_rows: return {1104, "42000"};
    case Failure::reply_too_large: return {1105, "HY000"};
    case Failure::table_busy: return {1205, "HY000"};
    case Failure::lock_failed: return {1105, "HY000"};
    case Failure::row_locked: return {1205, "HY000"};
    case Failure::duplicate_key: return {1062, "23000"};
    case Failure::read_only: return {1290, "HY000"};
    case Failure::cluster_not_ready: return {1047, "08S01"};
    case Failure::cluster: return {1235, "42000"};
    case Failure::commit_failed: return {1180, "HY000"};
    case Failure::engine_error: return {1030, "HY000"};
    case Failure::interrupted: return {1317, "70100"};
    case Failure::out_of_memory: return {1037, "HY001"};
    case Failure::stopping: return {1053, "08S01"};
    case Failure::internal: return {1815, "HY000"};
  }
  return {1105, "HY000"};
}

}  // namespace postern
