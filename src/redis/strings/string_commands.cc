#include <algorithm>
#include <limits>
#include <optional>

#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/strings/string_edit.h"
#include "redis/wire/numbers.h"
#include "redis/work/expiry_arguments.h"
#include "redis/work/float_sum.h"

namespace postern::redis {
namespace {

constexpr Bytes too_long = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";

size_t value_bytes_max(const Call &call) {
  return value_bytes_max_of(call);
}

/// Reads one key as a string: `tell(Writer &, Bytes)`; a missing key counts as empty, unless `absent` is given.
template <class Tell, class Absent>
Next read_string(Call &call, Bytes key, Tell tell, Absent absent) {
  return read_string_key(call, key, [tell, absent](Writer &writer, const KeyState *state, Row) {
    if (state == nullptr) return absent(writer);
    if (state->type != Type::string) return writer.error(wrong_type);
    char room[20];
    tell(writer, text_of(state->value, room));
  });
}

// --- SET and its kin -----------------------------------------------------------------------------------------------

struct SetOptions {
  bool if_absent = false;
  bool if_present = false;
  bool tells_old = false;
  bool keeps_expiry = false;
  int64_t expires_ms = 0;
  enum class Answer : uint8_t { status, number } answer = Answer::status;
};

class SetEdit final : public StringEdit {
 public:
  SetEdit(Call &call, const Place &place, Bytes value, const SetOptions &options)
      : StringEdit(call, place), value_(value), options_(options) {
    if (!options.if_present) create(Value::of(value), options.expires_ms);
  }

 private:
  bool replaces() const override { return !options_.tells_old; }
  bool clears() const override { return replaces() && !options_.if_absent; }

  Decision change(const KeyState &now, StringDraft &next) override {
    if (options_.tells_old) {
      char room[20];
      begin().bulk(text_of(now.value, room));
    }
    if (options_.if_absent) return Decision::keep;
    next.set(Value::of(value_));
    if (!options_.keeps_expiry) next.expire(options_.expires_ms);
    return Decision::write;
  }
  void tell(Writer writer) override {
    const bool stored = met() == Met::nothing ? !options_.if_present : !options_.if_absent;
    if (options_.answer == SetOptions::Answer::number) return writer.integer(stored ? 1 : 0);
    stored && !options_.tells_old ? writer.ok() : writer.nil();
  }

  const Bytes value_;
  const SetOptions options_;
};

Next set_string(Call &call, Bytes key, Bytes value, const SetOptions &options) {
  const Place place = place_of(call, key);
  if (!may_write_string(call, place)) return Next::go_on;
  if (options.expires_ms != 0 && !place.map().keeps_expiry()) return refuse_expiry(call, place);
  const bool reads = options.tells_old || options.if_absent || options.if_present;
  return write_string(call, place, *call.arena().make<SetEdit>(call, place, value, options), reads);
}

/// Returns false after answering an error.
bool read_set_options(Call &call, SetOptions &options) {
  ExpiryOption expiry;
  for (size_t i = 3; i < call.arguments.size(); ++i) {
    const Bytes word = call.arguments[i];
    if (is_word(word, "nx") && !options.if_present) options.if_absent = true;
    else if (is_word(word, "xx") && !options.if_absent) options.if_present = true;
    else if (is_word(word, "get")) options.tells_old = true;
    else if (is_word(word, "keepttl") && !expiry.unit) options.keeps_expiry = true;
    else if (options.keeps_expiry || !expiry.take(call.arguments, i)) {
      refuse(call, syntax_error);
      return false;
    }
  }
  return !expiry.unit || read_expiry(call, *expiry.unit, expiry.number, options.expires_ms);
}

class GetDelEdit final : public StringEdit {
 public:
  using StringEdit::StringEdit;

 private:
  Decision change(const KeyState &now, StringDraft &) override {
    char room[20];
    begin().bulk(text_of(now.value, room));
    return Decision::erase;
  }
  void tell(Writer writer) override { writer.nil(); }
};

class GetExEdit final : public StringEdit {
 public:
  GetExEdit(Call &call, const Place &place, int64_t expires_ms) : StringEdit(call, place), expires_ms_(expires_ms) {}

 private:
  Decision change(const KeyState &now, StringDraft &next) override {
    char room[20];
    begin().bulk(text_of(now.value, room));
    next.expire(expires_ms_);
    return Decision::write;
  }
  void tell(Writer writer) override { writer.nil(); }

  const int64_t expires_ms_;
};

// --- numbers
// ----------------------------------------------------------------------------------------------------------

class IncrementEdit final : public StringEdit {
 public:
  IncrementEdit(Call &call, const Place &place, int64_t by) : StringEdit(call, place), by_(by), sum_(by) {
    create(Value::of_integer(by));
  }

 private:
  Decision change(const KeyState &now, StringDraft &next) override {
    int64_t number = 0;
    if (!integer_of(now.value, number)) {
      begin().error(not_an_integer);
      return Decision::keep;
    }
    if (__builtin_add_overflow(number, by_, &sum_)) {
      begin().error("ERR increment or decrement would overflow");
      return Decision::keep;
    }
    next.set(Value::of_integer(sum_));
    return Decision::write;
  }
  void tell(Writer writer) override { writer.integer(sum_); }
  void forget() override { sum_ = by_; }

  const int64_t by_;
  int64_t sum_;
};

Next increment(Call &call, int64_t by) {
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_string(call, place)) return Next::go_on;
  return write_string(call, place, *call.arena().make<IncrementEdit>(call, place, by), true);
}

class IncrementFloatEdit final : public StringEdit {
 public:
  IncrementFloatEdit(Call &call, const Place &place, long double by) : StringEdit(call, place), sum_(by) {
    if (sum_.is_finite()) create(Value::of(sum_.text()));
  }

 private:
  Decision change(const KeyState &now, StringDraft &next) override {
    if (const Bytes error = sum_.add_to(now.value, not_a_float); !error.empty()) {
      begin().error(error);
      return Decision::keep;
    }
    next.set(Value::of(sum_.text()));
    return Decision::write;
  }
  void tell(Writer writer) override { sum_.is_finite() ? writer.bulk(sum_.text()) : writer.error(not_finite); }
  void forget() override { sum_.forget(); }

  FloatSum sum_;
};

// --- parts of strings
// -------------------------------------------------------------------------------------------------

class AppendEdit final : public StringEdit {
 public:
  AppendEdit(Call &call, const Place &place, Bytes bytes)
      : StringEdit(call, place), bytes_(bytes), bytes_max_(value_bytes_max(call)), size_(bytes.size()) {
    create(Value::of(bytes));
  }

 private:
  Decision change(const KeyState &now, StringDraft &next) override {
    char room[20];
    size_ = text_of(now.value, room).size() + bytes_.size();
    if (size_ > bytes_max_) {
      begin().error(too_long);
      return Decision::keep;
    }
    next.extend(bytes_);
    return Decision::write;
  }
  void tell(Writer writer) override { writer.integer(static_cast<int64_t>(size_)); }
  void forget() override { size_ = bytes_.size(); }

  const Bytes bytes_;
  const size_t bytes_max_;
  size_t size_;
};

class SetRangeEdit final : public StringEdit, public Kept {
 public:
  SetRangeEdit(Call &call, const Place &place, size_t offset, Bytes bytes)
      : StringEdit(call, place), offset_(offset), bytes_(bytes), made_(offset, '\0') {
    made_.append(bytes);
    create(Value::of(made_));
  }

 private:
  Decision change(const KeyState &now, StringDraft &next) override {
    char room[20];
    changed_ = text_of(now.value, room);
    if (changed_.size() < offset_ + bytes_.size()) changed_.resize(offset_ + bytes_.size(), '\0');
    changed_.replace(offset_, bytes_.size(), bytes_);
    next.set(Value::of(changed_));
    return Decision::write;
  }
  void tell(Writer writer) override {
    writer.integer(static_cast<int64_t>(met() == Met::string ? changed_.size() : made_.size()));
  }

  const size_t offset_;
  const Bytes bytes_;
  std::string made_;
  std::string changed_;
};

Next get_range(Call &call) {
  int64_t start = 0;
  int64_t end = 0;
  if (!parse_integer(call.arguments[2], start) || !parse_integer(call.arguments[3], end))
    return refuse(call, not_an_integer);
  return read_string(
      call, call.arguments[1],
      [start, end](Writer &writer, Bytes text) {
        const auto size = static_cast<int64_t>(text.size());
        if (start < 0 && end < 0 && start > end) return writer.bulk({});
        const int64_t from = std::max<int64_t>(start < 0 ? start + size : start, 0);
        const int64_t to = std::min(std::max<int64_t>(end < 0 ? end + size : end, 0), size - 1);
        if (from > to || size == 0) return writer.bulk({});
        writer.bulk(text.substr(static_cast<size_t>(from), static_cast<size_t>(to - from + 1)));
      },
      [](Writer &writer) { writer.bulk({}); });
}

}  // namespace

namespace lower {

Next get(Call &call) {
  return read_string(
      call, call.arguments[1], [](Writer &writer, Bytes text) { writer.bulk(text); },
      [](Writer &writer) { writer.nil(); });
}

Next mget(Call &call) {
  const auto keys = call.arguments.subspan(1);
  answer(call, [count = keys.size()](Writer &writer) { writer.array(count); });
  for (const Bytes key : keys) {
    read_string_key(call, key, [](Writer &writer, const KeyState *state, Row) {
      char room[20];
      if (state == nullptr || state->type != Type::string) return writer.nil();
      writer.bulk(text_of(state->value, room));
    });
  }
  return Next::go_on;
}

Next set(Call &call) {
  SetOptions options;
  if (!read_set_options(call, options)) return Next::go_on;
  return set_string(call, call.arguments[1], call.arguments[2], options);
}

Next setnx(Call &call) {
  return set_string(call, call.arguments[1], call.arguments[2],
                    {.if_absent = true, .answer = SetOptions::Answer::number});
}

Next setex(Call &call) {
  SetOptions options;
  if (!read_expiry(call, ExpiryUnit::seconds, call.arguments[2], options.expires_ms)) return Next::go_on;
  return set_string(call, call.arguments[1], call.arguments[3], options);
}

Next psetex(Call &call) {
  SetOptions options;
  if (!read_expiry(call, ExpiryUnit::milliseconds, call.arguments[2], options.expires_ms)) return Next::go_on;
  return set_string(call, call.arguments[1], call.arguments[3], options);
}

Next getset(Call &call) {
  return set_string(call, call.arguments[1], call.arguments[2], {.tells_old = true});
}

Next getdel(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_string(call, place)) return Next::go_on;
  if (!place.map().may_delete()) return refuse_delete(call, place);
  return write_string(call, place, *call.arena().make<GetDelEdit>(call, place), true, true);
}

Next getex(Call &call) {
  const auto words = call.arguments.subspan(2);
  if (words.empty()) return get(call);
  int64_t expires_ms = 0;
  ExpiryOption expiry;
  bool persists = false;
  for (size_t i = 0; i < words.size(); ++i) {
    if (is_word(words[i], "persist") && !expiry.unit) persists = true;
    else if (persists || !expiry.take(words, i)) return refuse(call, syntax_error);
  }
  // An invalid expiry is an error only if the key exists.
  if (const Bytes error = persists ? Bytes{} : expiry_error(call, *expiry.unit, expiry.number, expires_ms);
      !error.empty())
    return read_string(
        call, call.arguments[1], [error](Writer &writer, Bytes) { writer.error(error); },
        [](Writer &writer) { writer.nil(); });
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_string(call, place)) return Next::go_on;
  if (!place.map().keeps_expiry()) return persists ? get(call) : refuse_expiry(call, place);
  if (!persists && expires_ms <= call.now_ms)
    return write_string(call, place, *call.arena().make<GetDelEdit>(call, place), true, true);
  return write_string(call, place, *call.arena().make<GetExEdit>(call, place, expires_ms), true);
}

Next incr(Call &call) {
  return increment(call, 1);
}

Next decr(Call &call) {
  return increment(call, -1);
}

Next incrby(Call &call) {
  int64_t by = 0;
  if (!parse_integer(call.arguments[2], by)) return refuse(call, not_an_integer);
  return increment(call, by);
}

Next decrby(Call &call) {
  int64_t by = 0;
  if (!parse_integer(call.arguments[2], by)) return refuse(call, not_an_integer);
  if (by == std::numeric_limits<int64_t>::min()) return refuse(call, "ERR decrement would overflow");
  return increment(call, -by);
}

Next incrbyfloat(Call &call) {
  long double by = 0;
  if (!parse_long_double(call.arguments[2], by)) return refuse(call, not_a_float);
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_string(call, place)) return Next::go_on;
  return write_string(call, place, *call.arena().make<IncrementFloatEdit>(call, place, by), true);
}

Next append(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_string(call, place)) return Next::go_on;
  return write_string(call, place, *call.arena().make<AppendEdit>(call, place, call.arguments[2]), true);
}

Next strlen(Call &call) {
  return read_string(
      call, call.arguments[1], [](Writer &writer, Bytes text) { writer.integer(static_cast<int64_t>(text.size())); },
      [](Writer &writer) { writer.integer(0); });
}

Next getrange(Call &call) {
  return get_range(call);
}

Next substr(Call &call) {
  return get_range(call);
}

Next setrange(Call &call) {
  int64_t offset = 0;
  const Bytes bytes = call.arguments[3];
  if (!parse_integer(call.arguments[2], offset)) return refuse(call, not_an_integer);
  if (offset < 0) return refuse(call, "ERR offset is out of range");
  if (bytes.empty()) return strlen(call);
  const size_t bytes_max = value_bytes_max(call);
  if (static_cast<uint64_t>(offset) > bytes_max || static_cast<uint64_t>(offset) + bytes.size() > bytes_max)
    return refuse(call, too_long);
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_string(call, place)) return Next::go_on;
  return write_string(call, place, tables_of(call).keep<SetRangeEdit>(call, place, static_cast<size_t>(offset), bytes),
                      true);
}

}  // namespace lower
}  // namespace postern::redis
