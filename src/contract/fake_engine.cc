#include "contract/fake_engine.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <random>
#include <unordered_map>
#include <utility>

#include "base/limits.h"

namespace postern {

/// A cell, or a key or filter value, in the form it is compared in.
struct FakeEngine::StoredCell {
  bool null = true;
  int64_t number = 0;  // integer columns
  std::string text;    // the others
  std::string folded;  // text columns: what is compared

  Value value(Type type) const {
    if (null) return Value::null();
    return type == Type::integer ? Value::of_integer(number) : Value::of(text);
  }
};

struct FakeEngine::Table {
  struct Order {
    Index index;
    std::vector<uint32_t> columns;
    std::vector<uint32_t> rows;  // sorted by columns, then by the first index, then by age
  };
  uint64_t serial = 0;
  Kind kind = Kind::base;
  std::vector<Column> columns;
  std::vector<Order> orders;
  std::vector<std::vector<StoredCell>> rows;
  bool busy = false;
  int32_t engine_error = 0;
};

namespace {

using Type = FakeEngine::Type;

std::string table_key(Bytes database, Bytes table) {
  std::string key(database);
  key += '\0';
  key += table;
  return key;
}

bool is_system_schema(Bytes database) {
  return database == "mysql" || database == "sys" || database == "information_schema";
}

std::string lower(Bytes text) {
  std::string folded(text);
  for (char &byte : folded) {
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte + ('a' - 'A'));
  }
  return folded;
}

std::string fold(Bytes text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  return lower(text);
}

/// Names of indexes and columns, as SQL compares them.
bool same_name(Bytes a, Bytes b) {
  return a.size() == b.size() && lower(a) == lower(b);
}

/// Digits with or without a sign; what is beyond 64 bits becomes the nearest number within.
bool parse_integer(Bytes text, int64_t &number) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.find_first_not_of("0123456789") != Bytes::npos) return false;
  const std::string digits = (negative ? "-" : "") + std::string(text);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc::result_out_of_range)
    number = negative ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  return true;
}

template <class Cell>
bool store(Bytes bytes, Type type, Cell &cell) {
  cell.null = false;
  if (type == Type::integer) return parse_integer(bytes, cell.number);
  cell.text = bytes;
  if (type == Type::text) cell.folded = fold(bytes);
  return true;
}

template <class Cell>
bool store(const Value &value, Type type, Cell &cell) {
  switch (value.kind()) {
    case Value::Kind::null: return true;
    case Value::Kind::bytes: return store(value.bytes(), type, cell);
    case Value::Kind::integer: return store(Bytes(std::to_string(value.integer())), type, cell);
    case Value::Kind::natural: return store(Bytes(std::to_string(value.natural())), type, cell);
  }
  return false;
}

template <class Cell>
int compare(const Cell &a, const Cell &b, Type type) {
  if (a.null || b.null) return static_cast<int>(b.null) - static_cast<int>(a.null);
  switch (type) {
    case Type::integer: return a.number < b.number ? -1 : a.number > b.number;
    case Type::text: return a.folded.compare(b.folded);
    case Type::blob: return a.text.compare(b.text);
  }
  return 0;
}

bool holds(Comparison comparison, int difference) {
  switch (comparison) {
    case Comparison::equal: return difference == 0;
    case Comparison::greater: return difference > 0;
    case Comparison::at_least: return difference >= 0;
    case Comparison::less: return difference < 0;
    case Comparison::at_most: return difference <= 0;
    case Comparison::unequal: return difference != 0;
    case Comparison::never: return false;
  }
  return false;
}

/// A name as it is in the table, of one as it is in a list.
std::string unquoted(Bytes name) {
  if (name.size() < 2 || name.front() != '`' || name.back() != '`') return std::string(name);
  std::string plain;
  for (size_t i = 1; i + 1 < name.size(); ++i) {
    plain += name[i];
    if (name[i] == '`') ++i;  // doubled
  }
  return plain;
}

/// An open index. Shared by nobody, so it dies with its slot.
class FakeBinding final : public Binding {
 public:
  FakeBinding(const TableSpec &spec, std::atomic<uint32_t> &count) : count_(count) {
    static std::atomic<uint64_t> last{0};
    serial_ = ++last;
    names_[0] = spec.database, names_[1] = spec.table, names_[2] = spec.index;
    names_[3] = spec.columns, names_[4] = spec.filter_columns;
    spec_ = {names_[0], names_[1], names_[2], names_[3], names_[4]};
    ++count_;
  }
  ~FakeBinding() { --count_; }
  void unuse() noexcept override { delete this; }
  const TableSpec &spec() const noexcept override { return spec_; }
  uint64_t serial() const { return serial_; }

 private:
  std::atomic<uint32_t> &count_;
  uint64_t serial_;
  std::string names_[5];
  TableSpec spec_;
};

}  // namespace

class FakeExecutor final : public Executor {
 public:
  FakeExecutor(FakeEngine &engine, const ThreadIdentity &who, const FakeEngine::Faults &faults)
      : engine_(engine), who_(who), faults_(faults), random_(faults.seed) {}
  ~FakeExecutor() override;

  void run(std::span<Op> ops) override;
  void idle() noexcept override { set_holding(false); }
  Standing standing() noexcept override { return stopping_.load() ? Standing::stopping : Standing::good; }
  void describe(Bytes) noexcept override {}

  void stop() {
    stopping_ = true;
    const uint64_t one = 1;
    if (who_.wake_fd >= 0 && write(who_.wake_fd, &one, sizeof one) < 0) return;  // full: it is awake anyway
  }

 private:
  using Table = FakeEngine::Table;
  using StoredCell = FakeEngine::StoredCell;

  /// What a spec means with the definitions of `version`.
  struct Resolved {
    uint64_t version = 0;
    Failure failure = Failure::none;
    std::string message;
    const Table *table = nullptr;
    const Table::Order *order = nullptr;
    std::vector<uint32_t> columns;
    std::vector<uint32_t> filter_columns;
  };
  struct FakePosition final : Position {
    uint64_t table = 0;
    size_t in_value = 0;
    std::optional<uint32_t> last_row;  // of the range of in_value
    uint64_t passed = 0;               // rows that met all filters
    uint64_t sent = 0;
  };
  struct PreparedFilter {
    Filter::Miss miss;
    Comparison comparison;
    bool always;  // a value that the column cannot hold, and every row differs from
    uint32_t column;
    StoredCell value;
  };
  /// A value of a key. One that no row can have matches nothing.
  struct PreparedKey {
    bool possible = true;
    StoredCell value;
  };
  enum class Step : uint8_t { next_row, next_value, end, pause };
  /// A find at work.
  struct Walk {
    const Resolved &at;
    const Find &find;
    Reply &reply;
    std::vector<PreparedKey> key;
    std::vector<PreparedKey> in_list;
    std::vector<PreparedFilter> filters;
    FakePosition &position;
    bool bounded;
    uint64_t examined = 0;
  };

  void set_holding(bool holding);
  void execute(Op &op);
  void finish(Op &op, Outcome outcome);
  void open(Op &op);
  void find(Op &op);
  Resolved resolve(const TableSpec &spec) const;
  const Resolved &resolve(const FakeBinding &binding);
  bool chance(uint32_t thousandths) { return thousandths != 0 && random_() % 1000 < thousandths; }

  static Failure prepare(Walk &walk);
  static Failure prepare_key(const Walk &walk, uint32_t part, const Value &value, PreparedKey &prepared);
  static Failure prepare_filter(Walk &walk, const Filter &filter);
  Step walk_all(Walk &walk);
  Step walk_range(Walk &walk);
  Step visit(Walk &walk, uint32_t row_number);

  FakeEngine &engine_;
  const ThreadIdentity who_;
  const FakeEngine::Faults faults_;
  std::mt19937_64 random_;
  std::atomic<bool> stopping_{false};
  bool holding_ = false;
  std::unordered_map<uint64_t, Resolved> resolved_;  // by the binding's serial number
  std::vector<uint32_t> stuck_;                      // connections with a paused or busy op in this run
  std::vector<Value> row_;
  uint64_t batch_rows_ = 0;
};

FakeExecutor::~FakeExecutor() {
  set_holding(false);
  const std::unique_lock lock(engine_.mutex_);
  std::erase(engine_.executors_, this);
}

void FakeExecutor::set_holding(bool holding) {
  if (holding == holding_) return;
  holding_ = holding;
  engine_.busy_executors_ += holding ? 1 : -1;
}

void FakeExecutor::run(std::span<Op> ops) {
  const std::shared_lock lock(engine_.mutex_);
  set_holding(true);
  stuck_.clear();
  batch_rows_ = 0;
  for (Op &op : ops) {
    if (std::find(stuck_.begin(), stuck_.end(), op.connection) != stuck_.end()) {
      op.progress = Progress::waiting;
      continue;
    }
    execute(op);
    if (op.progress != Progress::done) stuck_.push_back(op.connection);
  }
  if (who_.counters != nullptr) who_.counters->add(Counter::batches);
}

void FakeExecutor::execute(Op &op) {
  switch (op.verb) {
    case Verb::answer: {
      const bool lost = op.slot != nullptr && op.slot->binding() == nullptr;
      return finish(op, {.failure = lost ? Failure::not_open : op.failure});
    }
    case Verb::open: return open(op);
    case Verb::find: return find(op);
  }
}

void FakeExecutor::finish(Op &op, Outcome outcome) {
  op.progress = Progress::done;
  if (Counters *const counters = who_.counters) {
    counters->add(op.verb == Verb::open   ? Counter::requests_open
                  : op.verb == Verb::find ? Counter::requests_find
                                          : Counter::requests_other);
    counters->add(Counter::rows_sent, outcome.rows);
    if (outcome.failure != Failure::none) {
      counters->add(Counter::requests_failed);
      counters->add(outcome.failure);
    }
  }
  op.reply->done(outcome);
}

FakeExecutor::Resolved FakeExecutor::resolve(const TableSpec &spec) const {
  Resolved at;
  at.version = engine_.version_;
  const auto fail = [&at](Failure failure, std::string message) {
    at.failure = failure;
    at.message = std::move(message);
    return at;
  };
  const std::string name = std::string(spec.database) + '.' + std::string(spec.table);
  if (is_system_schema(spec.database)) return fail(Failure::system_schema, {});
  // No table there has an index, and clients were always told just that.
  if (spec.database == "performance_schema") return fail(Failure::no_index, {});
  const auto found = engine_.tables_.find(table_key(spec.database, spec.table));
  if (found == engine_.tables_.end()) return fail(Failure::no_table, "Table '" + name + "' doesn't exist");
  at.table = found->second.get();
  if (at.table->kind != FakeEngine::Kind::base)
    return fail(Failure::not_a_base_table, "'" + name + "' is not a base table");

  uint64_t number = 0;
  if (!spec.index.empty() && spec.index[0] >= '0' && spec.index[0] <= '9') {
    if (parse_natural(spec.index, number) && number < at.table->orders.size()) at.order = &at.table->orders[number];
  } else {
    for (const Table::Order &order : at.table->orders) {
      if (same_name(order.index.name, spec.index)) at.order = &order;
    }
  }
  if (at.order == nullptr) return fail(Failure::no_index, "No index '" + std::string(spec.index) + "' in " + name);
  if (!at.order->index.usable) return fail(Failure::index_unusable, {});

  std::string missing;
  const auto collect = [&](Bytes list, std::vector<uint32_t> &columns) {
    const std::vector<FakeEngine::Column> &all = at.table->columns;
    Bytes listed;
    for (NameList names(list); names.next(listed);) {
      const std::string wanted = unquoted(listed);
      const auto column =
          std::find_if(all.begin(), all.end(), [&](const auto &one) { return same_name(one.name, wanted); });
      if (column == all.end()) {
        missing = wanted;
        return false;
      }
      columns.push_back(static_cast<uint32_t>(column - all.begin()));
    }
    return true;
  };
  if (!collect(spec.columns, at.columns) || !collect(spec.filter_columns, at.filter_columns))
    return fail(Failure::no_column, "Unknown column '" + missing + "' in " + name);
  return at;
}

const FakeExecutor::Resolved &FakeExecutor::resolve(const FakeBinding &binding) {
  if (resolved_.size() > 4'096) resolved_.clear();
  Resolved &at = resolved_[binding.serial()];
  if (at.version != engine_.version_) at = resolve(binding.spec());
  return at;
}

void FakeExecutor::open(Op &op) {
  const Resolved at = resolve(*op.spec);
  if ((at.table != nullptr && at.table->busy) || chance(faults_.busy)) {
    op.progress = Progress::busy;
    return;
  }
  op.slot->clear();  // it may have run before
  if (at.failure == Failure::none) op.slot->fill(new FakeBinding(*op.spec, engine_.bindings_));
  finish(op, {.failure = at.failure, .message = at.message});
}

void FakeExecutor::find(Op &op) {
  Binding *const binding = op.slot->binding();
  if (binding == nullptr) return finish(op, {.failure = Failure::not_open});
  const Resolved &at = resolve(static_cast<const FakeBinding &>(*binding));
  if ((at.table != nullptr && at.table->busy) || chance(faults_.busy)) {
    op.progress = Progress::busy;
    return;
  }
  if (at.failure != Failure::none) return finish(op, {.failure = at.failure, .message = at.message});
  if (at.table->engine_error != 0)
    return finish(op, {.failure = Failure::engine_error, .engine_code = at.table->engine_error});

  FakePosition fresh;
  fresh.table = at.table->serial;
  FakePosition *position = &fresh;
  if (op.position != nullptr && *op.position != nullptr) position = static_cast<FakePosition *>(op.position->get());
  if (position->table != at.table->serial) return finish(op, {.failure = Failure::interrupted});

  Walk walk{at, *op.find, *op.reply, {}, {}, {}, *position, op.position == nullptr};
  if (const Failure failure = prepare(walk); failure != Failure::none) return finish(op, {.failure = failure});
  const Step step = walk_all(walk);
  if (who_.counters != nullptr) who_.counters->add(Counter::rows_examined, walk.examined);
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
  for (const Filter &filter : find.filters) {
    if (const Failure failure = prepare_filter(walk, filter); failure != Failure::none) return failure;
  }
  walk.key.resize(find.key.size());
  for (uint32_t i = 0; i < find.key.size(); ++i) {
    if (in && i == find.in_part) continue;  // replaced, whatever it is
    const Failure failure = prepare_key(walk, i, find.key[i], walk.key[i]);
    if (failure != Failure::none) return failure;
  }
  walk.in_list.resize(find.in_list.size());
  for (size_t i = 0; i < find.in_list.size(); ++i) {
    const Failure failure = prepare_key(walk, find.in_part, find.in_list[i], walk.in_list[i]);
    if (failure != Failure::none) return failure;
  }
  return Failure::none;
}

/// A value that does not fit equals no row; where it would lie among the rows nobody can say.
Failure FakeExecutor::prepare_key(const Walk &walk, uint32_t part, const Value &value, PreparedKey &prepared) {
  const FakeEngine::Column &column = walk.at.table->columns[walk.at.order->columns[part]];
  prepared.possible = value.is_null() ? column.nullable : store(value, column.type, prepared.value);
  return prepared.possible || walk.find.comparison == Comparison::equal ? Failure::none : Failure::bad_key_value;
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
    else if (filter.comparison != Comparison::never) return Failure::bad_filter_value;
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
  if (!walk.bounded && walk.examined != 0 && walk.examined % limits::rows_between_looks == 0 &&
      walk.reply.look(static_cast<uint32_t>(walk.at.columns.size())) == Flow::pause)
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
  row_.clear();
  for (const uint32_t column : walk.at.columns) row_.push_back(row[column].value(table.columns[column].type));
  const Flow flow = walk.reply.row(row_);
  ++position.sent;
  if (flow == Flow::pause) return Step::pause;
  return position.sent == walk.find.limit ? Step::end : Step::next_row;
}

FakeEngine::FakeEngine() = default;
FakeEngine::~FakeEngine() = default;

std::unique_ptr<Executor> FakeEngine::attach(const ThreadIdentity &who, const std::atomic<bool> &stop) {
  const std::unique_lock lock(mutex_);
  if (stopping_ || stop.load()) return nullptr;
  auto executor = std::make_unique<FakeExecutor>(*this, who, faults_);
  ++faults_.seed;  // the next one misbehaves in its own way
  executors_.push_back(executor.get());
  return executor;
}

void FakeEngine::create(Bytes database, Bytes name, std::vector<Column> columns, std::vector<Index> indexes,
                        Kind kind) {
  const std::unique_lock lock(mutex_);
  auto table = std::make_unique<Table>();
  table->serial = ++version_;
  table->kind = kind;
  table->columns = std::move(columns);
  for (Index &index : indexes) {
    Table::Order order;
    for (const std::string &wanted : index.columns) {
      for (uint32_t i = 0; i < table->columns.size(); ++i) {
        if (table->columns[i].name == wanted) order.columns.push_back(i);
      }
    }
    order.index = std::move(index);
    table->orders.push_back(std::move(order));
  }
  tables_[table_key(database, name)] = std::move(table);
}

template <class Change>
void FakeEngine::change(Bytes database, Bytes table, Change change) {
  const std::unique_lock lock(mutex_);
  const auto found = tables_.find(table_key(database, table));
  if (found != tables_.end()) change(*found->second);
}

void FakeEngine::insert(Bytes database, Bytes name, const std::vector<Cell> &cells) {
  change(database, name, [&cells](Table &table) {
    const auto number = static_cast<uint32_t>(table.rows.size());
    std::vector<StoredCell> &row = table.rows.emplace_back(table.columns.size());
    for (size_t i = 0; i < table.columns.size() && i < cells.size(); ++i) {
      if (cells[i] && !store(Bytes(*cells[i]), table.columns[i].type, row[i])) row[i] = {};
    }
    const auto before = [&table](const Table::Order &order, uint32_t a, uint32_t b) {
      for (const Table::Order *by : {&order, std::as_const(table.orders).data()}) {
        for (const uint32_t column : by->columns) {
          const int result = compare(table.rows[a][column], table.rows[b][column], table.columns[column].type);
          if (result != 0) return result < 0;
        }
      }
      return a < b;
    };
    for (Table::Order &order : table.orders) {
      const auto less = [&](uint32_t a, uint32_t b) { return before(order, a, b); };
      order.rows.insert(std::upper_bound(order.rows.begin(), order.rows.end(), number, less), number);
    }
  });
}

void FakeEngine::drop(Bytes database, Bytes table) {
  const std::unique_lock lock(mutex_);
  tables_.erase(table_key(database, table));
  ++version_;
}

void FakeEngine::rename_column(Bytes database, Bytes name, Bytes from, Bytes to) {
  change(database, name, [&](Table &table) {
    for (Column &column : table.columns) {
      if (column.name == from) column.name = to;
    }
    ++version_;
  });
}

void FakeEngine::set_busy(Bytes database, Bytes name, bool busy) {
  change(database, name, [busy](Table &table) { table.busy = busy; });
}

void FakeEngine::set_engine_error(Bytes database, Bytes name, int32_t code) {
  change(database, name, [code](Table &table) { table.engine_error = code; });
}

void FakeEngine::set_faults(const Faults &faults) {
  const std::unique_lock lock(mutex_);
  faults_ = faults;
}

void FakeEngine::stop() {
  const std::unique_lock lock(mutex_);
  stopping_ = true;
  for (FakeExecutor *const executor : executors_) executor->stop();
}

}  // namespace postern
