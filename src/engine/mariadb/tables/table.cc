#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/tables/table.h"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "base/limits.h"
#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/failures.h"
#include "engine/mariadb/basics/storage.h"
#include "engine/rows/names.h"

namespace postern::mariadb {
namespace {

/// From so many lookups on, one read by the slow path costs less than it saves for the others.
constexpr size_t lookups_for_the_long_way = 4;

}  // namespace

Tables::~Tables() {
  release_all();
}

OpenTable &Tables::prepare_anew(Spec *spec, bool positions) {
  OpenTable *known = open_.find(spec->id());
  if (known == nullptr || known->serial != spec->serial()) {
    auto fresh = std::make_unique<OpenTable>(spec);
    // The id was given to new names: the table of the old ones has no user and closes when all do.
    if (known != nullptr && known->table != nullptr) give_up_all_();
    known = &open_.put(std::move(fresh));
  }
  OpenTable &table = *known;
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
    // A lock failure of an earlier batch does not matter now.
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

void Tables::open(OpenTable &table) {
  if (!table.admitted && !take(table, may_be_opened(thd_, table.database, table.name))) return;
  table.admitted = true;
  name_table(thd_, table.list_, table.database, table.name, TL_READ);
  if (!take(table, open_without_waiting(thd_, table.list_, give_up_all_))) return;
  table.table = table.list_.table;
  table.lock_type_known = false;
  ++open_count_;
  counters_->add(Counter::table_opens);
  const bool resolved = take(table, resolve_names(thd_, table));
  if (table.engine == nullptr || !table.engine->stays_open) must_close_ = true;
  if (!resolved) return;
  // Others may have no view that lasts, and a generated column may be RAND().
  table.repeats = table.file().ht->db_type == DB_TYPE_INNODB && table.table->vfield == nullptr;
  set_read_set(table);
}

/// Notes how an attempt ended; true if the table is ready.
bool Tables::take(OpenTable &table, OpenAttempt attempt) {
  if (attempt.state == TableState::busy) counters_->add(Counter::busy_retries);
  table.state = attempt.state;
  table.failure = attempt.failure;
  table.error = std::move(attempt.error);
  return attempt.state == TableState::ready;
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
  const std::span<const KEY_PART_INFO> parts(key.key_part, key.user_defined_key_parts);
  // Where the index has prefixes of columns, finds compare the whole.
  table.key_is_read = table.positions || std::any_of(parts.begin(), parts.end(), [](const KEY_PART_INFO &part) {
                        return part.key_part_flag & HA_PART_KEY_SEG;
                      });
  if (table.key_is_read) {
    for (const KEY_PART_INFO &part : parts) want(part.fieldnr - 1);
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
  // With the metadata lock and the TABLE held, a storage engine without table locks of its own only needs to be
  // notified that a statement begins. The first time it also needs store_lock(), which decides how it reads.
  if (table.lock_type_known && file.lock_count() == 0) {
    if (const int code = file.ha_external_lock(thd_, F_RDLCK)) {
      ServerError error;
      engine_failure(thd_, table.table, code, error);
      take(table, {TableState::failed, Failure::lock_failed, std::move(error)});
      return;
    }
  } else {
    table.lock = mysql_lock_tables(thd_, &table.table, 1, 0);
    if (table.lock == nullptr) {
      take(table, failed_lock(thd_));
      return;
    }
    table.lock_type_known = true;
  }
  table.locked = true;
  if (table.covering) file.ha_start_keyread(table.index);
}

void Tables::lock_all(size_t lookups) {
  if (used_.empty()) return;
  for (OpenTable *const table : used_) lock(*table);
  counters_->add(Counter::table_locks);
  // The first read opens the view, whatever the isolation. That read takes the slow path: the adaptive hash index
  // serves lookups only while a view is open. But it also makes InnoDB keep its row template for all later reads, which
  // a batch that begins on the fast path repeats for each.
  if (thd_->tx_isolation != ISO_REPEATABLE_READ || lookups >= lookups_for_the_long_way) return;
  for (OpenTable *const table : used_) {
    handlerton *const engine = table->table->file->ht;
    if (!table->locked || engine->db_type != DB_TYPE_INNODB) continue;
    compat::open_read_view(*engine, thd_);
    break;
  }
}

void Tables::unlock_all(Ending ending) {
  bool any = false;
  for (OpenTable *const table : used_) {
    if (!table->locked) continue;
    any = true;
    handler &file = table->file();
    if (table->covering) file.ha_end_keyread();
    // Rows_read is added up where SQL closes a table after each statement; ours stays open while requests come.
    file.update_global_table_stats();
    holds_much_ |= table->reader.holds_much();
    table->reader.give_back();
    // An InnoDB cursor may outlive the batch, which saves its set-up; other engines' cursors end at the unlock.
    if (file.inited != handler::NONE && file.ht->db_type != DB_TYPE_INNODB) file.ha_index_end();
  }
  if (any) {
    if (ending == Ending::commit) trans_commit_stmt(thd_);
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
  for (OpenTable *const table : used_) count(*table);
  used_.clear();
}

/// Adds up the finds of the batch. The client may have closed the index since.
void Tables::count(OpenTable &table) {
  if ((table.finds | table.rows_examined) == 0) return;
  table.counts->add(std::exchange(table.finds, 0), std::exchange(table.rows_examined, 0), 0);
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
  close_all();
  release_locks(thd_);
}

void Tables::go_idle() {
  release_all();
  open_.forget_most();
}

void Tables::forget_retired() {
  // Open tables without an owner close with the others.
  if (open_count_ != 0) give_up_all_();
  open_.forget_retired();
}

void Tables::close_all() {
  if (open_count_ == 0) return;
  open_.visit([](OpenTable &table) {
    if (table.table == nullptr) return;
    if (table.file().inited != handler::NONE) table.file().ha_index_end();
    table.table = nullptr;
    table.state = TableState::again;
  });
  used_.clear();
  holds_much_ = false;
  close_thread_tables(thd_);
  counters_->add(Counter::table_closes, open_count_);
  open_count_ = 0;
  must_close_ = false;
}

}  // namespace postern::mariadb
