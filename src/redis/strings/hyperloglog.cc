#include "redis/strings/hyperloglog.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace postern::redis {
namespace {

constexpr Bytes magic = "HYLL";
constexpr uint8_t register_max = (1 << HyperLogLog::register_bits) - 1;
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

/// 00xxxxxx and 01xxxxxx xxxxxxxx are zeros, 1vvvvvxx are few of one value.
HyperLogLog::Run HyperLogLog::read_run(Bytes text, size_t at) {
  const uint8_t head = octet(text, at);
  if ((head & 0x80) != 0)
    return {.value = static_cast<uint8_t>((head >> 2 & 0x1F) + 1), .size = (head & 3) + 1U, .bytes = 1};
  if ((head & 0x40) == 0) return {.size = (head & 0x3F) + 1U, .bytes = 1};
  if (at + 1 == text.size()) return {};
  return {.size = ((head & 0x3FU) << 8 | octet(text, at + 1)) + 1U, .bytes = 2};
}

bool HyperLogLog::merge_sparse(Bytes runs) {
  size_t next = 0;
  for (size_t at = 0; at != runs.size();) {
    const Run run = read_run(runs, at);
    if (run.bytes == 0 || run.size > registers - next) return false;
    for (const size_t end = next + run.size; next != end; ++next)
      registers_[next] = std::max(registers_[next], run.value);
    at += run.bytes;
  }
  return next == registers;
}

HyperLogLog::Trait HyperLogLog::trait_of(Bytes element) {
  const uint64_t hash = hash_of(element);
  const uint64_t rest = hash >> index_bits | uint64_t{1} << hash_bits;
  return {.place = hash & (registers - 1), .value = static_cast<uint8_t>(std::countr_zero(rest) + 1)};
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

}  // namespace postern::redis
