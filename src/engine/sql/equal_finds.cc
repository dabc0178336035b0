#include "engine/sql/equal_finds.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/limits.h"

namespace postern::sql {
namespace {

constexpr uint32_t null_bytes = UINT32_MAX;
constexpr size_t word_bytes = sizeof(uint64_t);

/// Keys are padded to whole words; every bit counts in the hash.
uint32_t hash_of(const char *question, size_t size) {
  constexpr uint64_t odd = 0x9e37'79b9'7f4a'7c15;
  uint64_t hash = size;
  for (const char *const end = question + size; question != end; question += word_bytes)
    hash = (hash ^ hash >> 32 ^ load<uint64_t>(question)) * odd;
  return static_cast<uint32_t>((hash ^ hash >> 32) * odd >> 32);
}

bool same_words(const char *one, const char *other, size_t size) {
  for (const char *const end = one + size; one != end; one += word_bytes, other += word_bytes)
    if (load<uint64_t>(one) != load<uint64_t>(other)) return false;
  return true;
}

/// In two words that may overlap.
template <class Word>
void copy_ends(char *to, Bytes from) {
  const size_t last_at = from.size() - sizeof(Word);
  const auto first = load<Word>(from.data());
  const auto last = load<Word>(from.data() + last_at);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + last_at, &last, sizeof last);
}

/// Most values of keys are so short that a call of memcpy() costs more than this.
void copy(char *to, Bytes from) {
  if (from.size() < 4) {
    for (const char byte : from) *to++ = byte;
  } else if (from.size() < 8) {
    copy_ends<uint32_t>(to, from);
  } else if (from.size() <= 16) {
    copy_ends<uint64_t>(to, from);
  } else {
    std::memcpy(to, from.data(), from.size());
  }
}

}  // namespace

void EqualFinds::begin_run(size_t finds) {
  on_ = false;
  if (finds < limits::finds_shared_min) return;
  const bool rare = found_ * limits::finds_shared_one_in < asked_;
  if (rare && ++runs_off_ < limits::finds_shared_retry_runs) return;
  runs_off_ = 0;
  if (entries_ == nullptr) {
    entries_.reset(new (std::nothrow) Entry[entries]);
    bytes_.reset(new (std::nothrow) char[limits::shared_bytes_max]);
  }
  if (entries_ == nullptr || bytes_ == nullptr) return entries_.reset();
  if (++run_ == 0) {
    std::fill_n(entries_.get(), entries, Entry{});
    run_ = 1;
  }
  used_ = asked_ = found_ = 0;
  on_ = true;
}

size_t EqualFinds::write_question(uint64_t serial, const Find &find) {
  // The size of a value does not fill a word; zeros after the last value complete one.
  const size_t room = std::min(limits::shared_bytes_max - used_, limits::shared_question_bytes_max);
  const auto limit = static_cast<uint32_t>(find.limit);
  size_t needed = sizeof serial + sizeof limit;
  if (room < needed + word_bytes || find.limit != limit) return 0;
  char *const question = bytes_.get() + used_;
  std::memcpy(question, &serial, sizeof serial);
  std::memcpy(question + sizeof serial, &limit, sizeof limit);
  for (const Value &value : find.key) {
    char *const to = question + needed;
    if (value.is_null()) {
      needed += sizeof null_bytes;
      if (room < needed + word_bytes) return 0;
      std::memcpy(to, &null_bytes, sizeof null_bytes);
      continue;
    }
    if (value.kind() != Value::Kind::bytes) return 0;
    const Bytes text = value.bytes();
    const auto size = static_cast<uint32_t>(text.size());
    needed += sizeof size + text.size();
    if (room < needed + word_bytes) return 0;
    std::memcpy(to, &size, sizeof size);
    copy(to + sizeof size, text);
  }
  std::memset(question + needed, 0, word_bytes);
  return (needed + word_bytes - 1) / word_bytes * word_bytes;
}

const EqualFinds::Answer *EqualFinds::look_up(uint64_t serial, const Find &find) {
  ++asked_;
  free_ = nullptr;
  question_bytes_ = write_question(serial, find);
  if (question_bytes_ == 0) return nullptr;
  const char *const question = bytes_.get() + used_;
  hash_ = hash_of(question, question_bytes_);
  for (size_t at = hash_ % entries, tries = 2; tries != 0; at ^= 1, --tries) {
    Entry &entry = entries_[at];
    if (entry.run != run_) {
      free_ = &entry;
      return nullptr;
    }
    if (entry.hash != hash_ || entry.question_bytes != question_bytes_ ||
        !same_words(bytes_.get() + entry.at, question, question_bytes_))
      continue;
    ++found_;
    answer_ = {{bytes_.get() + entry.at + entry.question_bytes, entry.answer_bytes}, entry.rows};
    return &answer_;
  }
  return nullptr;
}

void EqualFinds::keep(Bytes written, uint64_t rows) {
  if (free_ == nullptr || written.empty() || written.size() > limits::shared_answer_bytes_max) return;
  const size_t bytes = question_bytes_ + written.size();
  if (limits::shared_bytes_max - used_ < bytes) return;
  std::memcpy(bytes_.get() + used_ + question_bytes_, written.data(), written.size());
  *free_ = {run_,
            hash_,
            static_cast<uint32_t>(used_),
            static_cast<uint16_t>(question_bytes_),
            static_cast<uint16_t>(written.size()),
            static_cast<uint32_t>(rows)};
  used_ += bytes;
  free_ = nullptr;
}

}  // namespace postern::sql
