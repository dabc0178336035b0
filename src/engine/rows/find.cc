#include "engine/server/server.h"

#include "engine/rows/find.h"

#include <cstdio>

#include "base/limits.h"
#include "contract/executor.h"
#include "engine/server/differences.h"
#include "engine/server/failures.h"
#include "engine/server/shape.h"
#include "engine/server/storage.h"

namespace postern::rows {

struct Finder::Scan {
  Op &op;
  const Find &find;
  OpenTable &table;
  sql::ScanPlace *place = nullptr;  // the position to resume at, then the scan's position
  uint64_t examined = 0;            // rows, and lookups: the find's cost
  uint64_t lookups = 0;             // among these: one costs, whether it finds a row or not
  sql::LookTimer look{};
  bool resumed = false;         // the current key is resumed from a position
  bool row_is_current = false;  // record[0] holds a row of the running key
  bool must_rest = false;       // the reply takes no more for now
  Failure failure = Failure::none;
  int32_t engine_code = 0;
};

namespace {

void add_shape(std::string &shape, const Field &field) {
  char text[96];
  const int size =
      std::snprintf(text, sizeof text, "%d:%u:%u:%u:%x ", static_cast<int>(field.real_type()),
                    static_cast<unsigned>(field.field_length), field.charset()->number,
                    static_cast<unsigned>(field.decimals()), flags_of(field) & (UNSIGNED_FLAG | NOT_NULL_FLAG));
  shape.append(text, static_cast<size_t>(size));
}

void add_shape(std::string &shape, const KEY &key) {
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    const KEY_PART_INFO &part = key.key_part[i];
    add_shape(shape, *part.field);
    shape += std::to_string(part.length) + (part.key_part_flag & HA_REVERSE_SORT ? "- " : "+ ");
  }
}

bool has_whole_column(const KEY &key, uint parts, uint16 fieldnr) {
  for (uint i = 0; i < parts; ++i)
    if (key.key_part[i].fieldnr == fieldnr) return !(key.key_part[i].key_part_flag & HA_PART_KEY_SEG);
  return false;
}

/// The number of parts of the index that make its rows unique, counting those of the primary key that the storage
/// engine adds after the declared ones and can be searched by; 0 if all of them do not.
uint unique_parts(const OpenTable &table) {
  KEY &key = table.key_info();
  if (key.flags & HA_NOSAME && !(key.flags & HA_NULL_PART_KEY)) return key.user_defined_key_parts;
  if (table.table->s->primary_key == MAX_KEY) return 0;
  const uint parts = searchable_parts(*table.table, key);
  const KEY &primary = table.table->key_info[table.table->s->primary_key];
  for (uint i = 0; i < primary.user_defined_key_parts; ++i) {
    const KEY_PART_INFO &part = primary.key_part[i];
    if (part.key_part_flag & HA_PART_KEY_SEG || !has_whole_column(key, parts, part.fieldnr)) return 0;
  }
  return parts;
}

/// What must be the same for a scan to go on after DDL: the columns it sends, and the keys its place is made of.
std::string shape_of(const OpenTable &table) {
  std::string shape;
  for (const uint16_t column : table.columns) add_shape(shape, *table.table->field[column]);
  add_shape(shape, table.key_info());
  if (table.table->s->primary_key != MAX_KEY) add_shape(shape, table.table->key_info[table.table->s->primary_key]);
  return shape + std::to_string(table.file().ref_length);
}

}  // namespace

void Finder::run(Op &op, OpenTable &table) {
  const Find &find = *op.find;
  const bool shares = equal_.on() && !slow() && table.repeats && sql::EqualFinds::may_share(find);
  if (shares && answer_as_before(op, table)) return;
  Scan scan{op, find, table};
  error_.clear();
  // Another large row would be read in vain.
  if (!slow() && table.has_large_rows && share_.has_had_large_rows()) {
    op.progress = Progress::deferred;
    return;
  }
  Halt halt = begin(scan);
  if (halt == Halt::none && find.shape_wanted && scan.place == nullptr) op.reply->shape(column_shapes(table));
  if (halt == Halt::none && !find.estimated) halt = walk_keys(scan);
  const uint64_t sent = walk_.walked().taken;
  share_.take_rows(scan.examined);
  const uint64_t rows = scan.examined - scan.lookups;
  counters_->add(Counter::rows_examined, rows);
  table.rows_examined += rows;
  op.rows_examined += static_cast<uint32_t>(rows);
  // KILL of a worker takes its identity; a find that it caught is started anew in the slow lane. A scan there ends, but
  // not one that has only just begun.
  if (scan.failure == Failure::interrupted && connection_is_killed(*thd_)) {
    const bool just_begun = scan.place == nullptr && sent == 0 && scan.examined <= limits::rows_between_looks;
    if (!slow()) halt = Halt::paused;
    else if (just_begun) halt = Halt::held_up;
  }
  if (halt == Halt::deferred) {
    op.progress = Progress::deferred;
    return;
  }
  if (halt == Halt::paused || halt == Halt::held_up) {
    op.progress = halt == Halt::paused ? Progress::paused : Progress::busy;
    if (slow()) counters_->add(Counter::scan_pauses);
    return;
  }
  counters_->add(Counter::rows_sent, sent);
  op.rows_sent = static_cast<uint32_t>(sent);
  ++table.finds;
  op.progress = Progress::done;
  Outcome outcome;
  outcome.failure = scan.failure;
  outcome.engine_code = scan.engine_code;
  outcome.columns = static_cast<uint32_t>(table.columns.size());
  outcome.rows = find.estimated && halt == Halt::none ? estimate_rows(scan) : sent;
  outcome.message = error_.message;
  outcome.server_error = error_.number;
  if (outcome.failure != Failure::none) count_failure(*counters_, op, outcome.failure);
  op.reply->done(outcome);
  if (shares && outcome.failure == Failure::none) equal_.keep(op.reply->written(), sent);
}

/// Stands at the first key, or where the find was paused.
[[gnu::always_inline]] inline Finder::Halt Finder::begin(Scan &scan) {
  OpenTable &table = scan.table;
  scan.failure = walk_.begin(thd_, table, scan.find);
  Halt halt = scan.failure == Failure::none ? Halt::none : Halt::failed;
  if (halt == Halt::none && table.file().inited == handler::NONE) {
    if (const int code = table.file().ha_index_init(table.index, true)) halt = fail(scan, code);
  }
  if (!slow() || scan.op.position == nullptr || *scan.op.position == nullptr) return halt;
  scan.place = static_cast<sql::ScanPlace *>(scan.op.position->get());
  walk_.resume(scan.place->walked);
  if (halt != Halt::none || scan.place->shape == shape_of(table)) return halt;
  // The rows sent so far had another shape; this reply cannot continue.
  scan.failure = Failure::interrupted;
  error_ = {ER_THD(thd_, ER_TABLE_DEF_CHANGED), {ER_TABLE_DEF_CHANGED, "HY000"}};
  return Halt::failed;
}

[[gnu::always_inline]] inline Finder::Halt Finder::walk_keys(Scan &scan) {
  while (walk_.at_key()) {
    if (const Halt halt = walk_key(scan); halt != Halt::none) return halt;
    walk_.next_key();
    scan.row_is_current = false;
    if (walk_.at_key() && (scan.must_rest || must_pause(scan))) return save(scan);
  }
  return Halt::none;
}

uint64_t Finder::estimate_rows(Scan &scan) {
  OpenTable &table = scan.table;
  if (!walk_.open_key() || walk_.far_end().comparison == Comparison::never) return 0;
  const KeyStart &start = walk_.start();
  const KeyStart &end = walk_.far_end();
  key_range from{};
  from.key = start.bytes;
  from.length = start.length;
  from.keypart_map = start.map();
  from.flag = start.comparison == Comparison::greater ? HA_READ_AFTER_KEY : HA_READ_KEY_EXACT;
  key_range to{};
  to.key = end.bytes;
  to.length = end.length;
  to.keypart_map = end.map();
  to.flag = end.comparison == Comparison::less ? HA_READ_BEFORE_KEY : HA_READ_AFTER_KEY;
  const ha_rows rows = estimate(*table.table, table.index, from, to);
  return rows == HA_POS_ERROR ? 0 : rows;
}

/// True if an equal find of this batch was answered, and its answer has become that of `op`.
bool Finder::answer_as_before(Op &op, OpenTable &table) {
  const sql::EqualFinds::Answer *const known = equal_.look_up(table.serial, *op.find);
  if (known == nullptr || !op.reply->take(known->written)) return false;
  op.progress = Progress::done;
  counters_->add(Counter::finds_shared);
  counters_->add(Counter::rows_sent, known->rows);
  op.rows_sent = static_cast<uint32_t>(known->rows);
  ++table.finds;
  return true;
}

/// Reads the first row after the place of a paused scan: at once where the index's parts are unique. Else it walks
/// through the rows with the key of the place, which may be very many: if somebody waits for the table meanwhile, the
/// scan has made no progress and must try again; it is then `held_up`.
Finder::Halt Finder::resume_row(Scan &scan, DownByGroups *groups, int &code) {
  OpenTable &table = scan.table;
  const KeyStart &start = walk_.start();
  handler &file = table.file();
  uchar *const record = table.table->record[0];
  const sql::ScanPlace &place = *scan.place;
  const KEY &key = table.key_info();
  const bool down = descending(start.comparison) && groups == nullptr;
  const auto read = [&](uint parts, ha_rkey_function downwards, ha_rkey_function upwards) {
    return down ? file.ha_index_read_map(record, place.key.data(), make_prev_keypart_map(parts), downwards)
                : read_upwards(table, place.key.data(), parts, upwards);
  };
  if (place.unique_parts != 0 && place.unique_parts == unique_parts(table)) {
    code = read(place.unique_parts, HA_READ_BEFORE_KEY, HA_READ_AFTER_KEY);
  } else {
    code = read(key.user_defined_key_parts, HA_READ_PREFIX_LAST_OR_PREV, HA_READ_KEY_OR_NEXT);
    bool behind = false;  // after the place, among rows with its key
    while (code == 0 && !key_cmp_if_same(table.table, place.key.data(), table.index, key.key_length)) {
      file.position(record);
      const int order = file.cmp_ref(file.ref, place.ref.data());
      behind = down ? order < 0 : order > 0;
      if (behind) break;
      ++scan.examined;
      if (scan.look.is_due(scan.examined) && must_give_way()) return thd_->killed ? interrupt(scan) : Halt::held_up;
      code = down ? file.ha_index_prev(record) : file.ha_index_next(record);
    }
    const bool ended = code == HA_ERR_END_OF_FILE || code == HA_ERR_KEY_NOT_FOUND;
    if (groups != nullptr && (code == 0 || ended))
      code = behind ? groups->stay() : groups->enter_before(place.key.data());
  }
  if (code == 0 && left_key(table, start)) code = HA_ERR_END_OF_FILE;
  return Halt::none;
}

/// All rows of the key that the walk stands at.
Finder::Halt Finder::walk_key(Scan &scan) {
  OpenTable &table = scan.table;
  const bool possible = walk_.open_key();
  ++scan.examined;
  ++scan.lookups;
  scan.row_is_current = false;
  if (!possible) return Halt::none;
  const KeyStart &start = walk_.start();
  // Rare, and possible where scans are resumed.
  if (start.recheck && !table.key_is_read && !slow()) return Halt::paused;
  scan.resumed = scan.place != nullptr && !scan.place->key.empty();
  DownByGroups *groups = nullptr;
  if (slow() && DownByGroups::suits(table, start) && unique_parts(table) == 0) groups = &groups_.emplace(table);
  int code = 0;
  if (scan.resumed) {
    if (const Halt halt = resume_row(scan, groups, code); halt != Halt::none) return halt;
    scan.place->key.clear();
  } else {
    code = walk_.first_row();
    if (code == 0 && groups != nullptr) code = groups->enter();
  }
  for (;;) {
    if (code == HA_ERR_KEY_NOT_FOUND || code == HA_ERR_END_OF_FILE) return Halt::none;
    if (code != 0) return fail(scan, code);
    ++scan.examined;
    scan.row_is_current = true;
    // Filters come before reading columns, which is most of the cost of a skipped row.
    if (walk_.judge() == Met::wanted) {
      if (const Halt halt = offer(scan); halt != Halt::none) return halt;
    }
    // Checked before any pause: a key with a single row has no position to resume from.
    if (walk_.key_done()) return Halt::none;
    if (must_pause(scan)) return save(scan);
    code = groups != nullptr ? groups->next() : walk_.next_row(!scan.resumed);
  }
}

/// Answers the row in record[0].
Finder::Halt Finder::offer(Scan &scan) {
  OpenTable &table = scan.table;
  // Reads the row first, which shows its length. A deferred row is read again in a later turn.
  const Row row = table.reader.read();
  table.has_large_rows = table.reader.long_bytes() > limits::find_bytes_fast_max;
  if (table.has_large_rows && !slow() && !share_.take_large_row(table.reader.long_bytes())) return Halt::deferred;
  const Flow flow = scan.op.reply->row(row);
  if (flow == Flow::pause && !slow()) return Halt::paused;  // the row may not have been taken
  // Reading a column may have failed, which no code reports. The reply takes the row back with all others.
  if (thd_->is_error()) {
    scan.failure = Failure::internal;
    error_ = take_server_error(thd_);
    return Halt::failed;
  }
  walk_.take();
  scan.must_rest = flow == Flow::pause;
  return scan.must_rest && !walk_.key_done() ? save(scan) : Halt::none;
}

Finder::Halt Finder::fail(Scan &scan, int code) {
  scan.failure = engine_failure(thd_, scan.table.table, code, error_);
  scan.engine_code = code;
  return Halt::failed;
}

/// Whether the find has used up its share, or has to give way.
bool Finder::must_pause(Scan &scan) const {
  if (!slow()) return share_.has_had_rows(scan.examined);
  if (!scan.look.is_due(scan.examined)) return false;
  if (scan.op.position == nullptr) return thd_->killed || stop_.load(std::memory_order_relaxed);
  const auto columns = static_cast<uint32_t>(scan.table.columns.size());
  return must_give_way() || scan.op.reply->still_wanted(columns) == Flow::pause;
}

bool Finder::must_give_way() const {
  return thd_->killed || stop_.load(std::memory_order_relaxed) || tables_.wanted_by_others();
}

Finder::Halt Finder::interrupt(Scan &scan) {
  scan.failure = Failure::interrupted;
  error_.message = ER_THD(thd_, ER_QUERY_INTERRUPTED);
  return Halt::failed;
}

/// Notes where a slow scan goes on, unless it was killed. A fast find keeps no place: it starts anew.
Finder::Halt Finder::save(Scan &scan) {
  if (!slow()) return Halt::paused;
  if (thd_->killed) return interrupt(scan);
  if (scan.op.position == nullptr) {  // in a unit, which is done as a whole
    if (stop_.load(std::memory_order_relaxed)) return Halt::paused;
    scan.failure = Failure::reply_too_large;
    return Halt::failed;
  }
  if (scan.place == nullptr) {
    *scan.op.position = std::make_unique<sql::ScanPlace>();
    scan.place = static_cast<sql::ScanPlace *>(scan.op.position->get());
  }
  OpenTable &table = scan.table;
  // A row's position is invalid after its table was closed.
  if (!table.engine->stays_open && scan.row_is_current && unique_parts(table) == 0) return interrupt(scan);
  sql::ScanPlace &place = *scan.place;
  place.shape = shape_of(table);
  place.walked = walk_.walked();
  place.key.clear();
  if (scan.row_is_current) {
    KEY &key = table.key_info();
    place.unique_parts = unique_parts(table);
    const uint size = place.unique_parts == 0
                          ? key.key_length
                          : key_bytes(*table.table, table.index, make_prev_keypart_map(place.unique_parts));
    place.key.resize(size);
    copy_key(place.key.data(), table.table->record[0], key, size);
    table.file().position(table.table->record[0]);
    place.ref.assign(table.file().ref, table.file().ref + table.file().ref_length);
  }
  return Halt::paused;
}

}  // namespace postern::rows
