#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "redis/element_reads.h"
#include "redis/handlers.h"
#include "redis/row_hash.h"
#include "redis/wire/numbers.h"
#include "redis/work.h"

namespace postern::redis {
namespace {

constexpr Bytes not_a_hash_integer = "ERR hash value is not an integer";
constexpr Bytes not_a_hash_float = "ERR hash value is not a float";
constexpr Bytes overflow = "ERR increment or decrement would overflow";
constexpr Bytes not_finite = "ERR increment would produce NaN or Infinity";

/// Where the columns of `hashes` stand.
namespace element {
constexpr uint32_t field = 1;
constexpr uint32_t value = 2;
}  // namespace element

// --- reading one field or some -----------------------------------------------------------------------------------

/// What is told of a field: `value` is NULL where there is none.
using TellField = void (*)(Writer &, const Value &value);

void tell_value(Writer &writer, const Value &value) {
  char room[20];
  value.is_null() ? writer.nil() : writer.bulk(text_of(value, room));
}
void tell_length(Writer &writer, const Value &value) {
  char room[20];
  writer.integer(static_cast<int64_t>(text_of(value, room).size()));
}
void tell_presence(Writer &writer, const Value &value) {
  writer.integer(value.is_null() ? 0 : 1);
}

struct FieldTell {
  TellField tell;
  bool told = false;
  static constexpr bool counted = false;

  void absent(Writer &writer) const { tell(writer, Value::null()); }
  void begin(Writer &, const KeyState &) const {}
  void row(Writer &writer, Row row) {
    tell(writer, row[element::value]);
    told = true;
  }
  void end(Writer &writer, uint64_t rows) const {
    if (rows == 0) tell(writer, Value::null());
  }
};

Next read_field(Call &call, TellField tell) {
  const Place place = place_of(call, call.arguments[1]);
  if (place.state != Place::State::there || place.map().kind() == Map::Kind::value)
    return read_place(call, place, [tell](Writer &writer, const KeyState *state, Row) {
      state == nullptr ? tell(writer, Value::null()) : writer.error(wrong_type);
    });
  if (place.generic()) {
    const Find find{.key = element_key(call, call.arguments[1], Value::of(call.arguments[2])), .limit = 1};
    return read_elements(call, place, Elements::hashes, Type::hash, find, FieldTell{tell});
  }
  const RowFields fields = fields_of(call, place, 2, 1);
  return read_row(call, place, *fields.table,
                  [tell, at = fields.positions[0]](Writer &writer, const KeyState *state, Row row) {
                    tell(writer, state == nullptr || at == Map::no_column ? Value::null() : row[at]);
                  });
}

/// Rows come in the order of the list; a field that no row came for is not there.
struct FieldsTell {
  std::span<const Bytes> wanted;
  size_t at = 0;
  static constexpr bool counted = false;

  void absent(Writer &writer) const {
    writer.array(wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) writer.nil();
  }
  void begin(Writer &writer, const KeyState &) const { writer.array(wanted.size()); }
  void row(Writer &writer, Row row) {
    for (; at < wanted.size() && wanted[at] != row[element::field].bytes(); ++at) writer.nil();
    if (at == wanted.size()) return;
    tell_value(writer, row[element::value]);
    ++at;
  }
  void end(Writer &writer, uint64_t) {
    for (; at < wanted.size(); ++at) writer.nil();
  }
};

// --- reading all fields ---------------------------------------------------------------------------------------------

enum class Part : uint8_t { fields, values, both };

struct AllTell {
  Part part;
  static constexpr bool counted = true;

  void absent(Writer &writer) const { header(writer, 0); }
  void begin(Writer &writer, const KeyState &entry) const { header(writer, entry.len); }
  void row(Writer &writer, Row row) const {
    if (part != Part::values) writer.bulk(row[element::field].bytes());
    if (part != Part::fields) writer.bulk(row[element::value].bytes());
  }
  void end(Writer &, uint64_t) const {}
  void header(Writer &writer, size_t count) const { part == Part::both ? writer.map(count) : writer.array(count); }
};

void tell_row(Writer &writer, const Map &map, Row row, Part part) {
  const Row values = row.subspan(map.first_field());
  const AllTell tell{part};
  tell.header(writer, static_cast<size_t>(
                          std::count_if(values.begin(), values.end(), [](const Value &v) { return !v.is_null(); })));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_null()) continue;
    char room[20];
    if (part != Part::values) writer.bulk(map.fields()[i]);
    if (part != Part::fields) writer.bulk(text_of(values[i], room));
  }
}

Next read_all(Call &call, Part part) {
  const Bytes key = call.arguments[1];
  const Place place = place_of(call, key);
  if (place.state == Place::State::there && place.generic())
    return read_elements(call, place, Elements::hashes, Type::hash, {.key = element_key(call, key), .limit = all_rows},
                         AllTell{part});
  return read_place(call, place,
                    [part, map = place.open == nullptr ? nullptr : place.open->map.get()](
                        Writer &writer, const KeyState *state, Row row) {
                      if (state == nullptr) return AllTell{part}.absent(writer);
                      if (state->type != Type::hash) return writer.error(wrong_type);
                      tell_row(writer, *map, row, part);
                    });
}

// --- writing rows
// -----------------------------------------------------------------------------------------------------

class RowSet final : public RowEdit {
 public:
  RowSet(Call &call, const Place &place, const RowFields &fields, std::span<const Value> values, bool tells_ok)
      : RowEdit(call, place, fields), values_(values), tells_ok_(tells_ok), may_create_(place.map().may_create()) {}

 private:
  Decision change(Row row, Draft &next) override {
    for (size_t i = 0; i < count(); ++i) {
      // The same field may be named twice: the last one wins, and it is new once.
      const bool again = std::any_of(first() + i + 1, last(), [&](uint32_t other) { return other == position(i); });
      if (row[position(i)].is_null() && !again) ++made_;
      next.set(position(i), values_[i]);
    }
    return Decision::write;
  }
  void tell(Writer writer) override {
    if (!found() && !may_create_) return writer.error("ERR no such row");
    if (tells_ok_) return writer.ok();
    writer.integer(found() ? made_ : static_cast<int64_t>(distinct()));
  }
  void forget() override { made_ = 0; }

  size_t distinct() const {
    std::vector<uint32_t> all(first(), last());
    std::sort(all.begin(), all.end());
    return static_cast<size_t>(std::unique(all.begin(), all.end()) - all.begin());
  }

  const std::span<const Value> values_;
  const bool tells_ok_;
  const bool may_create_;
  int64_t made_ = 0;
};

class RowSetIfAbsent final : public RowEdit {
 public:
  RowSetIfAbsent(Call &call, const Place &place, const RowFields &fields, Bytes value)
      : RowEdit(call, place, fields), value_(value) {}

 private:
  Decision change(Row row, Draft &next) override {
    kept_ = !row[position(0)].is_null();
    if (kept_) return Decision::keep;
    next.set(position(0), Value::of(value_));
    return Decision::write;
  }
  void tell(Writer writer) override { writer.integer(kept_ ? 0 : 1); }
  void forget() override { kept_ = false; }

  const Bytes value_;
  bool kept_ = false;
};

class RowDelete final : public RowEdit {
 public:
  using RowEdit::RowEdit;

 private:
  Decision change(Row row, Draft &next) override {
    for (size_t i = 0; i < count(); ++i) {
      const bool named = std::find(first(), first() + i, position(i)) != first() + i;
      if (position(i) == Map::no_column || named || row[position(i)].is_null()) continue;
      next.set(position(i), Value::null());
      ++removed_;
    }
    return removed_ == 0 ? Decision::keep : Decision::write;
  }
  void tell(Writer writer) override { writer.integer(removed_); }
  void forget() override { removed_ = 0; }

  int64_t removed_ = 0;
};

class RowIncrement final : public RowEdit {
 public:
  RowIncrement(Call &call, const Place &place, const RowFields &fields, int64_t by)
      : RowEdit(call, place, fields), by_(by), sum_(by) {}

 private:
  Decision change(Row row, Draft &next) override {
    int64_t number = 0;
    if (!integer_of(row[position(0)], number)) {
      begin().error(not_a_hash_integer);
      return Decision::keep;
    }
    if (__builtin_add_overflow(number, by_, &sum_)) {
      begin().error(overflow);
      return Decision::keep;
    }
    next.set(position(0), Value::of_integer(sum_));
    return Decision::write;
  }
  void tell(Writer writer) override { writer.integer(sum_); }
  void forget() override { sum_ = by_; }

  const int64_t by_;
  int64_t sum_;
};

class RowIncrementFloat final : public RowEdit {
 public:
  RowIncrementFloat(Call &call, const Place &place, const RowFields &fields, long double by)
      : RowEdit(call, place, fields), by_(by) {
    forget();
  }
  Bytes text() const { return {sum_, size_}; }

 private:
  Decision change(Row row, Draft &next) override {
    char room[20];
    long double number = 0;
    const Value &now = row[position(0)];
    if (!now.is_null() && !parse_long_double(text_of(now, room), number)) {
      begin().error(not_a_hash_float);
      return Decision::keep;
    }
    number += by_;
    if (std::isnan(number) || std::isinf(number)) {
      begin().error(not_finite);
      return Decision::keep;
    }
    size_ = print_long_double(sum_, number);
    next.set(position(0), Value::of(text()));
    return Decision::write;
  }
  void tell(Writer writer) override { writer.bulk(text()); }
  void forget() override { size_ = print_long_double(sum_, by_); }

  const long double by_;
  size_t size_ = 0;
  char sum_[number_bytes_max];
};

// --- writing the generic keyspace
// ----------------------------------------------------------------------------------------

class HashWork : public Work {
 public:
  HashWork(Call &call, OpenMap &open) : Work(call, open), arguments_(call.arguments), key_(call.arguments[1]) {}

 protected:
  OpenTable &hashes() { return elements(Elements::hashes); }
  std::span<const Value> at(Bytes field) { return values({Value::of(key_), Value::of(field)}); }

  const std::span<const Bytes> arguments_;
  const Bytes key_;
};

/// HSET, HMSET and HSETNX.
class HashSet final : public HashWork {
 public:
  enum class Answer : uint8_t { made, ok };
  HashSet(Call &call, OpenMap &open, OnDuplicate on_duplicate, Answer answer)
      : HashWork(call, open), on_duplicate_(on_duplicate), answer_(answer) {}

 private:
  Task<> run() override {
    Entry entry = co_await make(key_, Type::hash);
    if (entry.type != Type::hash) {
      writer().error(wrong_type);
      co_return;
    }
    // Each insert tells whether it made a row: `update` counts 2, and `ignore` 0, for one that was there.
    std::vector<StepReply *> replies;
    for (size_t i = 2; i + 1 < arguments_.size(); i += 2)
      replies.push_back(&add_insert(hashes(), {Value::of(key_), Value::of(arguments_[i]), Value::of(arguments_[i + 1])},
                                    on_duplicate_));
    co_await go();
    int64_t made = 0;
    for (const StepReply *const reply : replies) made += reply->changed == 1 ? 1 : 0;
    entry.len += made;
    if (made != 0 || on_duplicate_ != OnDuplicate::ignore) co_await store(entry);
    if (answer_ == Answer::ok) writer().ok();
    else writer().integer(made);
  }

  const OnDuplicate on_duplicate_;
  const Answer answer_;
};

class HashDelete final : public HashWork {
 public:
  using HashWork::HashWork;

 private:
  Task<> run() override {
    Entry entry = co_await lock(key_);
    if (!entry.live) {
      writer().integer(0);
      co_return;
    }
    if (entry.type != Type::hash) {
      writer().error(wrong_type);
      co_return;
    }
    std::vector<StepReply *> replies;
    for (const Bytes field : arguments_.subspan(2))
      replies.push_back(&add_erase(hashes(), {.key = at(field), .limit = 1}));
    co_await go();
    int64_t removed = 0;
    for (const StepReply *const reply : replies) removed += static_cast<int64_t>(reply->changed);
    entry.len -= removed;
    if (removed != 0) co_await store(entry);
    writer().integer(removed);
  }
};

/// HINCRBY and HINCRBYFLOAT: `Number` is int64_t or long double.
template <class Number>
class HashIncrement final : public HashWork {
 public:
  HashIncrement(Call &call, OpenMap &open, Number by) : HashWork(call, open), by_(by) {}

 private:
  static constexpr bool whole = std::is_integral_v<Number>;

  Task<> run() override {
    Entry entry = co_await make(key_, Type::hash);
    if (entry.type != Type::hash) {
      writer().error(wrong_type);
      co_return;
    }
    const Bytes field = arguments_[2];
    Bytes problem;
    std::string sum = print(by_);
    EditBy add([&](Row row, Draft &next) {
      Number number = 0;
      if (!read(row[element::value], number)) problem = whole ? not_a_hash_integer : not_a_hash_float;
      else if (!add_to(number)) problem = whole ? overflow : not_finite;
      if (!problem.empty()) return Decision::keep;
      sum = print(number);
      next.set(element::value, Value::of(sum));
      return Decision::write;
    });
    const StepReply &reply =
        add_insert(hashes(), {Value::of(key_), Value::of(field), Value::of(keep_text(sum))}, OnDuplicate::decide, &add);
    co_await go();
    if (!problem.empty()) {
      writer().error(problem);
      co_return;
    }
    if (reply.changed == 1) ++entry.len;
    co_await store(entry);
    if constexpr (whole) {
      int64_t number = 0;
      (void)parse_integer(sum, number);
      writer().integer(number);
    } else {
      writer().bulk(sum);
    }
  }

  static bool read(const Value &value, Number &number) {
    if constexpr (whole) return integer_of(value, number);
    else return parse_long_double(value.bytes(), number);
  }
  bool add_to(Number &number) const {
    if constexpr (whole) return !__builtin_add_overflow(number, by_, &number);
    else return std::isfinite(number += by_);
  }
  static std::string print(Number number) {
    if constexpr (whole) {
      return std::to_string(number);
    } else {
      std::string text(number_bytes_max, '\0');
      text.resize(print_long_double(text.data(), number));
      return text;
    }
  }

  const Number by_;
};

/// The place of a command that writes a hash: there, and a row or generic; else told why not.
bool may_write_hash(Call &call, const Place &place) {
  if (place.state != Place::State::there) refuse_place(call, place);
  else if (place.map().kind() == Map::Kind::value) refuse(call, wrong_type);
  else if (place.map().read_only()) refuse_read_only(call, place);
  else return true;
  return false;
}

/// Values of the arguments from `first` on, each `step` behind the last.
std::span<Value> values_of(Call &call, size_t first, size_t step) {
  const std::span<Value> values = call.arena().array<Value>((call.arguments.size() - first + step - 1) / step);
  for (size_t i = 0; i < values.size(); ++i) values[i] = Value::of(call.arguments[first + i * step]);
  return values;
}

Next set_fields(Call &call, bool tells_ok) {
  if (call.arguments.size() % 2 != 0) return refuse_arity(call);
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_hash(call, place)) return Next::go_on;
  if (place.generic()) {
    open_elements(call, *place.open);
    return begin_work(call,
                      call.session.tables().keep<HashSet>(call, *place.open, OnDuplicate::update,
                                                          tells_ok ? HashSet::Answer::ok : HashSet::Answer::made));
  }
  const RowFields fields = fields_of(call, place, 2, 2);
  if (!has_all_fields(call, place, fields, 2, 2)) return Next::go_on;
  const std::span<Value> values = values_of(call, 3, 2);
  return write_row(call, place, fields, *call.arena().make<RowSet>(call, place, fields, values, tells_ok), values);
}

}  // namespace

namespace lower {

Next hget(Call &call) {
  return read_field(call, tell_value);
}

Next hstrlen(Call &call) {
  return read_field(call, tell_length);
}

Next hexists(Call &call) {
  return read_field(call, tell_presence);
}

Next hmget(Call &call) {
  const Bytes key = call.arguments[1];
  const auto wanted = call.arguments.subspan(2);
  const Place place = place_of(call, key);
  if (place.state == Place::State::there && place.generic()) {
    Find find{.in_part = 1, .key = element_key(call, key, Value::of(wanted[0])), .limit = all_rows};
    find.in_list = values_of(call, 2, 1);
    return read_elements(call, place, Elements::hashes, Type::hash, find, FieldsTell{wanted});
  }
  if (place.state != Place::State::there || place.map().kind() == Map::Kind::value)
    return read_place(call, place, [wanted](Writer &writer, const KeyState *state, Row) {
      state == nullptr ? FieldsTell{wanted}.absent(writer) : writer.error(wrong_type);
    });
  const RowFields fields = fields_of(call, place, 2, 1);
  return read_row(call, place, *fields.table,
                  [positions = fields.positions](Writer &writer, const KeyState *state, Row row) {
                    writer.array(positions.size());
                    for (const uint32_t at : positions)
                      tell_value(writer, state == nullptr || at == Map::no_column ? Value::null() : row[at]);
                  });
}

Next hgetall(Call &call) {
  return read_all(call, Part::both);
}

Next hkeys(Call &call) {
  return read_all(call, Part::fields);
}

Next hvals(Call &call) {
  return read_all(call, Part::values);
}

Next hlen(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  return read_place(
      call, place,
      [map = place.open == nullptr ? nullptr : place.open->map.get()](Writer &writer, const KeyState *state, Row row) {
        if (state == nullptr) return writer.integer(0);
        if (state->type != Type::hash) return writer.error(wrong_type);
        if (map->generic()) return writer.integer(static_cast<int64_t>(state->len));
        const Row values = row.subspan(map->first_field());
        writer.integer(
            std::count_if(values.begin(), values.end(), [](const Value &value) { return !value.is_null(); }));
      });
}

Next hset(Call &call) {
  return set_fields(call, false);
}

Next hmset(Call &call) {
  return set_fields(call, true);
}

Next hsetnx(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_hash(call, place)) return Next::go_on;
  if (place.generic()) {
    open_elements(call, *place.open);
    return begin_work(
        call, call.session.tables().keep<HashSet>(call, *place.open, OnDuplicate::ignore, HashSet::Answer::made));
  }
  const RowFields fields = fields_of(call, place, 2, 2);
  if (!has_all_fields(call, place, fields, 2, 2)) return Next::go_on;
  const Bytes value = call.arguments[3];
  return write_row(call, place, fields, *call.arena().make<RowSetIfAbsent>(call, place, fields, value),
                   values_of(call, 3, 2));
}

Next hdel(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_hash(call, place)) return Next::go_on;
  if (place.generic()) {
    open_elements(call, *place.open);
    return begin_work(call, call.session.tables().keep<HashDelete>(call, *place.open));
  }
  const RowFields fields = fields_of(call, place, 2, 1);
  return write_row(call, place, fields, *call.arena().make<RowDelete>(call, place, fields));
}

Next hincrby(Call &call) {
  int64_t by = 0;
  if (!parse_integer(call.arguments[3], by)) return refuse(call, not_an_integer);
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_hash(call, place)) return Next::go_on;
  if (place.generic()) {
    open_elements(call, *place.open);
    return begin_work(call, call.session.tables().keep<HashIncrement<int64_t>>(call, *place.open, by));
  }
  const RowFields fields = fields_of(call, place, 2, 2);
  if (!has_all_fields(call, place, fields, 2, 2)) return Next::go_on;
  const std::span<Value> value = call.arena().array<Value>(1);
  value[0] = Value::of_integer(by);
  return write_row(call, place, fields, *call.arena().make<RowIncrement>(call, place, fields, by), value);
}

Next hincrbyfloat(Call &call) {
  long double by = 0;
  if (!parse_long_double(call.arguments[3], by)) return refuse(call, not_a_float);
  if (std::isinf(by)) return refuse(call, "ERR value is NaN or Infinity");
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_hash(call, place)) return Next::go_on;
  if (place.generic()) {
    open_elements(call, *place.open);
    return begin_work(call, call.session.tables().keep<HashIncrement<long double>>(call, *place.open, by));
  }
  const RowFields fields = fields_of(call, place, 2, 2);
  if (!has_all_fields(call, place, fields, 2, 2)) return Next::go_on;
  RowIncrementFloat &edit = *call.arena().make<RowIncrementFloat>(call, place, fields, by);
  const std::span<Value> value = call.arena().array<Value>(1);
  value[0] = Value::of(edit.text());
  return write_row(call, place, fields, edit, value);
}

}  // namespace lower
}  // namespace postern::redis
