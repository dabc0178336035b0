#include "engine/fake/fake_executor.h"

namespace postern {

Row FakeExecutor::row_of(const Resolved &at, uint32_t row) {
  row_.clear();
  for (const uint32_t column : at.columns)
    row_.push_back(at.table->rows[row][column].value(at.table->columns[column].type));
  return row_;
}

namespace {

/// Takes down new values of one row and adds where it can.
template <class Cell>
class FakeDraft final : public Draft {
 public:
  FakeDraft(std::span<const uint32_t> columns, const std::vector<FakeEngine::Column> &all, std::vector<Cell> &cells)
      : columns_(columns), all_(all), cells_(cells) {}

  void set(uint32_t column, const Value &value) override {
    Cell cell;
    if (!store(value, all_[columns_[column]].type, cell)) failure = Failure::bad_value;
    cells_[columns_[column]] = cell;
  }
  Sum add(uint32_t column, const Value &amount, bool subtract) override {
    Cell &cell = cells_[columns_[column]];
    Cell by;
    if (amount.is_null() || cell.null) return Sum::kept_sign;
    const bool has_number = all_[columns_[column]].type == Type::integer;
    if (!has_number || !store(amount, Type::integer, by)) {
      failure = has_number ? Failure::not_a_number : Failure::bad_value;
      return Sum::kept_sign;
    }
    const int64_t old = cell.number;
    const bool overflow = subtract ? __builtin_sub_overflow(old, by.number, &cell.number)
                                   : __builtin_add_overflow(old, by.number, &cell.number);
    if (overflow) failure = Failure::bad_value;
    return (old > 0 && cell.number < 0) || (old < 0 && cell.number > 0) ? Sum::changed_sign : Sum::kept_sign;
  }
  void extend(uint32_t column, Bytes bytes, bool at_front) override {
    Cell &cell = cells_[columns_[column]];
    const Type type = all_[columns_[column]].type;
    const std::string old = cell.null ? "" : type == Type::integer ? std::to_string(cell.number) : cell.text;
    const std::string joined = at_front ? std::string(bytes) + old : old + std::string(bytes);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(joined.data(), joined.data() + joined.size(), number);
    const bool fits = type != Type::integer || (error == std::errc() && end == joined.data() + joined.size());
    if (!fits || !store(Bytes(joined), type, cell)) failure = Failure::bad_value;
  }

  Failure failure = Failure::none;

 private:
  std::span<const uint32_t> columns_;
  const std::vector<FakeEngine::Column> &all_;
  std::vector<Cell> &cells_;
};

}  // namespace

/// Before a row is changed, deleted or, with nothing in it yet, inserted.
void FakeExecutor::note(Table &table, uint32_t row) {
  const auto &listed = table.orders.front().rows;
  undo_.push_back({&table, row, std::find(listed.begin(), listed.end(), row) != listed.end(), table.rows[row]});
}

void FakeExecutor::undo_to(size_t mark) {
  for (; undo_.size() > mark; undo_.pop_back()) {
    Undo &undo = undo_.back();
    undo.table->unlist(undo.row);
    undo.table->rows[undo.row] = std::move(undo.cells);
    if (undo.listed) undo.table->list(undo.row);
  }
}

void FakeExecutor::write(Op &op) {
  const Resolved *const usable = usable_by(op);
  if (usable == nullptr) return;
  const Resolved &at = *usable;
  if (chance(faults_.locked)) {
    op.progress = Progress::locked;
    return;
  }
  const size_t mark = undo_.size();
  op.progress = Progress::done;
  alone_wanted_ = false;
  Outcome outcome = op.verb == Verb::insert ? insert(at, *op.insert) : edit(op, at);
  if (alone_wanted_ && shares()) op.progress = Progress::needs_own_run;
  if (op.progress != Progress::done || outcome.failure != Failure::none) undo_to(mark);
  if (op.progress == Progress::done) finish(op, outcome);
}

Failure FakeExecutor::check(const Table &table, const std::vector<StoredCell> &cells) {
  for (size_t i = 0; i < cells.size(); ++i)
    if (cells[i].null && !table.columns[i].nullable) return Failure::bad_value;
  return Failure::none;
}

Outcome FakeExecutor::insert(const Resolved &at, const Insert &insert) {
  Table &table = to_write(*at.table);
  std::vector<StoredCell> cells(table.columns.size());
  FakeDraft draft(at.columns, table.columns, cells);
  const auto set = [&] {
    for (uint32_t i = 0; i < insert.values.size() && i < at.columns.size(); ++i) draft.set(i, insert.values[i]);
  };
  set();
  if (draft.failure != Failure::none) return {.failure = draft.failure};
  if (const Failure failure = check(table, cells); failure != Failure::none) return {.failure = failure};
  const auto number = static_cast<uint32_t>(table.rows.size());
  table.rows.push_back(cells);
  const std::optional<uint32_t> other = table.same_primary(number);
  if (!other) {
    note(table, number);
    table.list(number);
    return {.changed = 1};
  }
  table.rows.pop_back();
  cells = table.rows[*other];
  switch (insert.on_duplicate) {
    case OnDuplicate::fail: return {.failure = Failure::duplicate_key};
    case OnDuplicate::ignore: return {};
    case OnDuplicate::update: set(); break;
    case OnDuplicate::decide:
      switch (insert.edit->present(row_of(at, *other), draft)) {
        case Decision::write: break;
        case Decision::alone: alone_wanted_ = true; [[fallthrough]];
        case Decision::refuse: return {.failure = Failure::refused};
        default: return {.failure = draft.failure};
      }
      break;
  }
  if (draft.failure != Failure::none) return {.failure = draft.failure};
  const Failure failure = change_row(table, *other, cells);
  return {.failure = failure, .changed = 2};
}

Failure FakeExecutor::change_row(Table &table, uint32_t row, std::vector<StoredCell> cells) {
  if (const Failure failure = check(table, cells); failure != Failure::none) return failure;
  note(table, row);
  table.unlist(row);
  table.rows[row] = std::move(cells);
  if (table.same_primary(row)) return Failure::duplicate_key;
  table.list(row);
  return Failure::none;
}

Outcome FakeExecutor::edit(Op &op, const Resolved &at) {
  const EditRows &edit = *op.edit;
  const Find &find = edit.find;
  const bool one_row = find.in_list.empty() && find.limit == 1;
  if (shares() && !one_row) {
    op.progress = Progress::needs_own_run;
    return {};
  }
  std::vector<uint32_t> found;
  FakePosition position;
  Walk walk{at, find, nullptr, &found, {}, {}, {}, {}, position, lane_ == Lane::turn};
  if (const Failure failure = prepare(walk); failure != Failure::none) return {.failure = failure};
  if (walk_all(walk) == Step::pause) {
    op.progress = lane_ == Lane::alone ? Progress::locked : Progress::needs_own_run;
    return {};
  }
  Outcome outcome{.columns = static_cast<uint32_t>(at.columns.size())};
  bool paused = false;
  for (const uint32_t row : found) {
    outcome.failure = edit_row(edit, *op.reply, at, row, outcome, paused);
    if (outcome.failure != Failure::none || paused) break;
  }
  if (paused) op.progress = Progress::needs_own_run;
  return outcome;
}

Failure FakeExecutor::edit_row(const EditRows &edit, Reply &reply, const Resolved &at, uint32_t row, Outcome &outcome,
                               bool &paused) {
  Table &table = to_write(*at.table);
  const auto &listed = table.orders.front().rows;
  if (std::find(listed.begin(), listed.end(), row) == listed.end()) return Failure::none;  // deleted by this op
  std::vector<StoredCell> cells = table.rows[row];
  FakeDraft draft(at.columns, table.columns, cells);
  const Row now = row_of(at, row);
  const Decision decision = edit.edit->present(now, draft);
  if (draft.failure != Failure::none) return draft.failure;
  alone_wanted_ = decision == Decision::alone;
  if (decision == Decision::refuse || decision == Decision::alone) return Failure::refused;
  if (decision == Decision::keep) return Failure::none;
  if (edit.rows_wanted) {
    if (reply.row(now) == Flow::pause) {
      paused = lane_ == Lane::turn;
      return paused ? Failure::none : Failure::reply_too_large;
    }
    ++outcome.rows;
  }
  ++outcome.changed;
  if (decision == Decision::write) return change_row(table, row, std::move(cells));
  note(table, row);
  table.unlist(row);
  return Failure::none;
}

}  // namespace postern
