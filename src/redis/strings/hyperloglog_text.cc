#include "redis/strings/hyperloglog_text.h"

#include <memory>

namespace postern::redis {
namespace {

constexpr Bytes written_magic = "HYLL";
constexpr size_t header_bytes = HyperLogLog::header_bytes;
constexpr size_t estimate_end = 15;  // its highest bit: the estimate is out of date
constexpr size_t register_bits = HyperLogLog::register_bits;
constexpr uint8_t written_register_max = (1 << register_bits) - 1;
constexpr size_t dense_bytes = header_bytes + HyperLogLog::registers * register_bits / 8;

// Of one run.
constexpr uint8_t run_value_max = 32;
constexpr size_t run_of_value_max = 4;
constexpr size_t short_run_of_zeros_max = 64;

void put_zeros(std::string &text, size_t size) {
  if (size == 0) return;
  const size_t coded = size - 1;
  if (size > short_run_of_zeros_max) text += static_cast<char>(0x40 | coded >> 8);
  text += static_cast<char>(coded);
}

void put_run(std::string &text, uint8_t value, size_t size) {
  if (value == 0) put_zeros(text, size);
  else if (size != 0) text += static_cast<char>(0x80 | (value - 1) << 2 | (size - 1));
}

std::string dense_text(Bytes header, const HyperLogLog &log) {
  std::string text(header.substr(0, header_bytes));
  text.resize(dense_bytes, '\0');
  text[HyperLogLog::form_at] = 0;
  for (size_t i = 0; i < HyperLogLog::registers; ++i) {
    const size_t bit = i * register_bits;
    const uint32_t two = uint32_t{log.at(i)} << bit % 8;
    char *const at = &text[header_bytes + bit / 8];
    at[0] = static_cast<char>(at[0] | static_cast<char>(two));
    if (bit % 8 > 8 - register_bits) at[1] = static_cast<char>(two >> 8);
  }
  return text;
}

}  // namespace

HyperLogLogText::HyperLogLogText() : text_(written_magic) {
  text_.resize(header_bytes, '\0');
  text_[HyperLogLog::form_at] = 1;
  put_zeros(text_, HyperLogLog::registers);
}

bool HyperLogLogText::is_sparse() const {
  return text_[HyperLogLog::form_at] == 1;
}

void HyperLogLogText::note_changed() {
  text_[estimate_end] = static_cast<char>(text_[estimate_end] | 0x80);
}

bool HyperLogLogText::make_dense() {
  if (!is_sparse()) return false;
  const auto log = std::make_unique<HyperLogLog>();
  static_cast<void>(log->merge(text_));
  text_ = dense_text(text_, *log);
  return true;
}

bool HyperLogLogText::add(Bytes element) {
  const HyperLogLog::Trait trait = HyperLogLog::trait_of(element);
  return raise(trait.place, trait.value);
}

void HyperLogLogText::raise(const HyperLogLog &log) {
  for (size_t place = 0; place < HyperLogLog::registers; ++place)
    if (log.at(place) != 0) raise(place, log.at(place));
}

bool HyperLogLogText::raise(size_t place, uint8_t value) {
  return is_sparse() ? raise_run(place, value) : raise_dense(place, value);
}

bool HyperLogLogText::raise_dense(size_t place, uint8_t value) {
  const size_t bit = place * register_bits;
  const size_t shift = bit % 8;
  const auto octet = [this](size_t at) { return static_cast<uint8_t>(text_[at]); };
  const size_t at = header_bytes + bit / 8;
  const bool in_two = shift > 8 - register_bits;
  const uint32_t two = octet(at) | (in_two ? uint32_t{octet(at + 1)} << 8 : 0);
  if ((two >> shift & written_register_max) >= value) return false;
  const uint32_t next = (two & ~(uint32_t{written_register_max} << shift)) | uint32_t{value} << shift;
  text_[at] = static_cast<char>(next);
  if (in_two) text_[at + 1] = static_cast<char>(next >> 8);
  return true;
}

/// Parts the run that the register is in, if its value is less.
bool HyperLogLogText::raise_run(size_t place, uint8_t value) {
  size_t at = header_bytes;
  size_t before = header_bytes;  // the run before
  size_t first = 0;              // register of the run
  HyperLogLog::Run run = HyperLogLog::read_run(text_, at);
  for (; place >= first + run.size; run = HyperLogLog::read_run(text_, at)) {
    before = at;
    first += run.size;
    at += run.bytes;
  }
  if (value <= run.value) return false;
  std::string parts;
  put_run(parts, run.value, place - first);
  if (value <= run_value_max) put_run(parts, value, 1);
  put_run(parts, run.value, first + run.size - place - 1);
  const bool grows = parts.size() > run.bytes;
  if (value > run_value_max || (grows && text_.size() + parts.size() - run.bytes > sparse_bytes_max)) {
    make_dense();
    return raise_dense(place, value);
  }
  text_.replace(at, run.bytes, parts);
  join_runs(before);
  return true;
}

/// Joins neighbours of one value in the next few runs. Redis looks at as many.
void HyperLogLogText::join_runs(size_t from) {
  size_t at = from;
  for (int left = 5; left != 0 && at < text_.size(); --left) {
    const HyperLogLog::Run run = HyperLogLog::read_run(text_, at);
    const size_t next = at + run.bytes;
    if (run.value != 0 && next < text_.size()) {
      const HyperLogLog::Run other = HyperLogLog::read_run(text_, next);
      if (other.value == run.value && run.size + other.size <= run_of_value_max) {
        std::string joined;
        put_run(joined, run.value, run.size + other.size);
        text_.replace(at, run.bytes + other.bytes, joined);
        continue;
      }
    }
    at = next;
  }
}

std::string HyperLogLogText::runs() const {
  std::string text;
  for (size_t at = header_bytes; at < text_.size();) {
    const HyperLogLog::Run run = HyperLogLog::read_run(text_, at);
    if (!text.empty()) text += ' ';
    if (run.value != 0) text.append("v:").append(std::to_string(run.value)).append(",");
    else text += run.bytes == 2 ? "Z:" : "z:";
    text += std::to_string(run.size);
    at += run.bytes;
  }
  return text;
}

}  // namespace postern::redis
