// scores.h: scores of sorted sets, as texts and as column values.
//
// A DOUBLE column of the server cannot hold infinities: the largest finite numbers stand for them.
#pragma once

#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>

#include "contract/value.h"
#include "redis/wire/numbers.h"

namespace postern::redis {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// A row's column as a score.
inline double score_in(Bytes text) {
  constexpr double largest = std::numeric_limits<double>::max();
  double score = 0;
  if (!parse_double(text, score)) return 0;
  return score == largest ? infinity : score == -largest ? -infinity : score;
}
inline double score_in(const Value &value) {
  switch (value.kind()) {
    case Value::Kind::null: return 0;
    case Value::Kind::bytes: return score_in(value.bytes());
    case Value::Kind::integer: return static_cast<double>(value.integer());
    case Value::Kind::natural: return static_cast<double>(value.natural());
  }
  return 0;
}

/// The column's new value: the shortest text that the server parses to this number.
inline std::string stored_score(double score) {
  if (std::isinf(score)) score = std::copysign(std::numeric_limits<double>::max(), score);
  char text[40];
  return {text, std::to_chars(std::begin(text), std::end(text), score).ptr};
}

}  // namespace postern::redis
