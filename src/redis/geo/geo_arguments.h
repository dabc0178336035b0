// geo_arguments.h: GeoQuery, the arguments of GEOSEARCH, GEORADIUS and similar commands.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.h"
#include "redis/geo/geohash.h"

namespace postern::redis {

enum class GeoForm : uint8_t { radius, radius_by_member, search, search_store };

struct GeoQuery {
  enum class Order : uint8_t { none, ascending, descending };

  geo::Area area{};  ///< its center is the member's, if there is one
  std::optional<Bytes> member{};
  bool with_distance = false;
  bool with_hash = false;
  bool with_coordinates = false;
  Order order = Order::none;
  bool any = false;    ///< `count` of those that are met first
  uint64_t count = 0;  ///< 0: all
  std::optional<Bytes> target{};
  bool stores_distance = false;
  std::string error{};  ///< empty: none
  /// The error comes after the member's argument: it is not answered where there is no such member.
  bool member_first = false;
};

/// Options of a command. Redis looks at some of them only if there is such a key.
struct GeoReading {
  GeoForm form = GeoForm::search;
  bool may_store = false;  ///< STORE and STOREDIST are options
};
GeoQuery read_geo_query(const GeoReading &reading, std::span<const Bytes> arguments, bool there);

/// `longitude latitude`. Returns an error, or nothing.
std::string read_point(Bytes longitude, Bytes latitude, geo::Point &point);
/// The metres of a unit. Returns an error, or nothing.
Bytes read_unit(Bytes word, double &metres);

}  // namespace postern::redis
