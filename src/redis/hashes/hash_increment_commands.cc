#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "redis/hashes/hash_ops.h"
#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/wire/numbers.h"
#include "redis/work/float_sum.h"

namespace postern::redis {
namespace {

constexpr Bytes not_a_hash_integer = "ERR hash value is not an integer";
constexpr Bytes not_a_hash_float = "ERR hash value is not a float";
constexpr Bytes overflow = "ERR increment or decrement would overflow";

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
      : RowEdit(call, place, fields), sum_(by) {}
  Bytes text() const { return sum_.text(); }

 private:
  Decision change(Row row, Draft &next) override {
    const Value &now = row[position(0)];
    if (now.is_null()) sum_.forget();
    else if (const Bytes error = sum_.add_to(now, not_a_hash_float); !error.empty()) {
      begin().error(error);
      return Decision::keep;
    }
    next.set(position(0), Value::of(text()));
    return Decision::write;
  }
  void tell(Writer writer) override { writer.bulk(text()); }
  void forget() override { sum_.forget(); }

  FloatSum sum_;
};

/// HINCRBY and HINCRBYFLOAT: `Number` is int64_t or long double.
template <class Number>
class HashIncrement final : public HashWork {
 public:
  HashIncrement(Call &call, OpenMap &open, Number by) : HashWork(call, open), by_(by) {}

 private:
  static constexpr bool whole = std::is_integral_v<Number>;

  Task<> run() override {
    Entry entry = co_await make(row_key(key_), Type::hash);
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
    const StepReply &reply = add_insert(hashes(), {Value::of(entry.key), Value::of(field), Value::of(keep_text(sum))},
                                        OnDuplicate::decide, &add);
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

}  // namespace

namespace lower {

Next hincrby(Call &call) {
  int64_t by = 0;
  if (!parse_integer(call.arguments[3], by)) return refuse(call, not_an_integer);
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_hash(call, place)) return Next::go_on;
  if (place.generic()) {
    open_elements(call, *place.open);
    return begin_work(call, tables_of(call).keep<HashIncrement<int64_t>>(call, *place.open, by));
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
    return begin_work(call, tables_of(call).keep<HashIncrement<long double>>(call, *place.open, by));
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
