#include "engine/mariadb/hosted/thd/session_statement.h"

#include "engine/mariadb/hosted/reads/session_read.h"

#include <algorithm>
#include <new>
#include <optional>

#include "base/limits.h"
#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/reads/exact_value.h"
#include "engine/mariadb/hosted/reads/kept_table.h"
#include "engine/mariadb/basics/no_row_waits.h"
#include "engine/mariadb/basics/opening.h"
#include "engine/mariadb/hosted/reads/resolve_read.h"
#include "engine/mariadb/hosted/reads/row_locks.h"
#include "engine/mariadb/hosted/thd/statement_end.h"

namespace postern::mariadb {
namespace {

using What = FormWanted::What;

Protocol &protocol_of(THD *thd, bool prepared) {
  if (prepared) return thd->protocol_binary;
  return thd->protocol_text;
}

/// An integer as the server sends one of the column's type.
bool store_integer(Protocol &protocol, int64_t number, uint8_t type) {
  switch (type) {
    case MYSQL_TYPE_TINY: return !protocol.store_tiny(number);
    case MYSQL_TYPE_SHORT: return !protocol.store_short(number);
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG: return !protocol.store_long(number);
    case MYSQL_TYPE_LONGLONG: return !protocol.store_longlong(number, false);
    default: return false;
  }
}

/// Whether another THD may have opened the table. For the slow log a session counts the storage engine's work from the
/// time when it opens the table itself. In a cluster another node's DDL would end the THD that has it open.
bool may_borrow(THD *thd, const ReadForm &form) {
  return form.lock == FormLock::none && (thd->variables.log_slow_verbosity & LOG_SLOW_VERBOSITY_ENGINE) == 0 &&
         !is_client_of_cluster(thd);
}

bool put_row(Protocol &protocol, sql::Packets &packets) {
  const String &row = *protocol.storage_packet();
  if (row.length() >= MAX_PACKET_LENGTH) return false;
  packets.put({row.ptr(), row.length()});
  return true;
}

}  // namespace

bool may_read_database(const THD *thd, Bytes database) {
  const Security_context &account = *thd->security_ctx;
  if ((account.master_access & SELECT_ACL) != NO_ACL) return true;
  return thd->db.str != nullptr && (account.db_access & SELECT_ACL) != NO_ACL && lower_case_table_names == 0 &&
         database == Bytes(thd->db.str, thd->db.length);
}

std::optional<NotNow> SessionReader::run(THD *thd, const SessionRead &read, ReadTables *tables, Output &output) {
  if (read.form.lock != FormLock::none && !may_lock_rows(thd)) return NotNow::locking;
  // The server reports an invalid limit before it opens tables, and so begins no transaction.
  limits_ = {};
  if (!read.form.exists && !take_limits(read, limits_)) return NotNow::value;
  const TableNames names(read.form.database, read.form.table);
  TABLE_LIST list;
  TABLE *opened = nullptr;
  SessionStatement statement(thd, read.prepared);
  std::optional<NoRowWaits> no_waits;
  if (read.form.lock != FormLock::none) no_waits.emplace(thd);
  const Output::Mark start = output.mark();
  KeptTable *kept = nullptr;
  const auto fail = [&](NotNow why) -> std::optional<NotNow> {
    walk_.close();
    output.rewind_or_break(start);
    if (thd->transaction_rollback_request) {
      tell_lost(thd, opened, walk_.code());
      send_lost(thd, statement, read.bytes_received, output);
      return std::nullopt;
    }
    statement.undo();
    if (kept != nullptr && why == NotNow::read_failed) tables->drop(kept);
    return why;
  };
  const auto name = [&] {
    name_table(thd, list, *names.database, *names.table, thr_lock_of(read.form.lock, read.form.skips_locked));
  };
  const bool may_read_all = may_read_database(thd, read.form.database);
  if (!may_read_all) {
    name();
    if (!may_read(thd, list, read.form)) return fail(NotNow::privilege);
  }
  if (tables != nullptr && may_borrow(thd, read.form))
    kept = tables->find(read.id, names, read.table_version, thd->start_utime);
  if (kept != nullptr) {
    if (!statement.borrow(kept->table(), kept->ticket())) return fail(NotNow::table_busy);
    opened = &kept->table();
  } else {
    if (may_read_all) name();
    const bool is_open = statement.open(list);
    opened = list.table;
    if (!is_open) return fail(NotNow::table_busy);
  }
  TABLE &table = *opened;
  if (table.s->get_table_ref_version() != read.table_version) return fail(NotNow::table_changed);
  choose_columns(table, read);
  sql::Packets packets(output);
  read.answer.put_head(packets, static_cast<uint16_t>(thd->server_status));
  Written written;
  std::optional<NotNow> why = NotNow::read_failed;
  try {
    why = read_rows(thd, table, read, packets, written);
  } catch (const std::bad_alloc &) {
  }
  if (why || output.broken()) return fail(why.value_or(NotNow::read_failed));
  const KeyWalk::Access access = walk_.access();
  walk_.close();
  if (!statement.commit()) return fail(NotNow::read_failed);
  thd->update_server_status();
  read.answer.put_end(packets, static_cast<uint16_t>(thd->server_status));
  if (read.answer.columns_left_out()) ++thd->status_var.skip_metadata_count;
  if (access == KeyWalk::Access::range) ++thd->status_var.select_range_count_;
  if (access == KeyWalk::Access::scan) ++thd->status_var.select_scan_count_;
  statement.done(walk_.examined(), written.sent, written.found, read.bytes_received, output.mark() - start);
  return std::nullopt;
}

bool SessionReader::take_limits(const SessionRead &read, Limits &limits) {
  const auto take = [&](const std::optional<FormValue> &place, uint64_t &number) {
    if (!place) return true;
    Value value;
    if (!value_of(*place, read.values, value)) return false;
    if (value.kind() == Value::Kind::natural) {
      number = value.natural();
      return true;
    }
    if (value.kind() != Value::Kind::integer || value.integer() < 0) return false;
    number = static_cast<uint64_t>(value.integer());
    return true;
  };
  // With LIMIT 0 the server answers before reading.
  return take(read.form.limit, limits.rows) && take(read.form.offset, limits.offset) && limits.rows != 0;
}

bool SessionReader::may_read(THD *thd, TABLE_LIST &list, const ReadForm &form) {
  if (check_table_access(thd, SELECT_ACL, &list, false, 1, true)) return false;
  list.grant.want_privilege = SELECT_ACL & ~list.grant.privilege;
  if (list.grant.want_privilege == NO_ACL) return true;
  const auto may = [&](const std::string &column) {
    return compat::column_is_granted(thd, list.grant, form.database, form.table, column.c_str(), column.size());
  };
  return std::ranges::all_of(form.wanted,
                             [&](const FormWanted &one) {
                               // The columns of `*` are known only when the table is open.
                               if (one.what == What::column) return may(one.column);
                               return one.what == What::constant || one.what == What::null;
                             }) &&
         std::ranges::all_of(form.conditions, [&](const FormCondition &one) { return may(one.column); }) &&
         std::ranges::all_of(form.order, [&](const FormOrder &one) { return may(one.column); });
}

void SessionReader::choose_columns(TABLE &table, const SessionRead &read) {
  MY_BITMAP *const columns = table.read_set;
  for (const uint16_t at : read.read.columns) bitmap_set_bit(columns, at);
  for (const auto *const conditions : {&read.read.parts, &read.read.range, &read.read.filters})
    for (const ResolvedCondition &condition : *conditions) bitmap_set_bit(columns, condition.field);
  if (read.read.way == ReadWay::one) return;
  // Marks the columns that make rows unique, and bound a range.
  const KEY &key = table.key_info[read.read.index];
  for (uint i = 0; i < key.user_defined_key_parts; ++i) bitmap_set_bit(columns, key.key_part[i].fieldnr - 1);
  for (const FormOrder &order : read.form.order)
    for (Field **at = table.field; *at != nullptr; ++at)
      if (compat::same_name(system_charset_info, (*at)->field_name.str, order.column.c_str()))
        bitmap_set_bit(columns, (*at)->field_index);
}

std::optional<NotNow> SessionReader::read_rows(THD *thd, TABLE &table, const SessionRead &read, sql::Packets &packets,
                                               Written &written) {
  const bool keeps_locks = read.form.lock != FormLock::none && thd->in_multi_stmt_transaction_mode();
  if (keeps_locks && read.read.way != ReadWay::one && !read.form.conditions.empty()) {
    if (!walk_.prepare(thd, table, read.form, read.read, read.values)) return NotNow::value;
    if (!walk_.costs_less_than_all_rows()) return NotNow::other_index;  // the server would lock all rows
  }
  if (const auto why = walk_.open(thd, table, read.form, read.read, read.values)) return why;
  protocol_of(thd, read.prepared).prepare_for_send(read.answer.columns());
  return counts_rows(read.form) ? count_rows(thd, table, read, packets, written)
                                : write_rows(thd, table, read, packets, written);
}

std::optional<NotNow> SessionReader::write_rows(THD *thd, TABLE &table, const SessionRead &read, sql::Packets &packets,
                                                Written &written) {
  const Output::Mark start = packets.output().mark();
  const bool any_order = !read.read.ordered;
  for (;;) {
    const bool enough = written.found >= limits_.offset && written.found - limits_.offset >= limits_.rows;
    if (enough && (written.found == 0 || (!any_order && !read.read.ties))) return std::nullopt;
    const int code = walk_.next();
    if (code == KeyWalk::too_much) return NotNow::too_much;
    if (code == HA_ERR_END_OF_FILE) return std::nullopt;
    if (code != 0) return NotNow::read_failed;
    if (written.found != 0 && (any_order || (read.read.ties && walk_.ties_with_noted()))) return NotNow::order_unsure;
    if (enough) return std::nullopt;  // it does not tie with the last selected row
    if (read.read.ties) walk_.note();
    if (++written.found <= limits_.offset) continue;
    const size_t bytes = packets.output().mark() - start;
    if (bytes > limits::find_bytes_fast_max) return NotNow::too_much;
    if (!write_row(thd, table, read, packets)) return NotNow::read_failed;
    if (written.sent++ == 0 && packets.output().mark() - start > limits::first_row_bytes_fast_max)
      return NotNow::too_much;
  }
}

/// The one row of a COUNT or an EXISTS.
std::optional<NotNow> SessionReader::count_rows(THD *thd, TABLE &table, const SessionRead &read, sql::Packets &packets,
                                                Written &written) {
  if (limits_.offset != 0) return NotNow::value;
  int64_t rows = 0;
  const Field *const counted =
      read.form.exists || read.read.columns.empty() ? nullptr : table.field[read.read.columns[0]];
  int code = 0;
  bool matched = false;
  while (!(read.form.exists && rows != 0) && (code = walk_.next()) == 0) {
    matched = true;
    if (counted == nullptr || !counted->is_null()) ++rows;
  }
  if (code == KeyWalk::too_much) return NotNow::too_much;
  if (code != 0 && code != HA_ERR_END_OF_FILE) return NotNow::read_failed;
  if (!matched && tests_a_column_twice(read.read)) return NotNow::value;
  Protocol &protocol = protocol_of(thd, read.prepared);
  protocol.prepare_for_resend();
  // If the server has left out the types, these answers always have the same ones.
  uint8_t type = read.answer.type(0);
  if (read.answer.columns_left_out()) type = read.form.exists ? MYSQL_TYPE_LONG : MYSQL_TYPE_LONGLONG;
  if (!store_integer(protocol, rows, type) || !put_row(protocol, packets)) return NotNow::read_failed;
  written.sent = 1;
  // If a whole unique key finds nothing the server notices before counting, and leaves FOUND_ROWS() unchanged.
  const bool nothing = !matched && !read.form.exists && read.read.way == ReadWay::one;
  written.found = nothing ? thd->limit_found_rows : 1;
  return std::nullopt;
}

bool SessionReader::write_row(THD *thd, TABLE &table, const SessionRead &read, sql::Packets &packets) {
  Protocol &protocol = protocol_of(thd, read.prepared);
  protocol.prepare_for_resend();
  const std::vector<uint16_t> &columns = read.read.columns;
  size_t next = 0;
  uint32_t at = 0;
  for (const FormWanted &wanted : read.form.wanted) {
    switch (wanted.what) {
      case What::column:
        if (protocol.store(table.field[columns[next++]])) return false;
        ++at;
        break;
      case What::all_columns:
        for (Field **field = table.field; *field != nullptr; ++field) {
          if ((*field)->invisible != VISIBLE) continue;
          if (protocol.store(table.field[columns[next++]])) return false;
          ++at;
        }
        break;
      case What::constant:
        if (!store_integer(protocol, wanted.integer, read.answer.type(at++))) return false;
        break;
      case What::null:
        if (protocol.store_null()) return false;
        ++at;
        break;
      case What::count: return false;
    }
  }
  return put_row(protocol, packets);
}

}  // namespace postern::mariadb
