// tables.h: Tables, a session's way to the tables that its keys are in, and what its ops need that an arena cannot
// hold.
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

/// Something of an op that has to be destroyed.
class Kept {
 public:
  Kept() = default;
  virtual ~Kept() = default;
  // They come and go with requests.
  static void *operator new(size_t bytes) { return small_blocks::acquire(bytes); }
  static void operator delete(void *kept, size_t bytes) { small_blocks::release(kept, bytes); }
};

class Tables {
 public:
  /// `maps` outlives it.
  explicit Tables(Maps &maps) : maps_(maps) {}
  Tables(const Tables &) = delete;
  Tables &operator=(const Tables &) = delete;

  /// To be called once for each batch, before anything is parsed: adds what reads the mappings if that is due. False:
  /// they have to be read before anything can be understood; nothing more is parsed before that is settled.
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

  /// While it lives, keep() adds to `kept`, which belongs to a command that a script carries out.
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
