#include "engine/mysql/server.h"

#include "engine/mysql/table.h"

#include <algorithm>
#include <span>
#include <utility>

#include "engine/mysql/failures.h"
#include "engine/rows/names.h"

namespace postern::mysqld {
Tables::~Tables() {
  release_all();
}

void Tables::begin_batch() {
  ++batch_;
  if (!open_.worth_a_look()) return;
  // Open tables without an owner close with the others.
  if (open_count_ != 0) give_up_all_();
  open_.forget_retired();
}

OpenTable &Tables::prepare(Spec *spec, bool positions) {
  OpenTable *known = open_.find(spec->id());
  if (known == nullptr || known->serial != spec->serial()) {
    auto fresh = std::make_unique<OpenTable>(spec);
    // The id was given to new names: the table of the old ones has no user and closes when all do.
    if (known != nullptr && known->table != nullptr) give_up_all_();
    known = &open_.put(std::move(fresh));
  }
  OpenTable &table = *known;
  if (table.batch == batch_ && table.state != TableState::again) {
    if (positions) want_positions(table);
    return table;
  }
  if (table.table == nullptr) {
    table.positions |= positions;
    open(table);
  } else if (table.resolved) {
    // A lock failure of an earlier batch does not matter now.
    table.state = TableState::ready;
    if (positions) want_positions(table);
  }
  table.batch = batch_;
  if (table.state == TableState::ready) used_.push_back(&table);
  return table;
}

void Tables::want_positions(OpenTable &table) {
  if (table.positions || table.table == nullptr) return;
  table.positions = true;
  set_read_set(table);
}

void Tables::open(OpenTable &table) {
  if (!table.admitted && !take(table, may_be_opened(thd_, table.database, table.name))) return;
  table.admitted = true;
  if (table.list_ == nullptr) table.list_ = std::make_unique<Table_ref>();
  name_table(thd_, *table.list_, table.database, table.name, TL_READ);
  if (!take(table, open_without_waiting(thd_, *table.list_, give_up_all_))) return;
  table.table = table.list_->table;
  table.table->reginfo.lock_type = TL_READ;
  ++open_count_;
  counters_->add(Counter::table_opens);
  if (!take(table, resolve_names(thd_, table))) return;
  // A generated column may be RAND().
  table.repeats = table.table->vfield == nullptr;
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
  const auto want = [&](uint16_t position) { opened->mark_column_used(opened->field[position], MARK_COLUMNS_TEMP); };
  for (const uint16_t position : table.columns) want(position);
  for (const uint16_t position : table.filter_columns) want(position);
  const KEY &key = table.key_info();
  const std::span<const KEY_PART_INFO> parts(key.key_part, key.user_defined_key_parts);
  // The server merges the rows of partitions by the parts of the index that it has read, and of the primary key after
  // it.
  const bool merges = opened->part_info != nullptr;
  // Where the index has prefixes of columns, finds compare the whole.
  table.key_is_read = table.positions || merges ||
                      std::any_of(parts.begin(), parts.end(),
                                  [](const KEY_PART_INFO &part) { return part.key_part_flag & HA_PART_KEY_SEG; });
  if (table.key_is_read) {
    for (const KEY_PART_INFO &part : parts) want(part.fieldnr - 1);
  }
  if ((table.positions || merges) && opened->s->primary_key != MAX_KEY) {
    const KEY &primary = opened->key_info[opened->s->primary_key];
    for (uint i = 0; i < primary.user_defined_key_parts; ++i) want(primary.key_part[i].fieldnr - 1);
  }
}

void Tables::lock_all(size_t) {
  if (used_.empty()) return;
  to_lock_.clear();
  for (const OpenTable *const table : used_) to_lock_.push_back(table->table);
  lock_ = mysql_lock_tables(thd_, to_lock_.data(), to_lock_.size(), 0);
  counters_->add(Counter::table_locks);
  if (lock_ != nullptr) return;
  const OpenAttempt attempt = failed_lock(thd_);
  for (OpenTable *const table : used_) take(*table, attempt);
}

void Tables::unlock_all(Ending ending) {
  if (lock_ != nullptr) {
    for (OpenTable *const table : used_) {
      holds_much_ |= table->reader.holds_much();
      table->reader.give_back();
      if (table->file().inited != handler::NONE) table->file().ha_index_end();
    }
    if (ending == Ending::commit) trans_commit_stmt(thd_);
    mysql_unlock_tables(thd_, std::exchange(lock_, nullptr));
    counters_->add(Counter::table_unlocks);
  }
  for (OpenTable *const table : used_) {
    if ((table->finds | table->rows_examined) == 0) continue;
    table->counts->add(std::exchange(table->finds, 0), std::exchange(table->rows_examined, 0), 0);
  }
  used_.clear();
}

bool Tables::wanted_by_others() const {
  for (const TABLE *opened = thd_->open_tables; opened != nullptr; opened = opened->next) {
    if (opened->s->has_old_version() || opened->has_invalid_dict() ||
        (opened->mdl_ticket != nullptr && opened->mdl_ticket->has_pending_conflicting_lock()))
      return true;
  }
  return false;
}

void Tables::release_all() {
  close_all();
  if (thd_ != nullptr) release_locks(thd_);
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
}

void Tables::go_idle() {
  release_all();
  open_.forget_most();
}

}  // namespace postern::mysqld
