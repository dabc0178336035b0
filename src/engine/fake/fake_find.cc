#include <algorithm>

#include "base/limits.h"
#include "engine/fake/fake_executor.h"

namespace postern {
namespace {

int64_t leading_integer(Bytes text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool goes_down(const Find &find) {
  return find.comparison == Comparison::less || find.comparison == Comparison::at_most;
}

/// Whether a server's engine would take these values of a key.
bool are_texts(std::span<const Value> values) {
  return std::all_of(values.begin(), values.end(),
                     [](const Value &value) { return value.is_null() || value.kind() == Value::Kind::bytes; });
}

}  // namespace

/// A run that locks has the whole engine to itself.
void FakeExecutor::lock(Op &op) {
  if (shares()) {
    op.progress = Progress::needs_own_run;
    return;
  }
  if (chance(faults_.locked)) {
    op.progress = Progress::locked;
    return;
  }
  std::unique_ptr<Position> *const position = std::exchange(op.position, nullptr);
  find(op);
  op.position = position;
}

void FakeExecutor::find(Op &op) {
  const Resolved *const usable = usable_by(op);
  if (usable == nullptr) return;
  const Resolved &at = *usable;
  FakePosition fresh;
  fresh.table = at.table->serial;
  FakePosition *position = &fresh;
  if (op.position != nullptr && *op.position != nullptr) position = static_cast<FakePosition *>(op.position->get());
  if (position->table != at.table->serial) return finish(op, {.failure = Failure::interrupted});

  Find wanted = *op.find;
  std::vector<uint32_t> counted;
  if (wanted.estimated) wanted.limit = std::numeric_limits<uint64_t>::max();
  Walk walk{at, wanted, op.reply,  wanted.estimated ? &counted : nullptr,   {}, {},
            {}, {},     *position, lane_ == Lane::turn && !wanted.estimated};
  if (const Failure failure = prepare(walk); failure != Failure::none) return finish(op, {.failure = failure});
  if (op.find->shape_wanted && position == &fresh) tell_shape(op, at);
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
  if (!are_texts(find.key) || !are_texts(find.in_list) || !are_texts(find.until)) return Failure::internal;
  const bool in = !find.in_list.empty();
  if (find.key.size() > walk.at.order->columns.size() || (in && find.in_part >= find.key.size()))
    return Failure::too_many_key_parts;
  const bool ranges_over_all = find.comparison == Comparison::at_least || find.comparison == Comparison::at_most;
  if (find.key.empty() && !ranges_over_all) return Failure::no_key_values;
  if (const Failure failure = wrong_ends(find); failure != Failure::none) return failure;
  if (find.until.size() > walk.at.order->columns.size()) return Failure::too_many_key_parts;
  // The text itself is no part of the key to look up.
  const size_t parts = find.key.size() - (find.prefix ? 1 : 0);
  if (find.prefix && walk.at.table->columns[walk.at.order->columns[parts]].type == Type::integer)
    return Failure::index_unusable;
  for (const Filter &filter : find.filters) {
    if (const Failure failure = prepare_filter(walk, filter); failure != Failure::none) return failure;
  }
  const bool range = find.comparison != Comparison::equal && !find.prefix;
  walk.key.resize(parts);
  for (uint32_t i = 0; i < parts; ++i) {
    if (in && i == find.in_part) continue;  // replaced, whatever it is
    prepare_key(walk, i, find.key[i], range, walk.key[i]);
  }
  walk.in_list.resize(find.in_list.size());
  for (size_t i = 0; i < find.in_list.size(); ++i) {
    prepare_key(walk, find.in_part, find.in_list[i], range, walk.in_list[i]);
  }
  walk.until.resize(find.until.size());
  for (uint32_t i = 0; i < find.until.size(); ++i) prepare_key(walk, i, find.until[i], true, walk.until[i]);
  return Failure::none;
}

/// Whether the row is not beyond `until`, and begins as it should.
bool FakeExecutor::is_within(const Walk &walk, const std::vector<StoredCell> &row) {
  const Find &find = walk.find;
  const std::vector<uint32_t> &columns = walk.at.order->columns;
  if (find.prefix) {
    const Value &text = find.key.back();
    const StoredCell &cell = row[columns[find.key.size() - 1]];
    if (text.is_null() || cell.null) return false;
    const bool is_text = walk.at.table->columns[columns[find.key.size() - 1]].type == Type::text;
    const bool begins =
        is_text ? lower(cell.text).starts_with(lower(text.bytes())) : cell.text.starts_with(text.bytes());
    if (!begins) return false;
  }
  for (size_t i = 0; i < walk.until.size(); ++i) {
    const int result = compare(row[columns[i]], walk.until[i].value, walk.at.table->columns[columns[i]].type);
    if (result != 0) return goes_down(find) ? result > 0 : result < 0;
  }
  return walk.until.empty() || find.until_included;
}

/// As the server describes columns of these types.
void FakeExecutor::tell_shape(const Op &op, const Resolved &at) {
  std::vector<ColumnShape> shapes;
  for (const uint32_t column : at.columns) {
    const FakeEngine::Column &its = at.table->columns[column];
    const uint16_t flags = its.nullable ? 0 : 1;
    switch (its.type) {
      case Type::integer:
        shapes.push_back({.name = its.name, .type = 3, .flags = flags, .charset = 63, .length = 11});
        break;
      case Type::natural:
        shapes.push_back({.name = its.name, .type = 8, .flags = flags, .charset = 63, .length = 20});
        break;
      case Type::real:
        shapes.push_back({.name = its.name, .type = 5, .flags = flags, .charset = 63, .length = 22});
        break;
      case Type::text:
        shapes.push_back({.name = its.name, .type = 253, .flags = flags, .charset = 45, .length = 80});
        break;
      case Type::blob:
        shapes.push_back({.name = its.name, .type = 252, .flags = flags, .charset = 63, .length = 65'535});
        break;
    }
  }
  op.reply->shape(shapes);
}

/// A value that does not fit equals no row. In a range it is the integer it begins with, or 0; NULL is below them all.
void FakeExecutor::prepare_key(const Walk &walk, uint32_t part, const Value &value, bool range, PreparedKey &prepared) {
  const FakeEngine::Column &column = walk.at.table->columns[walk.at.order->columns[part]];
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
  const bool down = goes_down(walk.find);
  auto begin = comparison == Comparison::greater ? upper : down && !walk.find.prefix ? rows.begin() : lower;
  auto end = walk.find.prefix || comparison == Comparison::equal || comparison == Comparison::at_most ? upper
             : comparison == Comparison::less                                                         ? lower
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
  if (!is_within(walk, row)) return Step::next_row;
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
