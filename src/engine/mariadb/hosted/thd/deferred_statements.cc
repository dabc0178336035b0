#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/thd/deferred_statements.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/hosted/thd/command.h"
#include "engine/mariadb/hosted/thd/session_statement.h"
#include "engine/mariadb/hosted/thd/vio_hooks.h"

namespace postern::mariadb {
namespace {

// As the server keeps the numbers.
constexpr ulong id_mask = 0x3fffffff;

/// Like do_command(), which would also report that a Galera node has ended the session's transaction: that error must
/// wait for the client's own command.
void prepare_for_nobody(THD *thd, std::string &text, Output &answer) {
  const Conversation conversation(thd->net.vio, {}, answer);
  const HeldForCluster held(thd);
  thd->lex->current_select = nullptr;
  thd->clear_error(true);
  net_new_transaction(&thd->net);
  thd->net.pkt_nr = 1;  // the client's packet was read
  thd->net.reading_or_writing = 0;
  dispatch_command(COM_STMT_PREPARE, thd, text.data(), static_cast<uint>(text.size()), true);
  thd->lex->restore_set_statement_var();
}

/// While this lives only the statement itself is counted, logged and kept.
class Unseen {
 public:
  explicit Unseen(THD *thd)
      : thd_(thd),
        last_(thd->last_stmt),
        counter_(thd->statement_id_counter),
        options_(thd->variables.option_bits),
        told_(thd->get_stmt_da()),
        unheard_(thd->query_id, false, true) {
    thd->set_stmt_da(&unheard_);
    std::memcpy(static_cast<void *>(&before_), &thd->status_var, counted_status_bytes);
    thd->variables.option_bits |= OPTION_LOG_OFF;
  }
  ~Unseen() {
    thd_->set_stmt_da(told_);
    std::memcpy(static_cast<void *>(&thd_->status_var), &before_, counted_status_bytes);
    thd_->variables.option_bits = options_;
    thd_->statement_id_counter = counter_;
    thd_->last_stmt = last_;
  }
  Unseen(const Unseen &) = delete;
  Unseen &operator=(const Unseen &) = delete;

 private:
  THD *const thd_;
  ::Statement *const last_;
  const ulong counter_;
  const ulonglong options_;
  Diagnostics_area *const told_;  // what SHOW WARNINGS would say
  Diagnostics_area unheard_;
  STATUS_VAR before_;
};

Bytes bytes_of(const LEX_CUSTRING &version) {
  return {reinterpret_cast<const char *>(version.str), version.length};
}

void bind(THD *thd, ::Statement &statement, Bytes types) {
  constexpr uint16 unsigned_flag = 1 << 15;
  List_iterator_fast<Item_param> parameters(statement.lex->param_list);
  for (Item_param *one = parameters++; one != nullptr && types.size() >= 2; one = parameters++) {
    const uint16 type = uint2korr(reinterpret_cast<const uchar *>(types.data()));
    one->unsigned_flag = (type & unsigned_flag) != 0;
    one->setup_conversion(thd, static_cast<uchar>(type));
    one->sync_clones();
    types.remove_prefix(2);
  }
}

bool begins_with_word(Bytes text, Bytes word) {
  if (text.size() < word.size() || (text.size() > word.size() && std::isalnum(static_cast<uchar>(text[word.size()]))))
    return false;
  return std::ranges::equal(text.substr(0, word.size()), word,
                            [](char one, char other) { return std::tolower(static_cast<uchar>(one)) == other; });
}

/// Reads, writes, and the begin and end of transactions change neither database nor modes nor character sets. Changes
/// by a stored function are lost: executing an older statement then fails as unknown.
bool text_keeps_context(Bytes text) {
  static constexpr Bytes words[] = {"select", "insert", "update", "delete",   "replace",
                                    "begin",  "start",  "commit", "rollback", "show"};
  while (!text.empty() && std::isspace(static_cast<uchar>(text[0]))) text.remove_prefix(1);
  const size_t end = text.find(';');  // another statement may follow
  if (end != Bytes::npos && end + 1 != text.size()) return false;
  return std::ranges::any_of(words, [text](Bytes word) { return begins_with_word(text, word); }) &&
         !(begins_with_word(text, "begin") && text.size() > 16);  // BEGIN NOT ATOMIC
}

bool execution_keeps_context(THD *thd, Bytes arguments) {
  if (arguments.size() < 4) return false;
  const uint32_t id = uint4korr(reinterpret_cast<const uchar *>(arguments.data()));
  ::Statement *const statement = id == last_prepared ? thd->last_stmt : thd->stmt_map.find(id);
  if (statement == nullptr || statement->lex == nullptr) return true;  // an error; or deferred, and harmless
  switch (statement->lex->sql_command) {
    case SQLCOM_SELECT:
    case SQLCOM_INSERT:
    case SQLCOM_INSERT_SELECT:
    case SQLCOM_UPDATE:
    case SQLCOM_UPDATE_MULTI:
    case SQLCOM_DELETE:
    case SQLCOM_DELETE_MULTI:
    case SQLCOM_REPLACE:
    case SQLCOM_REPLACE_SELECT:
    case SQLCOM_BEGIN:
    case SQLCOM_COMMIT:
    case SQLCOM_ROLLBACK: return true;
    default: return false;
  }
}

/// The statement was first prepared with another number of columns. The server compares the lengths of these lists when
/// it prepares it again, which it is about to do, and says SERVER_STATUS_METADATA_CHANGED.
void have_other_columns(::Statement &statement) {
  List<Item> &columns = statement.lex->first_select_lex()->item_list;
  columns.push_back(columns.head(), statement.mem_root);
}

}  // namespace

ClientMetadata ClientMetadata::of(THD *thd, uint32_t id) {
  const ::Statement *const statement = id == last_prepared ? thd->last_stmt : thd->stmt_map.find(id);
  if (statement == nullptr) return {};
  const send_column_info_state &state = statement->column_info_state;
  return {state.last_charset, state.checksum, state.immutable, state.initialized};
}

bool ClientMetadata::holds(const THD *thd) const {
  return initialized && (immutable || checksum != 0) && client == thd->variables.character_set_client;
}

bool DeferredStatements::count_one(bool whatever) {
  mysql_mutex_lock(&LOCK_prepared_stmt_count);
  const bool room = whatever || prepared_stmt_count < max_prepared_stmt_count;
  if (room) ++prepared_stmt_count;
  mysql_mutex_unlock(&LOCK_prepared_stmt_count);
  return room;
}

void DeferredStatements::count_less(size_t statements) {
  if (statements == 0) return;
  mysql_mutex_lock(&LOCK_prepared_stmt_count);
  prepared_stmt_count -= static_cast<uint>(statements);
  mysql_mutex_unlock(&LOCK_prepared_stmt_count);
}

uint32_t DeferredStatements::add(THD *thd, Bytes text, uint64_t dialect, const DeferredStatement &deferred) {
  const auto id = static_cast<uint32_t>((thd->statement_id_counter + 1) & id_mask);
  const auto added = statements_.try_emplace(id, Entry{std::string(text), dialect, deferred, my_hrtime().val});
  if (!added.second) return 0;
  if (!count_one(false)) {
    statements_.erase(added.first);
    return 0;
  }
  ++thd->statement_id_counter;
  thd->last_stmt = nullptr;
  last_ = id;
  return id;
}

uint32_t DeferredStatements::meant(const THD *thd, uint32_t id) const {
  if (id == last_prepared) id = thd->last_stmt == nullptr ? last_ : 0;
  return statements_.contains(id) ? id : 0;
}

DeferredStatement *DeferredStatements::find(uint32_t id) {
  const auto found = statements_.find(id);
  return found != statements_.end() ? &found->second.deferred : nullptr;
}

const DeferredStatement *DeferredStatements::find(uint32_t id) const {
  const auto found = statements_.find(id);
  return found != statements_.end() ? &found->second.deferred : nullptr;
}

void DeferredStatements::bind(uint32_t id, Bytes types) {
  const auto found = statements_.find(id);
  if (found != statements_.end() && !types.empty()) found->second.types.assign(types);
}

bool DeferredStatements::drop(uint32_t id) {
  if (statements_.erase(id) == 0) return false;
  if (last_ == id) last_ = 0;
  count_less(1);
  return true;
}

void DeferredStatements::clear() {
  count_less(statements_.size());
  statements_.clear();
  last_ = 0;
}

bool DeferredStatements::keep(THD *thd, uint32_t id, uint64_t dialect, Output &error) {
  const auto found = statements_.find(id);
  if (found == statements_.end()) return true;
  if (found->second.dialect != dialect) {
    drop(id);
    return true;
  }
  count_less(1);  // the server counts it
  {
    const Unseen unseen(thd);
    thd->statement_id_counter = id - 1;
    prepare_for_nobody(thd, found->second.text, error);
  }
  ::Statement *const statement = thd->stmt_map.find(id);
  if (statement == nullptr) {
    // It would have prepared it again.
    count_one(true);
    ++thd->statement_id_counter;
    ++thd->status_var.com_stmt_reprepare;
    return false;
  }
  TABLE_LIST *const table = statement->lex->query_tables;
  // The server prepares it again if it was prepared with another definition, or before a trigger was made.
  const DeferredStatement &deferred = found->second.deferred;
  statement->hr_prepare_time.val = found->second.time;
  if (table != nullptr) {
    const bool same = definition_of(bytes_of(table->tabledef_version)) == deferred.definition;
    table->set_table_ref_id(TABLE_REF_BASE_TABLE, same ? deferred.version : 0);
    if (!same) table->tabledef_version.length = 0;
    const uint32_t listed = columns_listed_by(thd, id);
    if (!same && listed != 0 && deferred.columns_listed != 0 && listed != deferred.columns_listed)
      have_other_columns(*statement);
  }
  send_column_info_state &state = statement->column_info_state;
  const ClientMetadata &columns = deferred.columns;
  state.last_charset = columns.client;
  state.checksum = columns.checksum;
  state.immutable = columns.immutable;
  state.initialized = columns.initialized;
  // In the same dialect, and so in the same character sets, as the client has bound them.
  mariadb::bind(thd, *statement, found->second.types);
  if (last_ == id && thd->last_stmt == nullptr) thd->last_stmt = statement;
  if (last_ == id) last_ = 0;
  statements_.erase(found);
  return true;
}

void DeferredStatements::keep_all(THD *thd, uint64_t dialect) {
  std::vector<uint32_t> ids;
  ids.reserve(statements_.size());
  for (const auto &one : statements_) ids.push_back(one.first);
  for (const uint32_t id : ids) {
    Output error;
    (void)keep(thd, id, dialect, error);
  }
}

void bind_types(THD *thd, uint32_t id, Bytes types) {
  if (types.empty()) return;
  ::Statement *const statement = id == last_prepared ? thd->last_stmt : thd->stmt_map.find(id);
  if (statement != nullptr && statement->lex != nullptr) bind(thd, *statement, types);
}

uint32_t columns_listed_by(THD *thd, uint32_t id) {
  ::Statement *const statement = thd->stmt_map.find(id);
  return statement != nullptr && statement->lex != nullptr ? statement->lex->first_select_lex()->item_list.elements : 0;
}

uint64_t definition_of(Bytes tabledef_version) {
  return std::hash<Bytes>()(tabledef_version);
}

bool may_change_context(THD *thd, Bytes packet) {
  if (packet.size() <= header_bytes || thd->net.compress) return true;
  const Bytes arguments = packet.substr(header_bytes + 1);
  switch (static_cast<unsigned char>(packet[header_bytes])) {
    case COM_QUERY: return !text_keeps_context(arguments);
    case COM_STMT_EXECUTE:
    case COM_STMT_BULK_EXECUTE: return !execution_keeps_context(thd, arguments);
    case COM_STMT_PREPARE:
    case COM_STMT_CLOSE:
    case COM_STMT_RESET:
    case COM_STMT_FETCH:
    case COM_STMT_SEND_LONG_DATA:
    case COM_PING:
    case COM_STATISTICS:
    case COM_QUIT:
    // These end all statements, deferred or not.
    case COM_CHANGE_USER:
    case COM_RESET_CONNECTION: return false;
    default: return true;
  }
}

}  // namespace postern::mariadb
