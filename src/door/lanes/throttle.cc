#include "door/lanes/throttle.h"

#include <algorithm>

#include "base/limits.h"

namespace postern::door {
namespace {

/// After a minute without a failure all earlier ones are forgiven.
constexpr int64_t forgiven_ms = 60'000;

}  // namespace

const Throttle::Rule Throttle::rules_[rule_count] = {
    // An account from one place: a person's mistakes are free; a program that repeats them gets slower and slower.
    {.free = 3, .delay_ms = 100, .delay_ms_max = 5'000, .backlog_ms = 10'000, .turns = true},
    // An address: many applications may share it.
    {.free = 30, .delay_ms = 20, .delay_ms_max = 100, .backlog_ms = 5'000, .turns = true},
    // An account from anywhere: a stranger must not keep its owner out, so each login waits only a moment.
    {.free = 30, .delay_ms = 50, .delay_ms_max = 500, .backlog_ms = 500, .turns = false},
};

std::string Throttle::key(size_t rule, Bytes place, Bytes user) {
  std::string key(1, static_cast<char>('0' + rule));
  if (rule != 2) key.append(place);
  key += '\0';
  // Only a client that wants to fill our memory sends names longer than the server allows.
  if (rule != 1) key.append(user.substr(0, limits::name_bytes_max * 2));
  return key;
}

int64_t Throttle::delay_ms(const Rule &rule, const Entry &entry, int64_t now_ms) {
  if (entry.failures < rule.free || now_ms - entry.failed_ms > forgiven_ms) return 0;
  const uint32_t doublings = std::min<uint32_t>(entry.failures - rule.free, 20);
  return std::min(rule.delay_ms << doublings, rule.delay_ms_max);
}

Throttle::Verdict Throttle::ask(Bytes place, Bytes user, int64_t now_ms) {
  const std::lock_guard guard(mutex_);
  Verdict verdict{.refused = false, .due_ms = now_ms};
  Entry *taken[rule_count] = {};
  int64_t delays_ms[rule_count] = {};
  for (size_t i = 0; i < rule_count; ++i) {
    Entry *const entry = find(key(i, place, user));
    if (entry == nullptr) continue;
    delays_ms[i] = delay_ms(rules_[i], *entry, now_ms);
    if (delays_ms[i] == 0) continue;
    const int64_t from_ms = rules_[i].turns ? std::max(now_ms, entry->next_turn_ms) : now_ms;
    if (from_ms - now_ms > rules_[i].backlog_ms) return {.refused = true, .due_ms = now_ms};
    verdict.due_ms = std::max(verdict.due_ms, from_ms + delays_ms[i]);
    taken[i] = entry;
  }
  for (size_t i = 0; i < rule_count; ++i)
    if (taken[i] != nullptr) taken[i]->next_turn_ms = std::max(now_ms, taken[i]->next_turn_ms) + delays_ms[i];
  return verdict;
}

void Throttle::note(Bytes place, Bytes user, bool succeeded, int64_t now_ms) {
  const std::lock_guard guard(mutex_);
  for (size_t i = 0; i < rule_count; ++i) {
    const std::string name = key(i, place, user);
    if (succeeded) {
      // A success of this account from this place says nothing about others.
      if (Entry *const entry = i == 0 ? find(name) : nullptr) entry->failures = 0;
      continue;
    }
    Entry &entry = find_or_add(name);
    if (now_ms - entry.failed_ms > forgiven_ms) entry.failures = 0;
    ++entry.failures;
    entry.failed_ms = now_ms;
  }
}

Throttle::Entry *Throttle::find(const std::string &key) {
  const auto found = by_key_.find(key);
  return found != by_key_.end() ? &*found->second : nullptr;
}

Throttle::Entry &Throttle::find_or_add(const std::string &key) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return entries_.front();
  }
  if (entries_.size() >= limits::throttle_entries_max) {
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
  std::list<Entry> added;
  added.push_front({.key = key});
  by_key_.emplace(added.front().key, added.begin());
  entries_.splice(entries_.begin(), added);
  return entries_.front();
}

}  // namespace postern::door
