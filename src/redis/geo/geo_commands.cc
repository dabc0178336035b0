// geo_commands.cc: the GEO commands; their members are those of sorted sets.
#include <optional>
#include <string>

#include "redis/call_tables.h"
#include "redis/collections/scores.h"
#include "redis/geo/geo_search.h"
#include "redis/registry/handlers.h"

namespace postern::redis {
namespace {

struct PointOfMany {
  static void there(Writer &writer, Row row) { write_point(writer, geo::point_of(score_in(row[column::score]))); }
  static void absent(Writer &writer) { writer.nil_array(); }
};

struct LettersOfMany {
  static void there(Writer &writer, Row row) {
    char letters[geo::letters_count];
    geo::write_letters(geo::point_of(score_in(row[column::score])), letters);
    writer.bulk({letters, geo::letters_count});
  }
  static void absent(Writer &writer) { writer.nil(); }
};

struct DistanceTell {
  Bytes one;
  Bytes other;
  double unit;
  std::optional<geo::Point> from{};
  std::optional<geo::Point> to{};
  static constexpr bool counted = false;

  void absent(Writer &writer) const { writer.nil(); }
  void begin(Writer &, uint64_t) const {}
  void row(Writer &, Row row) {
    const geo::Point point = geo::point_of(score_in(row[column::score]));
    if (row[column::member].bytes() == one) from = point;
    if (row[column::member].bytes() == other) to = point;
  }
  void end(Writer &writer, uint64_t) const {
    if (from && to) write_distance(writer, geo::distance(*from, *to) / unit);
    else writer.nil();
  }
};

template <class Each>
Next tell_each(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  if (call.arguments.size() == 2)
    return read_place(call, place, [](Writer &writer, const KeyState *state, Row) {
      state == nullptr || state->type == Type::zset ? writer.array(0) : writer.error(wrong_type);
    });
  return read_members<Each>(call, place, Elements::zsets, Type::zset);
}

/// `may_store`: the command may name a target among its options.
Next search(Call &call, GeoForm form, bool may_store) {
  const GeoReading reading{form, may_store};
  const Bytes source = call.arguments[form == GeoForm::search_store ? 2 : 1];
  // A command with an error has no target; the error is answered after reading the key.
  const GeoQuery query = read_geo_query(reading, call.arguments, false);
  if (query.target && query.error.empty()) {
    OpenMap *open = nullptr;
    if (!may_write_both(call, *query.target, source, open)) return Next::go_on;
    note_fed(call, *query.target);
    return begin_work(call, tables_of(call).keep<GeoSearch>(call, *open, reading, source, query.target));
  }
  const Place place = place_of(call, source);
  if (!query.error.empty() && (place.state != Place::State::there || !place.generic()))
    return refuse(call, query.error);
  return begin_reading<GeoSearch>(
      call, place, [](Writer &writer) { writer.array(0); }, reading, source, std::optional<Bytes>{});
}

}  // namespace

namespace lower {

Next geoadd(Call &call) {
  const std::span<const Bytes> words = call.arguments;
  size_t at = 2;
  bool if_absent = false;
  bool if_there = false;
  for (; at < words.size(); ++at) {
    if (is_word(words[at], "nx")) if_absent = true;
    else if (is_word(words[at], "xx")) if_there = true;
    else if (!is_word(words[at], "ch")) break;
  }
  if ((words.size() - at) % 3 != 0 || (if_absent && if_there)) return refuse(call, syntax_error);
  // In the form of ZADD's scores.
  const std::span<Bytes> as_scores = call.arena().array<Bytes>(at + (words.size() - at) / 3 * 2);
  std::copy(words.begin(), words.begin() + static_cast<ptrdiff_t>(at), as_scores.begin());
  for (size_t to = at; at < words.size(); at += 3) {
    geo::Point point;
    const std::string error = read_point(words[at], words[at + 1], point);
    if (!error.empty()) return refuse(call, error);
    as_scores[to++] = call.arena().copy(std::to_string(geo::score_of(point)));
    as_scores[to++] = words[at + 2];
  }
  Call its{call.command, as_scores, call.session, call.batch, call.output, call.resp, call.now_ms, call.in_unit};
  return zadd(its);
}

Next geopos(Call &call) {
  return tell_each<PointOfMany>(call);
}

Next geohash(Call &call) {
  return tell_each<LettersOfMany>(call);
}

Next geodist(Call &call) {
  const std::span<const Bytes> words = call.arguments;
  double unit = 1;
  if (words.size() > 5) return refuse(call, syntax_error);
  if (words.size() == 5)
    if (const Bytes error = read_unit(words[4], unit); !error.empty()) return refuse(call, error);
  const Place place = place_of(call, words[1]);
  const Find find = find_members(call, place, words.subspan(2, 2));
  return read_collection(call, place, Elements::zsets, Type::zset, find, DistanceTell{words[2], words[3], unit});
}

Next georadius(Call &call) {
  return search(call, GeoForm::radius, true);
}

Next georadius_ro(Call &call) {
  return search(call, GeoForm::radius, false);
}

Next georadiusbymember(Call &call) {
  return search(call, GeoForm::radius_by_member, true);
}

Next georadiusbymember_ro(Call &call) {
  return search(call, GeoForm::radius_by_member, false);
}

Next geosearch(Call &call) {
  return search(call, GeoForm::search, false);
}

Next geosearchstore(Call &call) {
  return search(call, GeoForm::search_store, false);
}

}  // namespace lower
}  // namespace postern::redis
