// keys.h: random numbers and the keys drawn with them. Values; one thread each.
#pragma once

#include <cmath>
#include <cstdint>

namespace postern::bench {

/// xorshift64*, because a random number must cost far less than a request.
class Random {
 public:
  explicit Random(uint64_t seed = 0) : state_(seed * 0xBF58476D1CE4E5B9ULL ^ 0x9E3779B97F4A7C15ULL) {
    if (state_ == 0) state_ = 1;
  }
  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1DULL;
  }
  /// Uniform over 1 to `most`.
  uint64_t up_to(uint64_t most) {
    return 1 + static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * most) >> 64);
  }
  /// Uniform over [0, 1).
  double fraction() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

/// Zipf's law over 1 to `most`: rank r has a probability proportional to 1 / r^exponent. After Gray et al., "Quickly
/// generating billion-record synthetic databases"; ranks are scattered over the keys, so that hot keys are not
/// neighbours.
class Zipfian {
 public:
  explicit Zipfian(uint64_t most, double exponent = 0.99)
      : most_(most), exponent_(exponent), alpha_(1 / (1 - exponent)), zeta_(zeta(most, exponent)) {
    const double two = 1 + std::pow(0.5, exponent);
    eta_ = (1 - std::pow(2.0 / static_cast<double>(most), 1 - exponent)) / (1 - two / zeta_);
    second_ = two;
  }

  /// 0 is the most frequent one.
  uint64_t rank(Random &random) const {
    const double part = random.fraction();
    const double sum = part * zeta_;
    if (sum < 1 || most_ < 2) return 0;
    if (sum < second_ || most_ == 2) return 1;
    const double rank = static_cast<double>(most_) * std::pow(eta_ * part - eta_ + 1, alpha_);
    return rank < static_cast<double>(most_) ? static_cast<uint64_t>(rank) : most_ - 1;
  }
  /// A prime multiplier that does not divide `most` maps ranks to keys one to one.
  uint64_t key_of(uint64_t rank) const {
    return 1 + static_cast<uint64_t>(static_cast<unsigned __int128>(rank) * 2654435761U % most_);
  }
  uint64_t draw(Random &random) const { return key_of(rank(random)); }

 private:
  static double zeta(uint64_t most, double exponent) {
    double sum = 0;
    for (uint64_t i = 1; i <= most; ++i) sum += std::pow(static_cast<double>(i), -exponent);
    return sum;
  }

  uint64_t most_;
  double exponent_;
  double alpha_;
  double zeta_;
  double eta_ = 0;
  double second_ = 0;
};

}  // namespace postern::bench
