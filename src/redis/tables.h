// tables.h: Tables, the tables that a session's keys are in, and objects of its ops that an arena cannot hold.
//
// Owned by its session and touched by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/small_blocks.h"
#include "contract/batch.h"
#include "items/config_tables.h"
#include "redis/keyspace/open_maps.h"

namespace postern::redis {

/// An object of an op that needs its destructor.
class Kept {
 public:
  Kept() = default;
  virtual ~Kept() = default;
  // Allocated for each request.
  static void *operator new(size_t bytes) { return small_blocks::acquire(bytes); }
  static void operator delete(void *kept, size_t bytes) { small_blocks::release(kept, bytes); }
};

class Tables {
 public:
  /// `maps` outlives it.
  explicit Tables(Maps &maps) : maps_(maps) {}
  Tables(const Tables &) = delete;
  Tables &operator=(const Tables &) = delete;

  /// Called once for each batch, before parsing: adds ops that read the mappings if that is due. False: parsing has to
  /// wait until those are settled.
  bool begin(Batch &batch, uint32_t ops_max);
  /// The ops are done, and nothing points to the kept objects.
  void settled();

  OpenMaps &open() { return open_; }

  /// Lives until the ops of this batch are settled.
  template <class T, class... Arguments>
  T &keep(Arguments &&...arguments) {
    auto made = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    T &kept = *made;
    keep(std::move(made));
    return kept;
  }
  void keep(std::unique_ptr<Kept> made) { keeper_->push_back(std::move(made)); }

  /// While it lives, keep() adds to `kept` of a command that a script runs.
  class Keeping {
   public:
    Keeping(Tables &tables, std::vector<std::unique_ptr<Kept>> &kept) : tables_(tables) { tables.keeper_ = &kept; }
    ~Keeping() { tables_.keeper_ = &tables_.kept_; }
    Keeping(const Keeping &) = delete;
    Keeping &operator=(const Keeping &) = delete;

   private:
    Tables &tables_;
  };

 private:
  Maps &maps_;
  OpenMaps open_;
  uint64_t generation_ = 0;                  // the open tables'
  std::unique_ptr<items::Refresh> refresh_;  // under way
  std::vector<std::unique_ptr<Kept>> kept_;
  std::vector<std::unique_ptr<Kept>> *keeper_ = &kept_;
};

}  // namespace postern::redis
