#include "base/limits.h"
#include "engine/fake/fake_executor.h"

namespace postern {
namespace {

int64_t leading_integer(Bytes text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

void FakeExecutor::find(Op &op) {
  const Resolved *const usable = usable_by(op);
  if (usable == nullptr) return;
  const Resolved &at = *usable;
  FakePosition fresh;
  fresh.table = at.table->serial;
  FakePosition *position = &fresh;
  if (op.position != nullptr && *op.position != nullptr) position = static_cast<FakePosition *>(op.position->get());
  if (position->table != at.table->serial) return finish(op, {.failure = Failure::interrupted});

  Walk walk{at, *op.find, op.reply, nullptr, {}, {}, {}, *position, lane_ == Lane::turn};
  if (const Failure failure = prepare(walk); failure != Failure::none) return finish(op, {.failure = failure});
  const Step step = walk_all(walk);
  if (who_.counters != nullptr) who_.counters->add(Counter::rows_examined, walk.examined);
  if (step == Step::pause && lane_ == Lane::alone && op.position == nullptr)
    return finish(op, {.failure = Failure::reply_too_large});
  if (step == Step::pause) {
    op.progress = Progress::paused;
    if (op.position != nullptr && *op.position == nullptr) *op.position = std::make_unique<FakePosition>(fresh);
    return;
  }
  const auto columns = static_cast<uint32_t>(at.columns.size());
  if (chance(faults_.error))
    return finish(op, {.failure = Failure::engine_error, .engine_code = 146, .columns = columns});
  finish(op, {.columns = columns, .rows = position->sent});
}

Failure FakeExecutor::prepare(Walk &walk) {
  const Find &find = walk.find;
  const bool in = !find.in_list.empty();
  if (find.key.size() > walk.at.order->columns.size() || (in && find.in_part >= find.key.size()))
    return Failure::too_many_key_parts;
  const bool ranges_over_all = find.comparison == Comparison::at_least || find.comparison == Comparison::at_most;
  if (find.key.empty() && !ranges_over_all) return Failure::no_key_values;
  for (const Filter &filter : find.filters) {
    if (const Failure failure = prepare_filter(walk, filter); failure != Failure::none) return failure;
  }
  walk.key.resize(find.key.size());
  for (uint32_t i = 0; i < find.key.size(); ++i) {
    if (in && i == find.in_part) continue;  // replaced, whatever it is
    prepare_key(walk, i, find.key[i], walk.key[i]);
  }
  walk.in_list.resize(find.in_list.size());
  for (size_t i = 0; i < find.in_list.size(); ++i) {
    prepare_key(walk, find.in_part, find.in_list[i], walk.in_list[i]);
  }
  return Failure::none;
}

/// A value that does not fit equals no row. In a range it is the integer it begins with, or 0; NULL is below them all.
void FakeExecutor::prepare_key(const Walk &walk, uint32_t part, const Value &value, PreparedKey &prepared) {
  const FakeEngine::Column &column = walk.at.table->columns[walk.at.order->columns[part]];
  const bool range = walk.find.comparison != Comparison::equal;
  prepared.possible = value.is_null() ? column.nullable || range : store(value, column.type, prepared.value);
  if (!prepared.possible && range) {
    prepared.value.number = leading_integer(value.bytes());
    prepared.possible = true;
  }
}

Failure FakeExecutor::prepare_filter(Walk &walk, const Filter &filter) {
  if (filter.column >= walk.at.filter_columns.size()) return Failure::no_filter_column;
  const uint32_t column = walk.at.filter_columns[filter.column];
  const Type type = walk.at.table->columns[column].type;
  if (type == Type::blob && !filter.value.is_null()) return Failure::filter_on_blob;
  PreparedFilter prepared{filter.miss, filter.comparison, false, column, {}};
  if (!store(filter.value, type, prepared.value)) {
    if (filter.comparison == Comparison::equal) prepared.comparison = Comparison::never;
    else if (filter.comparison == Comparison::unequal) prepared.always = true;
    else prepared.value.number = leading_integer(filter.value.bytes());
  }
  walk.filters.push_back(std::move(prepared));
  return Failure::none;
}

FakeExecutor::Step FakeExecutor::walk_all(Walk &walk) {
  const size_t values = std::max<size_t>(walk.in_list.size(), 1);
  FakePosition &position = walk.position;
  if (position.sent == walk.find.limit) return Step::end;
  for (; position.in_value < values; ++position.in_value, position.last_row.reset()) {
    if (!walk.in_list.empty()) walk.key[walk.find.in_part] = walk.in_list[position.in_value];
    const Step step = walk_range(walk);
    if (step == Step::end || step == Step::pause) return step;
  }
  return Step::end;
}

FakeExecutor::Step FakeExecutor::walk_range(Walk &walk) {
  const Table &table = *walk.at.table;
  const Table::Order &order = *walk.at.order;
  for (const PreparedKey &part : walk.key) {
    if (!part.possible) return Step::next_value;
  }
  const auto difference = [&](uint32_t row) {
    for (size_t i = 0; i < walk.key.size(); ++i) {
      const uint32_t column = order.columns[i];
      const int result = compare(table.rows[row][column], walk.key[i].value, table.columns[column].type);
      if (result != 0) return result;
    }
    return 0;
  };
  const auto &rows = order.rows;
  const auto lower = std::partition_point(rows.begin(), rows.end(), [&](uint32_t row) { return difference(row) < 0; });
  const auto upper = std::partition_point(lower, rows.end(), [&](uint32_t row) { return difference(row) <= 0; });
  const Comparison comparison = walk.find.comparison;
  const bool down = comparison == Comparison::less || comparison == Comparison::at_most;
  auto begin = comparison == Comparison::greater ? upper : down ? rows.begin() : lower;
  auto end = comparison == Comparison::equal || comparison == Comparison::at_most ? upper
             : comparison == Comparison::less                                     ? lower
                                                                                  : rows.end();
  if (walk.position.last_row) {
    const auto last = std::find(begin, end, *walk.position.last_row);
    (down ? end : begin) = down ? last : last + 1;
  }
  const bool first_only = !walk.in_list.empty() && comparison != Comparison::equal;
  if (first_only && walk.position.last_row) return Step::next_value;
  while (begin != end) {
    const Step step = visit(walk, down ? *--end : *begin++);
    if (step != Step::next_row) return step;
    if (first_only) break;
  }
  return Step::next_value;
}

FakeExecutor::Step FakeExecutor::visit(Walk &walk, uint32_t row_number) {
  if (walk.bounded && (walk.examined == limits::find_rows_fast_max || batch_rows_ == limits::batch_rows_max))
    return Step::pause;
  if (chance(faults_.pause)) return Step::pause;
  if (!walk.bounded && walk.reply != nullptr && walk.examined != 0 && walk.examined % limits::rows_between_looks == 0 &&
      walk.reply->still_wanted(static_cast<uint32_t>(walk.at.columns.size())) == Flow::pause)
    return Step::pause;
  ++walk.examined;
  ++batch_rows_;
  FakePosition &position = walk.position;
  const Table &table = *walk.at.table;
  const std::vector<StoredCell> &row = table.rows[row_number];
  position.last_row = row_number;
  for (const PreparedFilter &filter : walk.filters) {
    const int difference = compare(row[filter.column], filter.value, table.columns[filter.column].type);
    if (filter.always || holds(filter.comparison, difference)) continue;
    return filter.miss == Filter::Miss::stop ? Step::end : Step::next_row;
  }
  if (position.passed++ < walk.find.offset) return Step::next_row;
  if (walk.found != nullptr) {
    walk.found->push_back(row_number);
    return ++position.sent == walk.find.limit ? Step::end : Step::next_row;
  }
  const Flow flow = walk.reply->row(row_of(walk.at, row_number));
  ++position.sent;
  if (flow == Flow::pause) return Step::pause;
  return position.sent == walk.find.limit ? Step::end : Step::next_row;
}

}  // namespace postern
