#include "redis/transaction.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "items/cache/keyed_hash.h"
#include "redis/keyspace/key_state.h"

namespace postern::redis {
namespace {

const std::array<uint64_t, 4> &hash_keys() {
  static const std::array<uint64_t, 4> keys = [] {
    std::random_device random;
    std::array<uint64_t, 4> made{};
    for (uint64_t &key : made) key = (uint64_t{random()} << 32) | random();
    return made;
  }();
  return keys;
}

}  // namespace

Print print_of(const Map &map, Row row, int64_t now_ms) {
  if (!state_of(map, row, now_ms).live) return {};
  const std::array<uint64_t, 4> &keys = hash_keys();
  Print print{.first = keys[0], .second = keys[2], .there = true};
  for (const Value &value : row) {
    char room[20];
    const Bytes text = text_of(value, room);
    const uint64_t kind = value.is_null() ? 0 : 1;
    print.first = items::keyed_hash(print.first + kind, keys[1], text);
    print.second = items::keyed_hash(print.second + kind, keys[3], text);
  }
  return print;
}

Flow PrintReply::row(Row row) {
  print_ = print_of(map_, row, now_ms_);
  return Flow::more;
}

void PrintReply::done(const Outcome &outcome) {
  // No row has a key that does not fit its column.
  if (outcome.failure != Failure::none && outcome.failure != Failure::bad_key_value) print_.known = false;
}

bool Transaction::queues(const Command &command) const {
  if (!open_) return false;
  static constexpr std::array<Bytes, 6> at_once{"discard", "exec", "multi", "quit", "reset", "watch"};
  return std::find(at_once.begin(), at_once.end(), command.name) == at_once.end();
}

bool Transaction::queue(const Command &command, std::span<const Bytes> arguments) {
  Program &its = program();
  const std::span<Bytes> kept = its.texts.array<Bytes>(arguments.size());
  if (kept.size() != arguments.size()) return false;
  // The pool counts the large ones among the blocks that hold them.
  size_t uncounted = sizeof(Queued) + kept.size_bytes();
  for (size_t i = 0; i < kept.size(); ++i) {
    kept[i] = its.texts.copy(arguments[i]);
    if (kept[i].size() != arguments[i].size()) return false;
    if (kept[i].size() < limits::block_bytes_recycled_max) uncounted += kept[i].size();
  }
  if (!its.bytes.add(uncounted)) return false;
  its.commands.emplace_back(command, kept);
  return true;
}

Watched *Transaction::watch(uint32_t database, Bytes key, bool &full) {
  Program &its = program();
  if (watched(database, key) != nullptr) return nullptr;
  full = its.watched.size() >= watched_max || !its.bytes.add(sizeof(Watched) + key.size());
  return full ? nullptr : &its.watched.emplace_back(Watched{database, std::string(key), {}});
}

std::unique_ptr<Program> Transaction::take() {
  program();
  open_ = spoiled_ = false;
  return std::move(program_);
}

Program &Transaction::program() {
  if (program_ == nullptr) program_ = std::make_unique<Program>();
  return *program_;
}

}  // namespace postern::redis
