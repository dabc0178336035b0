#include "redis/strings/hyperloglog.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace postern::redis {
namespace {

constexpr Bytes magic = "HYLL";
constexpr size_t header_bytes = 16;
constexpr size_t form_at = 4;
constexpr size_t estimate_end = 15;  // its highest bit: the estimate that Redis keeps is out of date
constexpr size_t register_bits = 6;
constexpr uint8_t register_max = (1 << register_bits) - 1;
constexpr int index_bits = 14;
constexpr int hash_bits = 64 - index_bits;

uint8_t octet(Bytes text, size_t at) {
  return static_cast<uint8_t>(text[at]);
}

/// MurmurHash64A, with Redis's seed.
uint64_t hash_of(Bytes text) {
  constexpr uint64_t factor = 0xc6a4a7935bd1e995;
  constexpr int shift = 47;
  uint64_t hash = 0xadc83b19ULL ^ (text.size() * factor);
  for (; text.size() >= 8; text.remove_prefix(8)) {
    uint64_t piece = 0;
    std::memcpy(&piece, text.data(), 8);
    piece *= factor;
    piece ^= piece >> shift;
    piece *= factor;
    hash = (hash ^ piece) * factor;
  }
  if (!text.empty()) {
    uint64_t rest = 0;
    std::memcpy(&rest, text.data(), text.size());
    hash = (hash ^ rest) * factor;
  }
  hash = (hash ^ (hash >> shift)) * factor;
  return hash ^ (hash >> shift);
}

// The estimator of Otmar Ertl, as Redis computes it.

double sigma(double x) {
  if (x == 1) return INFINITY;
  double y = 1;
  double z = x;
  for (double before = -1; before != z;) {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  }
  return z;
}

double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double y = 1;
  double z = 1 - x;
  for (double before = -1; before != z;) {
    x = std::sqrt(x);
    before = z;
    y *= 0.5;
    z -= std::pow(1 - x, 2) * y;
  }
  return z / 3;
}

}  // namespace

HyperLogLog::Read HyperLogLog::merge(Bytes text) {
  constexpr size_t dense_bytes = header_bytes + registers * register_bits / 8;
  if (text.empty()) return Read::valid;
  if (text.size() < header_bytes || !text.starts_with(magic) || octet(text, form_at) > 1) return Read::other;
  const Bytes rest = text.substr(header_bytes);
  if (text[form_at] == 1) return merge_sparse(rest) ? Read::valid : Read::corrupt;
  if (text.size() != dense_bytes) return Read::other;
  for (size_t i = 0; i < registers; ++i) {
    const size_t bit = i * register_bits;
    uint32_t two = octet(rest, bit / 8);
    if (bit / 8 + 1 < rest.size()) two |= uint32_t{octet(rest, bit / 8 + 1)} << 8;
    registers_[i] = std::max(registers_[i], static_cast<uint8_t>((two >> bit % 8) & register_max));
  }
  return Read::valid;
}

/// Runs of registers: 00xxxxxx and 01xxxxxx xxxxxxxx are zeros, 1vvvvvxx are few of one value.
bool HyperLogLog::merge_sparse(Bytes runs) {
  size_t next = 0;
  while (!runs.empty()) {
    const uint8_t head = octet(runs, 0);
    const bool is_long = (head & 0xC0) == 0x40;
    if (is_long && runs.size() < 2) return false;
    uint8_t value = 0;
    size_t size = (head & 0x3F) + 1U;
    if (is_long) size = ((head & 0x3FU) << 8 | octet(runs, 1)) + 1U;
    if ((head & 0x80) != 0) {
      value = static_cast<uint8_t>((head >> 2 & 0x1F) + 1);
      size = (head & 3) + 1U;
    }
    if (size > registers - next) return false;
    for (; size != 0; --size, ++next) registers_[next] = std::max(registers_[next], value);
    runs.remove_prefix(is_long ? 2 : 1);
  }
  return next == registers;
}

bool HyperLogLog::add(Bytes element) {
  const uint64_t hash = hash_of(element);
  uint8_t &place = registers_[hash & (registers - 1)];
  const uint64_t rest = hash >> index_bits | uint64_t{1} << hash_bits;
  const auto zeros = static_cast<uint8_t>(std::countr_zero(rest) + 1);
  if (place >= zeros) return false;
  place = zeros;
  return true;
}

uint64_t HyperLogLog::count() const {
  constexpr double alpha = 0.721347520444481703680;  // 0.5 / ln 2
  constexpr auto all = static_cast<double>(registers);
  std::array<int, register_max + 1> histogram{};
  for (const uint8_t value : registers_) ++histogram[value];
  double z = all * tau((all - histogram[hash_bits + 1]) / all);
  for (size_t value = hash_bits; value >= 1; --value) z = (z + histogram[value]) * 0.5;
  z += all * sigma(histogram[0] / all);
  return static_cast<uint64_t>(std::llroundl(alpha * all * all / z));
}

std::string HyperLogLog::text() const {
  std::string text(header_bytes + registers * register_bits / 8, '\0');
  text.replace(0, magic.size(), magic);
  text[estimate_end] = static_cast<char>(0x80);
  for (size_t i = 0; i < registers; ++i) {
    const size_t bit = i * register_bits;
    const uint32_t two = uint32_t{registers_[i]} << bit % 8;
    char *const at = &text[header_bytes + bit / 8];
    at[0] = static_cast<char>(at[0] | static_cast<char>(two));
    if (bit % 8 > 8 - register_bits) at[1] = static_cast<char>(two >> 8);
  }
  return text;
}

}  // namespace postern::redis
