// random_elements.h: RandomWork, elements of a key chosen by chance, each with the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/limits.h"
#include "redis/values/collections.h"

namespace postern::redis {

class RandomWork : public CollectionWork {
 public:
  using CollectionWork::CollectionWork;

 protected:
  /// Whether so many elements of a key may be answered at all. The key's own row may count more than there are.
  static bool may_choose(const Entry &entry, uint64_t count) {
    return std::min(count, static_cast<uint64_t>(entry.len)) <= limits::edit_reply_bytes_max / sizeof(Cell);
  }
  /// Reads the first `columns` of the rows of `table` at these places of the key's elements: a walk from the nearer
  /// end. `rows` are as `places`, which are sorted and each once.
  Task<> read_at(OpenTable &table, const Entry &entry, const std::vector<uint64_t> &places, size_t columns,
                 std::vector<Cells> &rows);
};

/// How many are wanted: SRANDMEMBER, ZRANDMEMBER and HRANDFIELD.
struct RandomChoice {
  /// Beyond that many, and the same ones again, nobody needs an answer.
  static constexpr int64_t repeated_max = 1'000'000;

  bool one = true;         ///< and not in an array
  int64_t count = 1;       ///< negative: so many, and the same may come again
  bool with_more = false;  ///< WITHSCORES or WITHVALUES

  /// The places below `length` that are chosen now, in the order of the answer.
  std::vector<uint64_t> places(uint64_t length) const;
  /// Answers rows of elements.
  void tell(Writer &writer, Type type, const std::vector<const Cells *> &rows) const;
  void tell_absent(Writer &writer) const { one ? writer.nil() : writer.array(0); }
};

/// `command key [count [word]]`; without `word` there is no such option. Returns false after answering an error.
bool read_random_choice(Call &call, Bytes word, RandomChoice &choice);

/// Answers them from a set, a sorted set or a hash of the generic keyspace.
class RandomElements final : public RandomWork {
 public:
  RandomElements(Call &call, OpenMap &open, Type type, const RandomChoice &choice)
      : RandomWork(call, open), type_(type), choice_(choice) {}

 private:
  Task<> run() override;

  const Type type_;
  const RandomChoice choice_;
};

}  // namespace postern::redis
