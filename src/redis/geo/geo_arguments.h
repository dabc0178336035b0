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

  geo::Area area{};  ///< centered on a member, if the key has it
  std::optional<Bytes> member{};
  bool with_distance = false;
  bool with_hash = false;
  bool with_coordinates = false;
  Order order = Order::none;
  bool any = false;    ///< the first `count` that are met
  uint64_t count = 0;  ///< 0: all
  std::optional<Bytes> target{};
  bool stores_distance = false;
  std::string error{};  ///< empty: none
  /// The error stands after the member's argument: it is not answered if the member does not exist.
  bool member_first = false;
};

/// Options of a command. Redis checks some of them only if the key exists.
struct GeoReading {
  GeoForm form = GeoForm::search;
  bool may_store = false;  ///< whether STORE and STOREDIST are options
};
GeoQuery read_geo_query(const GeoReading &reading, std::span<const Bytes> arguments, bool there);

/// Parses `longitude latitude`. Returns an error, or nothing.
std::string read_point(Bytes longitude, Bytes latitude, geo::Point &point);
/// Parses a unit into metres. Returns an error, or nothing.
Bytes read_unit(Bytes word, double &metres);

}  // namespace postern::redis
