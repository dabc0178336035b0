#include "redis/geo/geo_search.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/limits.h"
#include "redis/collections/scores.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

constexpr size_t rows_of_step_max = 1'000;

}  // namespace

void write_distance(Writer &to, double distance) {
  constexpr size_t digits = 4;
  std::string text = std::to_string(std::llrint(distance * 10'000));
  if (text.size() <= digits) text.insert(0, digits + 1 - text.size(), '0');
  text.insert(text.size() - digits, 1, '.');
  to.bulk(text);
}

void write_point(Writer &to, geo::Point point) {
  to.array(2);
  for (const double each : {point.longitude, point.latitude}) {
    char text[number_bytes_max];
    const Bytes digits(text, print_long_double(text, each));
    if (!to.three()) {
      to.bulk(digits);
      continue;
    }
    to.output().put(',');
    to.output().put(digits);
    to.output().put(Bytes("\r\n"));
  }
}

Task<> GeoSearch::run() {
  Entry source;
  Entry target;
  if (target_) co_await lock_both(*target_, target, source_, source);
  else source = co_await look(row_key(source_));
  if (is_wrong(source, Type::zset)) co_return;
  GeoQuery query = read_geo_query(reading_, arguments_, source.live);
  bool has_center = true;
  if (source.live && query.member) has_center = co_await find_member(source, query);
  if (!has_center && (query.error.empty() || query.member_first))
    query.error = "ERR could not decode requested zset member";
  if (!query.error.empty()) {
    writer().error(query.error);
    co_return;
  }
  std::vector<Found> found;
  if (source.live) co_await search(source, query, found);
  if (target_) co_await store_result(target, query, found);
  else tell_found(query, found);
}

Task<bool> GeoSearch::find_member(const Entry &source, GeoQuery &query) {
  if (query.member->size() > member_bytes_max) co_return false;
  const StepReply &row = add_reading(elements(Elements::zsets), {.key = element_of(source, *query.member), .limit = 1});
  co_await go();
  if (row.rows.empty()) co_return false;
  query.area.center = geo::point_of(score_in(Bytes(row.rows.front()[column::score].text)));
  co_return true;
}

Task<> GeoSearch::search(const Entry &source, const GeoQuery &query, std::vector<Found> &found) {
  const size_t enough = query.any ? query.count : all;
  size_t bytes = 0;
  for (const geo::ScoreSpan &span : geo::spans_of(query.area)) {
    if (found.size() >= enough) break;
    Find find{.comparison = Comparison::at_least, .limit = all};
    find.key = values({Value::of(source.key), Value::of(keep_text(std::to_string(span.from)))});
    find.until = values({Value::of(source.key), Value::of(keep_text(std::to_string(span.to)))});
    find.until_included = false;
    StepReply &rows = add_reading(elements(Elements::zsets_by_score), find);
    const size_t before_it = found.size();
    const size_t bytes_before = bytes;
    rows.hears = [&](Row row, uint64_t before) {
      if (before == 0) {
        found.resize(before_it);
        bytes = bytes_before;
      }
      Found one{.score = score_in(row[column::score])};
      one.point = geo::point_of(one.score);
      if (found.size() >= enough || !query.area.has(one.point, one.metres)) return Flow::more;
      one.member = row[column::member].bytes();
      bytes += sizeof one + one.member.size();
      found.push_back(std::move(one));
      return bytes <= limits::edit_reply_bytes_max ? Flow::more : Flow::pause;
    };
    co_await go();
  }
  // A count of some of many makes sense only in an order.
  const bool nearest = query.count != 0 && !query.any && query.order == GeoQuery::Order::none;
  if (nearest || query.order != GeoQuery::Order::none) {
    const bool descending = query.order == GeoQuery::Order::descending;
    std::stable_sort(found.begin(), found.end(), [descending](const Found &one, const Found &other) {
      return descending ? one.metres > other.metres : one.metres < other.metres;
    });
  }
  if (query.count != 0 && found.size() > query.count) found.resize(query.count);
}

Task<> GeoSearch::store_result(const Entry &target, const GeoQuery &query, const std::vector<Found> &found) {
  if (target.live) co_await clear(target);
  if (!found.empty()) {
    Entry entry = co_await make(row_key(*target_), Type::zset);
    for (size_t at = 0; at < found.size();) {
      for (const size_t end = std::min(found.size(), at + rows_of_step_max); at < end; ++at) {
        const double score = query.stores_distance ? found[at].metres / query.area.unit : found[at].score;
        add_insert(elements(Elements::zsets),
                   {Value::of(entry.key), Value::of(found[at].member), Value::of(keep_text(stored_score(score)))},
                   OnDuplicate::update);
      }
      co_await go();
    }
    entry.len = static_cast<int64_t>(found.size());
    co_await store(entry);
  }
  writer().integer(static_cast<int64_t>(found.size()));
}

void GeoSearch::tell_found(const GeoQuery &query, const std::vector<Found> &found) {
  Writer to = writer();
  to.array(found.size());
  const size_t parts = 1 + (query.with_distance ? 1 : 0) + (query.with_hash ? 1 : 0) + (query.with_coordinates ? 1 : 0);
  for (const Found &one : found) {
    if (parts > 1) to.array(parts);
    to.bulk(one.member);
    if (query.with_distance) write_distance(to, one.metres / query.area.unit);
    if (query.with_hash) to.integer(static_cast<int64_t>(one.score));
    if (query.with_coordinates) write_point(to, one.point);
  }
}

}  // namespace postern::redis
