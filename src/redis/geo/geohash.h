// geohash.h: positions on the earth encoded as scores of sorted sets, as in Redis, and the ranges of scores around a
// position.
//
// A score has 52 bits, alternately of longitude and latitude. All computations equal Redis's to the last bit, because
// replies contain their results.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace postern::redis::geo {

struct Point {
  double longitude = 0;
  double latitude = 0;
};

inline constexpr double longitude_max = 180;
inline constexpr double latitude_max = 85.05112878;

inline bool is_on_map(Point point) {
  return point.longitude >= -longitude_max && point.longitude <= longitude_max && point.latitude >= -latitude_max &&
         point.latitude <= latitude_max;
}

uint64_t score_of(Point point);
Point point_of(double score);
/// The standard geohash of eleven letters.
inline constexpr size_t letters_count = 11;
void write_letters(Point point, char *to);

/// In metres.
double distance(Point one, Point other);

/// A circle, or a rectangle with sides to the north and the east, in metres.
struct Area {
  enum class Shape : uint8_t { circle, rectangle };
  Shape shape = Shape::circle;
  Point center{};
  double radius = 0;
  double width = 0;
  double height = 0;
  double unit = 1;  ///< metres in the unit of the sizes above

  /// Whether a position is in it, and its distance from the center.
  bool has(Point point, double &metres) const;
};

/// Scores from `min` (included) to `max` (excluded).
struct ScoreSpan {
  uint64_t from = 0;
  uint64_t to = 0;
};
/// At most nine ranges, in Redis's order, which cover the area.
std::vector<ScoreSpan> spans_of(const Area &area);

}  // namespace postern::redis::geo
