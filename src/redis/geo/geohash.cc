#include "redis/geo/geohash.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace postern::redis::geo {
namespace {

constexpr unsigned steps_max = 26;
constexpr double earth_radius = 6372797.560856;
constexpr double mercator_max = 20037726.37;
constexpr double degree = M_PI / 180.0;

constexpr uint64_t even_bits = 0x5555555555555555;

double to_radians(double degrees) {
  return degrees * degree;
}
double to_degrees(double radians) {
  return radians / degree;
}

/// Puts a zero before each bit.
uint64_t spread(uint64_t bits) {
  bits = (bits | bits << 16) & 0x0000FFFF0000FFFF;
  bits = (bits | bits << 8) & 0x00FF00FF00FF00FF;
  bits = (bits | bits << 4) & 0x0F0F0F0F0F0F0F0F;
  bits = (bits | bits << 2) & 0x3333333333333333;
  return (bits | bits << 1) & even_bits;
}

uint32_t gather(uint64_t bits) {
  bits &= even_bits;
  bits = (bits | bits >> 1) & 0x3333333333333333;
  bits = (bits | bits >> 2) & 0x0F0F0F0F0F0F0F0F;
  bits = (bits | bits >> 4) & 0x00FF00FF00FF00FF;
  bits = (bits | bits >> 8) & 0x0000FFFF0000FFFF;
  return static_cast<uint32_t>(bits | bits >> 16);
}

struct Interval {
  double min;
  double max;
};
constexpr Interval longitudes{-longitude_max, longitude_max};
constexpr Interval latitudes{-latitude_max, latitude_max};

/// A square of the map: so many steps of halving in each direction lead to it.
struct Square {
  uint64_t bits = 0;
  unsigned steps = 0;
  bool operator==(const Square &) const = default;
};

uint32_t place_in(double value, Interval all, unsigned steps) {
  double offset = (value - all.min) / (all.max - all.min);
  offset *= static_cast<double>(uint64_t{1} << steps);
  return static_cast<uint32_t>(offset);
}

Square square_at(Point point, Interval latitudes_of_map, unsigned steps) {
  const uint64_t north = spread(place_in(point.latitude, latitudes_of_map, steps));
  const uint64_t east = spread(place_in(point.longitude, longitudes, steps));
  return {north | east << 1, steps};
}

Interval stretch(uint32_t place, Interval all, unsigned steps) {
  const double scale = all.max - all.min;
  const auto parts = static_cast<double>(uint64_t{1} << steps);
  return {all.min + place * 1.0 / parts * scale, all.min + (place + 1) * 1.0 / parts * scale};
}

struct Borders {
  Interval longitude;
  Interval latitude;
};
Borders borders_of(Square square) {
  return {stretch(gather(square.bits >> 1), longitudes, square.steps),
          stretch(gather(square.bits), latitudes, square.steps)};
}

/// The square so many to the east and to the north, wrapping around at the map's edges.
Square beside(Square square, int east, int north) {
  const uint64_t of_map = ~uint64_t{0} >> (64 - square.steps * 2);
  const uint64_t y_bits = even_bits & of_map;
  const uint64_t x_bits = ~even_bits & of_map;
  uint64_t x = square.bits & ~even_bits;
  uint64_t y = square.bits & even_bits;
  // The bits of the other direction carry what goes over.
  if (east > 0) x = (x + y_bits + 1) & x_bits;
  if (east < 0) x = ((x | y_bits) - (y_bits + 1)) & x_bits;
  if (north > 0) y = (y + x_bits + 1) & y_bits;
  if (north < 0) y = ((y | x_bits) - (x_bits + 1)) & y_bits;
  return {x | y, square.steps};
}

/// A square at least as large as the area, more or less.
unsigned steps_for(double metres, double latitude) {
  if (metres == 0) return steps_max;
  int steps = 1;
  for (; metres < mercator_max; metres *= 2) ++steps;
  steps -= 2;
  // Towards the poles squares are narrower.
  const double from_equator = std::fabs(latitude);
  if (from_equator > 66) --steps;
  if (from_equator > 80) --steps;
  return static_cast<unsigned>(std::clamp(steps, 1, static_cast<int>(steps_max)));
}

Borders bounds_of(const Area &area) {
  const bool circle = area.shape == Area::Shape::circle;
  const double height = area.unit * (circle ? area.radius : area.height / 2);
  const double width = area.unit * (circle ? area.radius : area.width / 2);
  const double latitude = area.center.latitude;
  const double longitude = area.center.longitude;
  const double north = to_degrees(height / earth_radius);
  const double at_top = to_degrees(width / earth_radius / std::cos(to_radians(latitude + north)));
  const double at_bottom = to_degrees(width / earth_radius / std::cos(to_radians(latitude - north)));
  const double east = latitude < 0 ? at_bottom : at_top;
  return {{longitude - east, longitude + east}, {latitude - north, latitude + north}};
}

/// Whether the squares around this one end before the area does.
bool is_too_small(Square square, const Borders &bounds) {
  return borders_of(beside(square, 0, 1)).latitude.max < bounds.latitude.max ||
         borders_of(beside(square, 0, -1)).latitude.min > bounds.latitude.min ||
         borders_of(beside(square, 1, 0)).longitude.max < bounds.longitude.max ||
         borders_of(beside(square, -1, 0)).longitude.min > bounds.longitude.min;
}

double distance_north(double one, double other) {
  return earth_radius * std::fabs(to_radians(other) - to_radians(one));
}

/// A score may be any number. One that does not fit 64 bits is converted as by the processors that Redis runs on.
uint64_t bits_in(double score) {
  constexpr double above_all = 18446744073709551616.0;
  if (score >= 0) return score < above_all ? static_cast<uint64_t>(score) : 0;
  return score > -above_all / 2 ? static_cast<uint64_t>(static_cast<int64_t>(score)) : uint64_t{1} << 63;
}

ScoreSpan span_of(Square square) {
  const unsigned shift = 2 * (steps_max - square.steps);
  return {square.bits << shift, (square.bits + 1) << shift};
}

}  // namespace

uint64_t score_of(Point point) {
  return square_at(point, latitudes, steps_max).bits;
}

Point point_of(double score) {
  const uint64_t bits = bits_in(score);
  const Borders borders = borders_of({bits, steps_max});
  const double longitude = (borders.longitude.min + borders.longitude.max) / 2;
  const double latitude = (borders.latitude.min + borders.latitude.max) / 2;
  return {std::clamp(longitude, -longitude_max, longitude_max), std::clamp(latitude, -latitude_max, latitude_max)};
}

void write_letters(Point point, char *to) {
  constexpr char alphabet[] = "0123456789bcdefghjkmnpqrstuvwxyz";
  // The rest of the world has latitudes up to the poles.
  const uint64_t bits = square_at(point, {-90, 90}, steps_max).bits;
  for (unsigned i = 0; i < letters_count; ++i)
    to[i] = alphabet[i == letters_count - 1 ? 0 : bits >> (52 - (i + 1) * 5) & 0x1f];
}

double distance(Point one, Point other) {
  const double v = std::sin((to_radians(other.longitude) - to_radians(one.longitude)) / 2);
  if (v == 0) return distance_north(one.latitude, other.latitude);
  const double from = to_radians(one.latitude);
  const double to = to_radians(other.latitude);
  const double u = std::sin((to - from) / 2);
  const double a = u * u + std::cos(from) * std::cos(to) * v * v;
  return 2.0 * earth_radius * std::asin(std::sqrt(a));
}

bool Area::has(Point point, double &metres) const {
  if (shape == Shape::circle) {
    metres = distance(center, point);
    return !(metres > radius * unit);
  }
  if (distance_north(point.latitude, center.latitude) > height * unit / 2) return false;
  if (distance(point, {center.longitude, point.latitude}) > width * unit / 2) return false;
  metres = distance(center, point);
  return true;
}

std::vector<ScoreSpan> spans_of(const Area &area) {
  const Borders bounds = bounds_of(area);
  const double half_width = area.width / 2;
  const double half_height = area.height / 2;
  double radius =
      area.shape == Area::Shape::circle ? area.radius : std::sqrt(half_width * half_width + half_height * half_height);
  radius *= area.unit;
  unsigned steps = steps_for(radius, area.center.latitude);
  Square middle = square_at(area.center, latitudes, steps);
  if (steps > 1 && is_too_small(middle, bounds)) middle = square_at(area.center, latitudes, --steps);
  const Borders borders = borders_of(middle);
  constexpr std::array<std::array<int, 2>, 9> around{
      {{0, 0}, {0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}}};
  std::vector<ScoreSpan> spans;
  Square last;
  for (const auto [east, north] : around) {
    // Skips squares beyond a border of the middle one that the area does not reach.
    const bool useless = steps >= 2 && ((north < 0 && borders.latitude.min < bounds.latitude.min) ||
                                        (north > 0 && borders.latitude.max > bounds.latitude.max) ||
                                        (east < 0 && borders.longitude.min < bounds.longitude.min) ||
                                        (east > 0 && borders.longitude.max > bounds.longitude.max));
    const Square square = beside(middle, east, north);
    // Where squares are large there are few, and one may be its own neighbour.
    if (useless || square == last) continue;
    spans.push_back(span_of(square));
    if (east != 0 || north != 0) last = square;
  }
  return spans;
}

}  // namespace postern::redis::geo
