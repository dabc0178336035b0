#include "redis/geo/geo_arguments.h"

#include <cstdio>

#include "redis/call.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

class QueryReader {
 public:
  QueryReader(const GeoReading &reading, std::span<const Bytes> words, bool there)
      : reading_(reading), words_(words), there_(there) {}

  GeoQuery read() {
    if (!read_fixed() || !read_options() || !fits_together()) {
      query_.error = std::move(error_);
      query_.member_first = query_.member.has_value();
    }
    return query_;
  }

 private:
  bool searches() const { return reading_.form == GeoForm::search || reading_.form == GeoForm::search_store; }
  bool fail(std::string text) {
    error_ = std::move(text);
    return false;
  }
  bool succeeds(Bytes error) { return error.empty() || fail(std::string(error)); }
  bool has(size_t more) const { return at_ + more < words_.size(); }

  /// The arguments before the options.
  bool read_fixed() {
    switch (reading_.form) {
      case GeoForm::radius: at_ = 6; return read_center(2) && read_circle(4);
      case GeoForm::radius_by_member:
        at_ = 5;
        if (!there_) return true;
        query_.member = words_[2];
        return read_circle(3);
      case GeoForm::search: at_ = 2; break;
      case GeoForm::search_store:
        at_ = 3;
        query_.target = words_[1];
        break;
    }
    return true;
  }

  bool read_center(size_t at) {
    std::string error = read_point(words_[at], words_[at + 1], query_.area.center);
    return error.empty() || fail(std::move(error));
  }

  bool read_circle(size_t at) {
    query_.area.shape = geo::Area::Shape::circle;
    if (!parse_double(words_[at], query_.area.radius)) return fail("ERR need numeric radius");
    if (query_.area.radius < 0) return fail("ERR radius cannot be negative");
    return succeeds(read_unit(words_[at + 1], query_.area.unit));
  }

  bool read_box(size_t at) {
    query_.area.shape = geo::Area::Shape::rectangle;
    if (!parse_double(words_[at], query_.area.width)) return fail("ERR need numeric width");
    if (!parse_double(words_[at + 1], query_.area.height)) return fail("ERR need numeric height");
    if (query_.area.width < 0 || query_.area.height < 0) return fail("ERR height or width cannot be negative");
    return succeeds(read_unit(words_[at + 2], query_.area.unit));
  }

  bool read_options() {
    for (; at_ < words_.size(); ++at_) {
      const Bytes word = words_[at_];
      if (is_word(word, "withdist")) query_.with_distance = true;
      else if (is_word(word, "withhash")) query_.with_hash = true;
      else if (is_word(word, "withcoord")) query_.with_coordinates = true;
      else if (is_word(word, "any")) query_.any = true;
      else if (is_word(word, "asc")) query_.order = GeoQuery::Order::ascending;
      else if (is_word(word, "desc")) query_.order = GeoQuery::Order::descending;
      else if (!(searches() ? read_search_option(word) : read_store_option(word))) return false;
    }
    return true;
  }

  bool read_count() {
    int64_t count = 0;
    if (!parse_integer(words_[++at_], count)) return fail(std::string(not_an_integer));
    if (count <= 0) return fail("ERR COUNT must be > 0");
    query_.count = static_cast<uint64_t>(count);
    return true;
  }

  bool read_store_option(Bytes word) {
    if (is_word(word, "count") && has(1)) return read_count();
    const bool stores_distance = is_word(word, "storedist");
    if ((!stores_distance && !is_word(word, "store")) || !has(1) || !reading_.may_store)
      return fail(std::string(syntax_error));
    query_.target = words_[++at_];
    query_.stores_distance = stores_distance;
    return true;
  }

  bool read_search_option(Bytes word) {
    if (is_word(word, "count") && has(1)) return read_count();
    if (is_word(word, "storedist") && reading_.form == GeoForm::search_store) {
      query_.stores_distance = true;
    } else if (is_word(word, "frommember") && has(1) && !has_center_) {
      query_.member = words_[++at_];
    } else if (is_word(word, "fromlonlat") && has(2) && !query_.member) {
      has_center_ = true;
      at_ += 2;
      return read_center(at_ - 1);
    } else if (is_word(word, "byradius") && has(2) && !has_box_) {
      has_circle_ = true;
      at_ += 2;
      return read_circle(at_ - 1);
    } else if (is_word(word, "bybox") && has(3) && !has_circle_) {
      has_box_ = true;
      at_ += 3;
      return read_box(at_ - 2);
    } else {
      return fail(std::string(syntax_error));
    }
    return true;
  }

  bool fits_together() {
    if (query_.target && (query_.with_distance || query_.with_hash || query_.with_coordinates))
      return fail(
          reading_.form == GeoForm::search_store
              ? "ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
              : "ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options");
    const std::string name(told_of(words_[0]));
    if (searches() && !query_.member && !has_center_)
      return fail("ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for " + name);
    if (searches() && !has_circle_ && !has_box_)
      return fail("ERR exactly one of BYRADIUS and BYBOX can be specified for " + name);
    if (query_.any && query_.count == 0) return fail("ERR the ANY argument requires COUNT argument");
    return true;
  }

  const GeoReading reading_;
  const std::span<const Bytes> words_;
  const bool there_;
  GeoQuery query_;
  std::string error_;
  size_t at_ = 0;
  bool has_center_ = false;
  bool has_circle_ = false;
  bool has_box_ = false;
};

}  // namespace

GeoQuery read_geo_query(const GeoReading &reading, std::span<const Bytes> arguments, bool there) {
  return QueryReader(reading, arguments, there).read();
}

std::string read_point(Bytes longitude, Bytes latitude, geo::Point &point) {
  if (!parse_double(longitude, point.longitude) || !parse_double(latitude, point.latitude))
    return std::string(not_a_float);
  if (geo::is_on_map(point)) return {};
  // Doubles have at most 309 digits before the point.
  char text[720];
  const int size =
      std::snprintf(text, sizeof text, "ERR invalid longitude,latitude pair %f,%f", point.longitude, point.latitude);
  return {text, static_cast<size_t>(size)};
}

Bytes read_unit(Bytes word, double &metres) {
  if (is_word(word, "m")) metres = 1;
  else if (is_word(word, "km")) metres = 1000;
  else if (is_word(word, "ft")) metres = 0.3048;
  else if (is_word(word, "mi")) metres = 1609.34;
  else return "ERR unsupported unit provided. please use M, KM, FT, MI";
  return {};
}

}  // namespace postern::redis
