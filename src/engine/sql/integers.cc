#include "engine/sql/integers.h"

#include <charconv>
#include <cmath>

namespace postern::sql {

bool parse_number(Bytes text, Number &number) {
  number = {};
  const char *at = text.data();
  const char *const end = at + text.size();
  if (at != end && (*at == '-' || *at == '+')) number.negative = *at++ == '-';
  const auto [point, error] = std::from_chars(at, end, number.magnitude);
  number.overflow = error == std::errc::result_out_of_range;
  bool any = point != at;
  at = point;
  if (at != end && *at == '.') {
    number.has_point = true;
    const char *const decimals = ++at;
    for (; at != end && *at >= '0' && *at <= '9'; ++at) number.fraction |= *at != '0';
    any |= at != decimals;
  }
  return any && at == end;
}

Fit fit_integer(const Number &number, IntegerType type, int64_t &stored) {
  const uint64_t bound = number.negative ? type.least_magnitude() : type.most();
  const bool beyond = number.overflow || number.magnitude > bound;
  const uint64_t magnitude = beyond ? bound : number.magnitude;
  stored = static_cast<int64_t>(number.negative ? 0 - magnitude : magnitude);
  if (!beyond && !number.fraction) return Fit::exact;
  return number.negative ? Fit::above : Fit::below;
}

Fit fit_bound(double given, IntegerType type, int64_t &stored) {
  const double beyond = std::ldexp(1, static_cast<int>(type.bits()));
  if (given < (type.is_unsigned ? 0 : -beyond)) {
    stored = static_cast<int64_t>(0 - type.least_magnitude());
    return Fit::above;
  }
  if (given >= beyond) {
    stored = static_cast<int64_t>(type.most());
    return Fit::below;
  }
  const double floor = std::floor(given);
  stored = type.is_unsigned ? static_cast<int64_t>(static_cast<uint64_t>(floor)) : static_cast<int64_t>(floor);
  return fit_of(floor, given);
}

}  // namespace postern::sql
