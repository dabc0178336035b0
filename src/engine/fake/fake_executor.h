// fake_executor.h: FakeExecutor, one thread's view of a FakeEngine, and the rows that both use. Only for the files of
// the fake engine.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "contract/kept_spec.h"
#include "contract/script.h"
#include "contract/unit_replies.h"
#include "engine/fake/fake_engine.h"

namespace postern {

/// A cell, or a key or filter value, in comparable form.
struct FakeEngine::StoredCell {
  bool null = true;
  int64_t number = 0;    // integer columns
  uint64_t natural = 0;  // natural columns
  double real = 0;       // real columns
  std::string text;      // columns of text, blobs and reals
  std::string folded;    // text columns: the text to compare by

  Value value(Type type) const {
    if (null) return Value::null();
    if (type == Type::integer) return Value::of_integer(number);
    return type == Type::natural ? Value::of_natural(natural) : Value::of(text);
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

  bool before(const Order &order, uint32_t a, uint32_t b) const;
  void list(uint32_t row);
  void unlist(uint32_t row);
  const Order *primary() const;
  std::optional<uint32_t> same_primary(uint32_t row) const;
};

namespace fake {

using Type = FakeEngine::Type;

inline std::string table_key(Bytes database, Bytes table) {
  std::string key(database);
  key += '\0';
  key += table;
  return key;
}

inline bool is_system_schema(Bytes database) {
  return database == "mysql" || database == "sys" || database == "information_schema";
}

inline std::string lower(Bytes text) {
  std::string folded(text);
  for (char &byte : folded) {
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte + ('a' - 'A'));
  }
  return folded;
}

inline std::string fold(Bytes text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  return lower(text);
}

/// Names of indexes and columns, as SQL compares them.
inline bool same_name(Bytes a, Bytes b) {
  return a.size() == b.size() && lower(a) == lower(b);
}

/// Digits with or without a sign; numbers beyond 64 bits become the nearest number within.
inline bool parse_integer(Bytes text, int64_t &number) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.find_first_not_of("0123456789") != Bytes::npos) return false;
  const std::string digits = (negative ? "-" : "") + std::string(text);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc::result_out_of_range)
    number = negative ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  return true;
}

/// Digits; numbers beyond 64 bits become the largest.
inline bool parse_natural(Bytes text, uint64_t &number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) number = std::numeric_limits<uint64_t>::max();
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

/// Finite numbers, as in a DOUBLE column: zero has no sign.
template <class Cell>
inline bool store_real(Bytes bytes, Cell &cell) {
  const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), cell.real);
  if (error != std::errc() || end != bytes.data() + bytes.size() || !std::isfinite(cell.real)) return false;
  cell.real += 0.0;
  cell.text.resize(32);
  cell.text.resize(
      static_cast<size_t>(std::to_chars(cell.text.data(), cell.text.data() + 32, cell.real).ptr - cell.text.data()));
  return true;
}

template <class Cell>
inline bool store(Bytes bytes, Type type, Cell &cell) {
  cell.null = false;
  if (type == Type::integer) return parse_integer(bytes, cell.number);
  if (type == Type::natural) return parse_natural(bytes, cell.natural);
  if (type == Type::real) return store_real(bytes, cell);
  cell.text = bytes;
  if (type == Type::text) cell.folded = fold(bytes);
  return true;
}

template <class Cell>
inline bool store(const Value &value, Type type, Cell &cell) {
  switch (value.kind()) {
    case Value::Kind::null: return true;
    case Value::Kind::bytes: return store(value.bytes(), type, cell);
    case Value::Kind::integer: return store(Bytes(std::to_string(value.integer())), type, cell);
    case Value::Kind::natural: return store(Bytes(std::to_string(value.natural())), type, cell);
  }
  return false;
}

template <class Cell>
inline int compare(const Cell &a, const Cell &b, Type type) {
  if (a.null || b.null) return static_cast<int>(b.null) - static_cast<int>(a.null);
  switch (type) {
    case Type::integer: return a.number < b.number ? -1 : a.number > b.number;
    case Type::natural: return a.natural < b.natural ? -1 : a.natural > b.natural;
    case Type::real: return a.real < b.real ? -1 : a.real > b.real;
    case Type::text: return a.folded.compare(b.folded);
    case Type::blob: return a.text.compare(b.text);
  }
  return 0;
}

inline bool holds(Comparison comparison, int difference) {
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

/// The storage engine's code for a deadlock.
constexpr int32_t deadlock_code = 149;

/// An open index. Not shared, so it dies with its slot.
class FakeBinding final : public Binding {
 public:
  FakeBinding(const TableSpec &spec, std::atomic<uint32_t> &count) : count_(count), spec_(spec) {
    static std::atomic<uint64_t> last{0};
    serial_ = ++last;
    ++count_;
  }
  ~FakeBinding() { --count_; }
  void unuse() noexcept override { delete this; }
  const TableSpec &spec() const noexcept override { return *spec_; }
  uint64_t serial() const { return serial_; }

 private:
  std::atomic<uint32_t> &count_;
  uint64_t serial_;
  const KeptSpec spec_;
};

class FakeAccount final : public Account {
 public:
  explicit FakeAccount(Bytes its_user) : user(its_user) {}
  const std::string user;
};

}  // namespace fake

using namespace fake;  // the files that include this are the fake engine

class FakeExecutor final : public Executor {
 public:
  FakeExecutor(FakeEngine &engine, const ThreadIdentity &who, const FakeEngine::Faults &faults)
      : engine_(engine), who_(who), faults_(faults), random_(faults.seed) {}
  ~FakeExecutor() override;

  Settlement run(const Run &run) override;
  void idle() noexcept override { set_holding(false); }
  int64_t row_wait_ms() noexcept override { return 50'000; }
  bool server_stopping() noexcept override { return stopping_.load(); }
  void describe(Bytes) noexcept override {}

  void stop() {
    stopping_ = true;
    const uint64_t one = 1;
    if (who_.wake_fd >= 0 && ::write(who_.wake_fd, &one, sizeof one) < 0) return;  // full: it is awake anyway
  }

 private:
  using Table = FakeEngine::Table;
  using StoredCell = FakeEngine::StoredCell;

  /// A spec resolved with the definitions of `version`.
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
    std::optional<uint32_t> last_row;  // in the range of in_value
    uint64_t passed = 0;               // rows that met all filters
    uint64_t sent = 0;
  };
  struct PreparedFilter {
    Filter::Miss miss;
    Comparison comparison;
    bool always;  // a value that the column cannot hold, so every row differs from it
    uint32_t column;
    StoredCell value;
  };
  /// A key value. A value that no row can have matches nothing.
  struct PreparedKey {
    bool possible = true;
    StoredCell value;
  };
  enum class Step : uint8_t { next_row, next_value, end, pause };
  /// A running find, or the find of an edit.
  struct Walk {
    const Resolved &at;
    const Find &find;
    Reply *reply;  // nullptr: the rows are collected
    std::vector<uint32_t> *found;
    std::vector<PreparedKey> key;
    std::vector<PreparedKey> in_list;
    std::vector<PreparedKey> until;
    std::vector<PreparedFilter> filters;
    FakePosition &position;
    bool bounded;
    uint64_t examined = 0;
  };

  void set_holding(bool holding);
  Settlement run_or_undo(const Run &run, bool writing);
  Settlement run_locked(const Run &run, bool writing);
  void execute(Op &op);
  void execute_unit(std::span<Op> ops, bool atomic);
  void execute_script(Op &op, Script &script);
  void leave(std::span<Op> ops, Progress progress);
  bool is_stuck(const Op &op) const;
  void finish(Op &op, Outcome outcome);
  void log_in(Op &op);
  Failure check(const Op &op) const;
  void open(Op &op);
  void find(Op &op);
  void lock(Op &op);
  static void tell_shape(const Op &op, const Resolved &at);
  static bool is_within(const Walk &walk, const std::vector<StoredCell> &row);
  void write(Op &op);
  Outcome insert(const Resolved &at, const Insert &insert);
  Outcome edit(Op &op, const Resolved &at);
  Failure edit_row(const EditRows &edit, Reply &reply, const Resolved &at, uint32_t row, Outcome &outcome,
                   bool &paused);
  Failure change_row(Table &table, uint32_t row, std::vector<StoredCell> cells);
  static Failure check(const Table &table, const std::vector<StoredCell> &cells);
  Row row_of(const Resolved &at, uint32_t row);
  static Table &to_write(const Table &table) { return const_cast<Table &>(table); }  // with the lock alone
  void note(Table &table, uint32_t row);
  void undo_to(size_t mark);
  Resolved resolve(const TableSpec &spec) const;
  const Resolved &resolve(const FakeBinding &binding);
  /// The op's open table; null if the op is answered already, or the table is busy.
  const Resolved *usable_by(Op &op);
  /// Whether the running op shares a transaction with others, and is not undone with its step.
  bool shares() const { return lane_ == Lane::turn && !in_step_; }
  bool chance(uint32_t thousandths) { return thousandths != 0 && random_() % 1000 < thousandths; }

  static Failure prepare(Walk &walk);
  static void prepare_key(const Walk &walk, uint32_t part, const Value &value, bool range, PreparedKey &prepared);
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
  bool alone_wanted_ = false;  // by the edit of a write
  Lane lane_ = Lane::turn;     // the run's
  bool in_step_ = false;       // a script's
  /// A row as it was before the run touched it.
  struct Undo {
    Table *table;
    uint32_t row;
    bool listed;
    std::vector<StoredCell> cells;
  };
  std::vector<Undo> undo_;
};

}  // namespace postern
