// random_elements.h: RandomWork, elements of a key chosen by chance, each with the same.
#pragma once

#include <cstdint>
#include <vector>

#include "redis/collections.h"

namespace postern::redis {

class RandomWork : public CollectionWork {
 public:
  using CollectionWork::CollectionWork;

 protected:
  /// `count` places below `length`, each once, sorted; all there are if those are less.
  static std::vector<uint64_t> distinct_places(uint64_t length, uint64_t count);
  /// Reads the rows of `table` at these places of the key's elements: a walk from the nearer end. `rows` are as
  /// `places`, which are sorted and each once.
  Task<> read_at(OpenTable &table, const Entry &entry, const std::vector<uint64_t> &places, std::vector<Cells> &rows);
};

/// How many are wanted: SRANDMEMBER, ZRANDMEMBER and HRANDFIELD.
struct RandomChoice {
  /// Beyond that many, and the same ones again, nobody needs an answer.
  static constexpr int64_t repeated_max = 1'000'000;

  bool one = true;         ///< and not in an array
  int64_t count = 1;       ///< negative: so many, and the same may come again
  bool with_more = false;  ///< WITHSCORES or WITHVALUES
};

/// `command key [count [word]]`; without `word` there is no such option. False: told what is wrong.
bool read_random_choice(Call &call, Bytes word, RandomChoice &choice);

/// Tells them of a set or a sorted set.
class RandomElements final : public RandomWork {
 public:
  RandomElements(Call &call, OpenMap &open, Type type, const RandomChoice &choice)
      : RandomWork(call, open), type_(type), choice_(choice) {}

 private:
  Task<> run() override;
  void tell(const std::vector<const Cells *> &chosen);

  const Type type_;
  const RandomChoice choice_;
};

}  // namespace postern::redis
