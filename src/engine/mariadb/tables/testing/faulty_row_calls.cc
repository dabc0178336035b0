// faulty_row_calls.cc: row_calls.h for a library of its own that tests load, in which calls fail as a row asks for.
//
// A table with a column `fault` says in each row what shall happen to the call that inserts, changes or deletes it:
//
//   before CODE          the call fails with the storage engine's CODE and has done nothing
//   after CODE           it has changed the row, without an event for the binary log, and fails all the same
//   once before CODE ... likewise, the first time only that a row has just this text
//
// Where InnoDB rolls its transaction back before it returns a code, the server is notified as InnoDB notifies it.
#include "engine/mariadb/basics/server.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "engine/mariadb/tables/row_calls.h"

namespace postern::mariadb {
namespace {

struct Fault {
  int code = 0;  // 0 for none
  bool after = false;
};

bool is_first(const std::string &text) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  const std::lock_guard guard(mutex);
  return seen.insert(text).second;
}

Fault fault_of(TABLE &table) {
  for (Field **field = table.field; *field != nullptr; ++field) {
    if (std::strcmp((*field)->field_name.str, "fault") != 0 || (*field)->is_null()) continue;
    String buffer;
    const String *const value = (*field)->val_str(&buffer);
    std::string text(value->ptr(), value->length());
    if (text.starts_with("once ")) {
      if (!is_first(text)) return {};
      text.erase(0, 5);
    }
    const bool after = text.starts_with("after ");
    if (!after && !text.starts_with("before ")) return {};
    return {std::atoi(text.c_str() + text.find(' ')), after};
  }
  return {};
}

int fail(TABLE &table, int code) {
  if (code == HA_ERR_LOCK_DEADLOCK || code == HA_ERR_RECORD_CHANGED || code == HA_ERR_LOCK_TABLE_FULL)
    table.in_use->transaction_rollback_request = true;
  return code;
}

template <class Call>
int run(TABLE &table, Call call) {
  const Fault fault = fault_of(table);
  if (fault.code == 0) return call();
  if (!fault.after) return fail(table, fault.code);
  const bool logging = table.file->row_logging;
  table.file->row_logging = false;
  const int code = call();
  table.file->row_logging = logging;
  return code != 0 ? code : fail(table, fault.code);
}

}  // namespace

int insert_row(TABLE &table) {
  return run(table, [&] { return table.file->ha_write_row(table.record[0]); });
}

int update_row(TABLE &table) {
  return run(table, [&] { return table.file->ha_update_row(table.record[1], table.record[0]); });
}

int delete_old_row(TABLE &table) {
  return run(table, [&] { return table.file->ha_delete_row(table.record[1]); });
}

int delete_row(TABLE &table) {
  return run(table, [&] { return table.delete_row(); });
}

}  // namespace postern::mariadb
