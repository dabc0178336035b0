#include "engine/mariadb/server.h"

#include "engine/mariadb/table.h"

#include <algorithm>
#include <cctype>

#include "base/limits.h"
#include "engine/mariadb/failures.h"

namespace postern::mariadb {
namespace {

bool same_name(const LEX_CSTRING &ours, Bytes theirs) {
  return my_charset_utf8mb3_general_ci.strnncoll(ours.str, ours.length, theirs.data(), theirs.size()) == 0;
}

/// Lower case where the server compares names that way: metadata locks are taken on the bytes of a name.
std::string table_name(Bytes name) {
  std::string copy(name);
  if (lower_case_table_names != 0 && !copy.empty())
    copy.resize(my_casedn_str(system_charset_info, copy.data()) ? std::strlen(copy.c_str()) : 0);
  return copy;
}

/// A name from a list, without its backquotes.
std::string unquoted(Bytes name) {
  if (name.size() < 2 || name.front() != '`' || name.back() != '`') return std::string(name);
  std::string copy;
  for (size_t i = 1; i + 1 < name.size(); ++i) {
    copy += name[i];
    if (name[i] == '`' && name[i + 1] == '`') ++i;
  }
  return copy;
}

bool equals_ignoring_case(Bytes left, Bytes right) {
  return left.size() == right.size() &&
         std::equal(left.begin(), left.end(), right.begin(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

/// Whether SQL could name a table so at all. `#mysql50#` would let a name step out of the encoding of file names.
bool name_is_sane(const std::string &name, bool is_database) {
  if (name.empty() || name.size() > NAME_LEN || name.find('\0') != std::string::npos) return false;
  if (name.starts_with(MYSQL50_TABLE_NAME_PREFIX)) return false;
  std::string copy = name;
  LEX_STRING text{copy.data(), copy.size()};
  return is_database ? !check_db_name(&text) : !check_table_name(name.data(), name.size(), false);
}

/// The server's message for an error about two names, in the server's language.
std::string message_of(THD *thd, int error, const char *first, const char *second) {
  char text[MYSQL_ERRMSG_SIZE];
  my_snprintf(text, sizeof text, ER_THD(thd, error), first, second);
  return text;
}

Field *find_field(TABLE *table, const std::string &name) {
  for (Field **field = table->field; *field != nullptr; ++field)
    if (same_name((*field)->field_name, name)) return (*field)->invisible == INVISIBLE_FULL ? nullptr : *field;
  return nullptr;
}

/// Resolves a list of names; false with the first unknown one in `unknown`.
bool find_fields(TABLE *table, const std::string &list, std::vector<uint16_t> &positions, std::string &unknown) {
  positions.clear();
  Bytes name;
  for (NameList names(list); names.next(name);) {
    unknown = unquoted(name);
    const Field *const field = find_field(table, unknown);
    if (field == nullptr || positions.size() == limits::columns_max) return false;
    positions.push_back(field->field_index);
  }
  return true;
}

/// By name, as SQL compares names; else, if it begins with a digit, by position.
bool find_index(TABLE *table, const std::string &name, uint32_t &index) {
  for (uint32_t i = 0; i < table->s->keys; ++i) {
    if (same_name(table->key_info[i].name, name.empty() ? Bytes("PRIMARY") : Bytes(name))) {
      index = i;
      return true;
    }
  }
  if (name.empty() || !std::isdigit(static_cast<unsigned char>(name.front()))) return false;
  uint64_t position = 0;
  if (!parse_natural(name, position) || position >= table->s->keys) return false;
  index = static_cast<uint32_t>(position);
  return true;
}

bool index_serves_lookups(const KEY &key) {
  if (key.flags & (HA_FULLTEXT | HA_SPATIAL)) return false;
  switch (key.algorithm) {
    case HA_KEY_ALG_FULLTEXT:
    case HA_KEY_ALG_RTREE:
    case HA_KEY_ALG_LONG_HASH: return false;
    default: return true;
  }
}

}  // namespace

OpenTable::OpenTable(Spec *spec)
    : serial(spec->serial()),
      database_(table_name(spec->spec().database)),
      name_(table_name(spec->spec().table)),
      index_name_(spec->spec().index),
      column_list_(spec->spec().columns),
      filter_column_list_(spec->spec().filter_columns) {}

Tables::~Tables() {
  release_all();
}

OpenTable &Tables::prepare(Spec *spec, bool positions) {
  if (spec->id() >= open_.size()) open_.resize(spec->id() + 1);
  std::unique_ptr<OpenTable> &slot = open_[spec->id()];
  if (slot == nullptr || slot->serial != spec->serial()) {
    // An id given to new names: what was open for the old ones has no user left and goes when all goes.
    if (slot != nullptr && slot->table != nullptr) release_all();
    slot = std::make_unique<OpenTable>(spec);
  }
  OpenTable &table = *slot;
  if (table.batch == batch_ && table.state != TableState::again) {
    if (positions && !table.positions && table.table != nullptr) {
      table.positions = true;
      set_read_set(table);
    }
    return table;
  }
  if (table.table == nullptr) {
    if (positions) table.positions = true;
    open(table);
  } else if (table.resolved) {
    // What went wrong with its lock in an earlier batch is no matter now.
    table.state = TableState::ready;
    if (positions && !table.positions) {
      table.positions = true;
      set_read_set(table);
    }
  }
  table.batch = batch_;
  if (table.state == TableState::ready) used_.push_back(&table);
  return table;
}

void Tables::fail(OpenTable &table, Failure failure, std::string message) {
  table.state = TableState::failed;
  table.failure = failure;
  table.message = std::move(message);
  thd_->clear_error(true);
}

void Tables::fail_with_server_error(OpenTable &table, Failure otherwise) {
  const Failure failure = thd_->is_error() ? open_failure(thd_) : otherwise;
  fail(table, failure, take_server_message(thd_));
}

void Tables::open(OpenTable &table) {
  for (const char *const schema : {"mysql", "sys", "information_schema", "performance_schema"}) {
    if (!equals_ignoring_case(table.database_, schema)) continue;
    // No table of performance_schema has an index that could be opened, and that is what clients were always told.
    if (equals_ignoring_case(schema, "performance_schema"))
      return fail(table, Failure::no_index, "Tables of performance_schema have no index to read by");
    return fail(table, Failure::system_schema,
                "Access denied: '" + table.database_ + "' is a system schema and is never opened");
  }
  if (!name_is_sane(table.database_, true) || !name_is_sane(table.name_, false)) {
    const std::string full = table.database_ + "." + table.name_;
    return fail(table, Failure::no_table,
                message_of(thd_, ER_NO_SUCH_TABLE, table.database_.c_str(), table.name_.c_str()));
  }

  const LEX_CSTRING database{table.database_.c_str(), table.database_.size()};
  const LEX_CSTRING name{table.name_.c_str(), table.name_.size()};
  table.list_.init_one_table(&database, &name, nullptr, TL_READ);
  table.list_.required_type = TABLE_TYPE_NORMAL;  // opening a view without this crashes the server
  table.list_.open_type = OT_BASE_ONLY;
  Open_table_context context(thd_, MYSQL_OPEN_FAIL_ON_MDL_CONFLICT | MYSQL_OPEN_IGNORE_REPAIR);
  const bool failed = open_table(thd_, &table.list_, &context);
  if (failed && context.can_recover_from_failed_open()) {
    // The server wants tables closed, or the table's definition fetched anew, before it can be opened.
    thd_->clear_error(true);
    release_all();
    context.recover_from_failed_open();
    thd_->clear_error(true);
    table.state = TableState::again;
    return;
  }
  if (failed) {
    // The metadata lock was taken before the open failed; kept, it would stand in the way of CREATE TABLE.
    thd_->mdl_context.rollback_to_savepoint(context.start_of_statement_svp());
    const bool busy = open_found_busy(thd_);
    if (busy) {
      take_server_message(thd_);
      table.state = TableState::busy;
      counters_->add(Counter::busy_retries);
    } else {
      fail_with_server_error(table, Failure::cannot_open);
    }
    return;
  }
  table.table = table.list_.table;
  table.lock_type_known = false;
  table.resolved = false;
  ++open_count_;
  counters_->add(Counter::table_opens);
  resolve(table);
}

void Tables::resolve(OpenTable &table) {
  TABLE *const opened = table.table;
  TABLE_SHARE *const share = opened->s;
  const std::string full_name = table.database_ + "." + table.name_;
  if (share->table_type != TABLE_TYPE_NORMAL)
    return fail(table, Failure::not_a_base_table, "'" + full_name + "' is a sequence");
  if (share->table_category != TABLE_CATEGORY_USER)
    return fail(table, Failure::system_schema, "Access denied: '" + full_name + "' is a system table");
  if (share->db_type()->db_type == DB_TYPE_MRG_MYISAM)
    return fail(table, Failure::engine_unsupported, "MERGE table '" + full_name + "' cannot be opened");
  if (!find_index(opened, table.index_name_, table.index))
    return fail(table, Failure::no_index,
                message_of(thd_, ER_KEY_DOES_NOT_EXISTS,
                           table.index_name_.empty() ? "PRIMARY" : table.index_name_.c_str(), full_name.c_str()));
  if (!index_serves_lookups(table.key_info()))
    return fail(table, Failure::index_unusable,
                "Index '" + table.index_name_ + "' of '" + full_name + "' does not support lookups by key");
  std::string unknown;
  if (!find_fields(opened, table.column_list_, table.columns, unknown) ||
      !find_fields(opened, table.filter_column_list_, table.filter_columns, unknown))
    return fail(table, Failure::no_column, message_of(thd_, ER_BAD_FIELD_ERROR, unknown.c_str(), full_name.c_str()));

  const KEY &key = table.key_info();
  table.versioning_end = share->versioned != VERS_UNDEFINED ? opened->vers_end_field() : nullptr;
  table.unique = key.flags & HA_NOSAME;
  table.key.assign(key.key_length + 1, 0);
  table.in_key.assign(key.key_length + 1, 0);
  table.reader.bind(opened, table.columns);
  table.resolved = true;
  table.state = TableState::ready;
  table.failure = Failure::none;
  set_read_set(table);
}

void Tables::set_read_set(OpenTable &table) {
  TABLE *const opened = table.table;
  if (opened->file->inited != handler::NONE) opened->file->ha_index_end();
  bitmap_clear_all(&opened->tmp_set);
  opened->column_bitmaps_set_no_signal(&opened->tmp_set, &opened->tmp_set);
  const auto want = [&](uint16_t position) { opened->mark_column_with_deps(opened->field[position]); };
  for (const uint16_t position : table.columns) want(position);
  for (const uint16_t position : table.filter_columns) want(position);
  if (table.versioning_end != nullptr) want(table.versioning_end->field_index);
  const KEY &key = table.key_info();
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    const KEY_PART_INFO &part = key.key_part[i];
    // A prefix of the column is in the index; the find compares the whole.
    if (table.positions || part.key_part_flag & HA_PART_KEY_SEG) want(part.fieldnr - 1);
  }
  if (table.positions && opened->s->primary_key != MAX_KEY) {
    const KEY &primary = opened->key_info[opened->s->primary_key];
    for (uint i = 0; i < primary.user_defined_key_parts; ++i) want(primary.key_part[i].fieldnr - 1);
  }
  table.covering = !opened->file->pk_is_clustering_key(table.index) &&
                   (opened->file->index_flags(table.index, 0, true) & HA_KEYREAD_ONLY);
  for (uint i = 0; i < opened->s->fields && table.covering; ++i)
    if (bitmap_is_set(&opened->tmp_set, i)) table.covering = opened->field[i]->part_of_key.is_set(table.index);
}

void Tables::lock(OpenTable &table) {
  handler &file = table.file();
  // With metadata lock and TABLE at hand, a storage engine without table locks of its own needs nothing but to
  // hear that a statement begins. The first time it must also hear store_lock(), which decides how it reads.
  if (table.lock_type_known && file.lock_count() == 0) {
    if (const int code = file.ha_external_lock(thd_, F_RDLCK)) {
      std::string message;
      engine_failure(thd_, table.table, code, message);
      return fail(table, Failure::lock_failed, std::move(message));
    }
  } else {
    table.lock = mysql_lock_tables(thd_, &table.table, 1, 0);
    if (table.lock == nullptr) {
      if (open_found_busy(thd_)) {
        take_server_message(thd_);
        table.state = TableState::busy;
        counters_->add(Counter::busy_retries);
        return;
      }
      return fail_with_server_error(table, Failure::lock_failed);
    }
    table.lock_type_known = true;
  }
  table.locked = true;
  if (table.covering) file.ha_start_keyread(table.index);
}

void Tables::lock_all() {
  if (used_.empty()) return;
  for (OpenTable *const table : used_) lock(*table);
  counters_->add(Counter::table_locks);
  for (OpenTable *const table : used_) {
    handlerton *const engine = table->table->file->ht;
    if (!table->locked || engine->db_type != DB_TYPE_INNODB) continue;
    // Opens the read view now: every request of the batch arrived before it, and the adaptive hash index serves
    // lookups only while a view is open.
    engine->start_consistent_snapshot(engine, thd_);
    break;
  }
}

void Tables::unlock_all() {
  bool any = false;
  for (OpenTable *const table : used_) {
    if (!table->locked) continue;
    any = true;
    handler &file = table->file();
    if (table->covering) file.ha_end_keyread();
    // Rows_read is added up where SQL closes a table after each statement; ours stays open while requests come.
    file.update_global_table_stats();
    // A cursor on InnoDB may outlive the batch, which saves its set-up; others get none across an unlock.
    if (file.inited != handler::NONE && file.ht->db_type != DB_TYPE_INNODB) file.ha_index_end();
  }
  if (any) {
    trans_commit_stmt(thd_);
    counters_->add(Counter::table_unlocks);
  }
  for (OpenTable *const table : used_) {
    if (!table->locked) continue;
    table->locked = false;
    if (table->lock != nullptr) {
      mysql_unlock_tables(thd_, table->lock);
      table->lock = nullptr;
    } else {
      table->file().ha_external_unlock(thd_);
    }
  }
  used_.clear();
}

bool Tables::wanted_by_others() const {
  for (const TABLE *opened = thd_->open_tables; opened != nullptr; opened = opened->next) {
    if (const_cast<TABLE *>(opened)->needs_reopen() || opened->s->tdc->flushed ||
        opened->mdl_ticket->has_pending_conflicting_lock())
      return true;
  }
  return false;
}

void Tables::release_all() {
  if (open_count_ != 0) {
    for (const auto &table : open_) {
      if (table == nullptr || table->table == nullptr) continue;
      if (table->file().inited != handler::NONE) table->file().ha_index_end();
      table->table = nullptr;
      table->state = TableState::again;
    }
    used_.clear();
    close_thread_tables(thd_);
    counters_->add(Counter::table_closes, open_count_);
    open_count_ = 0;
  }
  thd_->release_transactional_locks();
}

}  // namespace postern::mariadb
