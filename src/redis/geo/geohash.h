// geohash.h: places on the earth as scores of sorted sets, as Redis has them, and the ranges of scores around a place.
//
// A score has 52 bits, of longitude and latitude in turn. All computations are Redis's, to the last bit, for their
// results are in replies.
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
/// Eleven letters, as other programs know them.
inline constexpr size_t letters_count = 11;
void write_letters(Point point, char *to);

/// In metres.
double distance(Point one, Point other);

/// A circle, or a rectangle whose sides go north and east, in metres.
struct Area {
  enum class Shape : uint8_t { circle, rectangle };
  Shape shape = Shape::circle;
  Point center{};
  double radius = 0;
  double width = 0;
  double height = 0;
  double unit = 1;  ///< metres: the sizes above are of these

  /// Whether a place is in it, and how far from its center.
  bool has(Point point, double &metres) const;
};

/// Scores from the first one on, below the last one.
struct ScoreSpan {
  uint64_t from = 0;
  uint64_t to = 0;
};
/// At most nine, in the order in which Redis looks through them; they have all places of the area.
std::vector<ScoreSpan> spans_of(const Area &area);

}  // namespace postern::redis::geo
