#include "redis/slow_log.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace postern::redis {
namespace {

constexpr size_t words_max = 32;
constexpr size_t word_bytes_max = 128;

void put_number(std::string &to, size_t number) {
  const auto short_number = static_cast<uint32_t>(number);
  to.append(reinterpret_cast<const char *>(&short_number), sizeof short_number);
}

size_t take_number(Bytes &from) {
  uint32_t number = 0;
  std::memcpy(&number, from.data(), sizeof number);
  from.remove_prefix(sizeof number);
  return number;
}

}  // namespace

void CommandNote::take(std::span<const Bytes> arguments) {
  constexpr size_t bytes_kept_max = 1'024;
  if (text_.capacity() > bytes_kept_max) std::string().swap(text_);
  text_.clear();
  count_ = arguments.size();
  const size_t kept = arguments.size() > words_max ? words_max - 1 : arguments.size();
  for (const Bytes argument : arguments.first(kept)) {
    put_number(text_, argument.size());
    text_.append(argument.substr(0, word_bytes_max));
  }
}

std::vector<std::string> CommandNote::words() const {
  std::vector<std::string> words;
  if (text_.empty()) words.emplace_back(name_);
  Bytes rest = text_;
  while (!rest.empty()) {
    const size_t size = take_number(rest);
    const Bytes beginning = rest.substr(0, std::min(size, word_bytes_max));
    rest.remove_prefix(beginning.size());
    std::string &word = words.emplace_back(beginning);
    if (size > word_bytes_max) word.append("... (" + std::to_string(size - word_bytes_max) + " more bytes)");
  }
  if (words.size() < count_) words.push_back("... (" + std::to_string(count_ - words.size()) + " more arguments)");
  return words;
}

void SlowLog::note(SlowCommand command) noexcept {
  try {
    const std::lock_guard guard(mutex_);
    command.id = next_id_++;
    commands_.push_front(std::move(command));
    while (commands_.size() > length_max) commands_.pop_back();
  } catch (const std::bad_alloc &) {
    // A log without this one.
  }
}

std::vector<SlowCommand> SlowLog::newest(Bytes user, size_t count) const {
  std::vector<SlowCommand> found;
  const std::lock_guard guard(mutex_);
  for (const SlowCommand &one : commands_) {
    if (found.size() == count) break;
    if (one.user == user) found.push_back(one);
  }
  return found;
}

size_t SlowLog::length(Bytes user) const {
  const std::lock_guard guard(mutex_);
  return static_cast<size_t>(
      std::count_if(commands_.begin(), commands_.end(), [user](const SlowCommand &one) { return one.user == user; }));
}

void SlowLog::forget(Bytes user) {
  const std::lock_guard guard(mutex_);
  std::erase_if(commands_, [user](const SlowCommand &one) { return one.user == user; });
}

void LatencyEvents::note(Event event, int64_t at_s, int64_t ms) noexcept {
  try {
    const std::lock_guard guard(mutex_);
    Series &series = series_[static_cast<size_t>(event)];
    series.worst_ms = std::max(series.worst_ms, ms);
    if (!series.samples.empty() && series.samples.back().at_s == at_s) {
      series.samples.back().ms = std::max(series.samples.back().ms, ms);
      return;
    }
    series.samples.push_back({at_s, ms});
    if (series.samples.size() > samples_max) series.samples.pop_front();
  } catch (const std::bad_alloc &) {
    // One sample less.
  }
}

std::vector<LatencyEvents::Sample> LatencyEvents::history(Event event) const {
  const std::lock_guard guard(mutex_);
  const std::deque<Sample> &samples = series_[static_cast<size_t>(event)].samples;
  return {samples.begin(), samples.end()};
}

int64_t LatencyEvents::worst_ms(Event event) const {
  const std::lock_guard guard(mutex_);
  return series_[static_cast<size_t>(event)].worst_ms;
}

bool LatencyEvents::forget(Event event) {
  const std::lock_guard guard(mutex_);
  return !std::exchange(series_[static_cast<size_t>(event)], {}).samples.empty();
}

}  // namespace postern::redis
