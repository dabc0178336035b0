// algebra.h: AlgebraWork, several sets or sorted sets put together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "redis/collections/collections.h"

namespace postern::redis {

struct Scored {
  std::string member{};
  double score = 1;
};
/// In the order of their bytes, each once.
using Members = std::vector<Scored>;

/// The parameters of the command; the keys are its own.
struct Algebra {
  enum class Operation : uint8_t { unite, intersect, subtract };
  enum class Aggregate : uint8_t { sum, min, max };

  Operation operation = Operation::unite;
  Aggregate aggregate = Aggregate::sum;
  Type type = Type::set;  ///< the result's; a sorted set may be made of both
  std::vector<Source> sources{};
  std::vector<double> weights{};  ///< none: all are 1
  bool stores = false;
  Bytes target{};  ///< where to
};

/// Adds the keys of a command to the sources, and opens their tables. `open` becomes a mapping that one of them is in,
/// or stays nullptr. Returns false after answering an error.
bool add_sources(Call &call, std::span<const Bytes> keys, std::vector<Source> &sources, OpenMap *&open);

/// `numkeys key [key ...] [LIMIT limit]` of SINTERCARD and ZINTERCARD. Returns false after answering an error.
bool read_counted_keys(Call &call, std::span<const Bytes> &keys, uint64_t &count_max);

class AlgebraWork : public CollectionWork {
 public:
  AlgebraWork(Call &call, OpenMap &open, Algebra algebra)
      : CollectionWork(call, open), algebra_(std::move(algebra)), target_open_(open) {}

 protected:
  const Algebra &algebra() const { return algebra_; }
  /// False: a key is of another type, which is answered. Where the result is stored everything is locked.
  Task<bool> compute(Members &result);
  /// Replaces the target by the result.
  Task<> store_result(const Members &result);

 private:
  struct Input {
    OpenMap *open = nullptr;
    Entry entry{};
    double weight = 1;
  };

  Task<bool> read_entries();
  Task<> read_members(const Input &input, Members &members);
  /// Those of `members` that are in the input, too: looked up, or read.
  Task<> read_common(const Input &input, const Members &members, Members &common);
  Task<> intersect(Members &result);
  Task<> subtract(Members &result);
  StepReply &add_reading(OpenTable &table, const Find &find) {
    return algebra_.stores ? add_lock(table, find) : add_read(table, find);
  }
  double aggregate(double one, double other) const;

  const Algebra algebra_;
  OpenMap &target_open_;
  std::vector<Input> inputs_;  // of keys that are there
  Entry target_;
  size_t absent_ = 0;  // keys that are not there
  bool first_absent_ = false;
};

}  // namespace postern::redis
