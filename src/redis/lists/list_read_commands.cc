#include <string>
#include <vector>

#include "redis/lists/list_work.h"
#include "redis/registry/handlers.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

/// A walk reaches elements so near to an end; others are found by their position, for which the key is read first.
constexpr int64_t walked_to_max = 100;

/// LRANGE that needs the list's length.
class ReadPlaces final : public ListWork {
 public:
  ReadPlaces(Call &call, OpenMap &open, const Places &places) : ListWork(call, open), places_(places) {}

 private:
  Task<> run() override {
    const Entry entry = co_await look(row_key(arguments_[1]));
    if (is_wrong(entry, Type::list)) co_return;
    std::vector<Cells> rows;
    const Places::Stretch wanted = places_.in(static_cast<uint64_t>(entry.live ? entry.len : 0));
    if (wanted.count != 0) {
      StepReply &found = add_read(lists(), stretch(entry, wanted));
      co_await go();
      rows = std::move(found.rows);
    }
    Writer to = writer();
    to.array(rows.size());
    for (const Cells &row : rows) to.bulk(row[column::value].text);
  }

  const Places places_;
};

class ReadIndex final : public ListWork {
 public:
  ReadIndex(Call &call, OpenMap &open, int64_t index) : ListWork(call, open), index_(index) {}

 private:
  Task<> run() override {
    const Entry entry = co_await look(row_key(arguments_[1]));
    if (is_wrong(entry, Type::list)) co_return;
    const int64_t index = index_ < 0 ? index_ + entry.len : index_;
    if (!entry.live || index < 0 || index >= entry.len) {
      writer().nil();
      co_return;
    }
    const StepReply &found = add_read(lists(), {.key = at(entry, index), .limit = 1});
    co_await go();
    found.rows.empty() ? writer().nil() : writer().bulk(found.rows[0][column::value].text);
  }

  const int64_t index_;
};

struct ElementTell {
  static constexpr bool counted = false;

  void absent(Writer &writer) const { writer.nil(); }
  void begin(Writer &, uint64_t) const {}
  void row(Writer &writer, Row row) const {
    char room[20];
    writer.bulk(text_of(row[column::value], room));
  }
  void end(Writer &writer, uint64_t rows) const {
    if (rows == 0) writer.nil();
  }
};

class Positions final : public ListWork {
 public:
  struct Wanted {
    int64_t rank = 1;
    int64_t count = -1;  ///< no COUNT was given: answers one, not in an array
    int64_t length_max = 0;
  };
  Positions(Call &call, OpenMap &open, const Wanted &wanted) : ListWork(call, open), wanted_(wanted) {}

 private:
  Task<> run() override {
    const Entry entry = co_await look(row_key(arguments_[1]));
    if (is_wrong(entry, Type::list)) co_return;
    std::vector<int64_t> indexes;
    if (entry.live) {
      Search what{.element = arguments_[2], .from_end = wanted_.rank < 0, .locks = false};
      what.skipped = static_cast<uint64_t>(wanted_.rank < 0 ? -wanted_.rank : wanted_.rank) - 1;
      what.wanted = wanted_.count < 0 ? 1 : wanted_.count == 0 ? all : static_cast<uint64_t>(wanted_.count);
      what.length_max = wanted_.length_max == 0 ? all : static_cast<uint64_t>(wanted_.length_max);
      co_await search(entry, what, indexes);
    }
    Writer to = writer();
    if (wanted_.count >= 0) to.array(indexes.size());
    else if (indexes.empty()) to.nil();
    for (const int64_t index : indexes) to.integer(index);
  }

  const Wanted wanted_;
};

/// The options of LPOS. Returns false after answering an error.
bool read_positions(Call &call, Positions::Wanted &wanted) {
  const auto wrong = [&call](Bytes why) {
    refuse(call, why);
    return false;
  };
  for (size_t i = 3; i < call.arguments.size(); i += 2) {
    const Bytes word = call.arguments[i];
    if (i + 1 == call.arguments.size()) return wrong(syntax_error);
    int64_t number = 0;
    const bool is_number = parse_integer(call.arguments[i + 1], number);
    if (is_word(word, "rank")) {
      if (!is_number) return wrong(not_an_integer);
      if (number == std::numeric_limits<int64_t>::min()) return wrong(out_of_range);
      if (number == 0)
        return wrong(
            "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to "
            "start from the end of the list");
      wanted.rank = number;
    } else if (is_word(word, "count")) {
      if (!is_number || number < 0) return wrong("ERR COUNT can't be negative");
      wanted.count = number;
    } else if (is_word(word, "maxlen")) {
      if (!is_number || number < 0) return wrong("ERR MAXLEN can't be negative");
      wanted.length_max = number;
    } else {
      return wrong(syntax_error);
    }
  }
  return true;
}

}  // namespace

namespace lower {

Next llen(Call &call) {
  return tell_length_of(call, Type::list);
}

Next lrange(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  Places places;
  if (!parse_integer(call.arguments[2], places.first) || !parse_integer(call.arguments[3], places.last))
    return refuse(call, not_an_integer);
  if (places.first >= 0 && places.last >= 0 && places.last < places.first) return tell_nothing(call, Type::list);
  if (!places.known() || places.first > walked_to_max)
    return begin_reading<ReadPlaces>(
        call, place, [](Writer &writer) { writer.array(0); }, places);
  const Find find{
      .key = element_key(call, place), .limit = places.limit(), .offset = static_cast<uint64_t>(places.first)};
  return read_collection(call, place, Elements::lists, Type::list, find, RangeTell{places, column::value});
}

Next lindex(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  int64_t index = 0;
  if (!parse_integer(call.arguments[2], index)) return refuse(call, not_an_integer);
  if (index < -walked_to_max || index > walked_to_max)
    return begin_reading<ReadIndex>(
        call, place, [](Writer &writer) { writer.nil(); }, index);
  const auto key_value = element_key(call, place);
  const Find find{.comparison = index < 0 ? Comparison::at_most : Comparison::at_least,
                  .key = key_value,
                  .limit = 1,
                  .offset = static_cast<uint64_t>(index < 0 ? -index - 1 : index),
                  .until = key_value};
  return read_collection(call, place, Elements::lists, Type::list, find, ElementTell{});
}

Next lpos(Call &call) {
  Positions::Wanted wanted;
  if (!read_positions(call, wanted)) return Next::go_on;
  const auto absent = [many = wanted.count >= 0](Writer &writer) { many ? writer.array(0) : writer.nil(); };
  return begin_reading<Positions>(call, call.arguments[1], absent, wanted);
}

}  // namespace lower
}  // namespace postern::redis
