// specs.h: Specs, the names of all open indexes, each once, shared by all slots and executors.
//
// An executor keeps its open table for a spec in an array under Spec::id(); a new serial() means that the id was given
// to another spec since.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "contract/executor.h"
#include "contract/kept_spec.h"

namespace postern::sql {

class Specs;

/// The counters of a spec. Executors share them: once a client has its answer, in the middle of a batch, the last slot
/// of the spec may be closed, and the spec deleted.
class SpecCounts {
 public:
  /// Adds the counts of a batch. Any thread.
  void add(uint64_t finds, uint64_t rows_examined, uint64_t writes) {
    if (finds != 0) finds_.fetch_add(finds, std::memory_order_relaxed);
    if (rows_examined != 0) rows_examined_.fetch_add(rows_examined, std::memory_order_relaxed);
    if (writes != 0) writes_.fetch_add(writes, std::memory_order_relaxed);
  }
  uint64_t finds() const { return finds_.load(std::memory_order_relaxed); }
  uint64_t rows_examined() const { return rows_examined_.load(std::memory_order_relaxed); }
  uint64_t writes() const { return writes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> finds_{0};
  std::atomic<uint64_t> rows_examined_{0};
  std::atomic<uint64_t> writes_{0};
};

class Spec final : public Binding {
 public:
  void unuse() noexcept override;
  const TableSpec &spec() const noexcept override { return *names_; }

  const std::shared_ptr<SpecCounts> &counts() const { return counts_; }

  uint32_t id() const { return id_; }
  uint64_t serial() const { return serial_; }

 private:
  friend class Specs;
  Specs *owner_ = nullptr;
  explicit Spec(const TableSpec &names) : names_(names), counts_(std::make_shared<SpecCounts>()) {}
  const KeptSpec names_;
  const std::shared_ptr<SpecCounts> counts_;
  uint32_t id_ = 0;
  uint64_t serial_ = 0;
  uint64_t users_ = 0;  // guarded by Specs::mutex_
  size_t bytes() const { return sizeof(Spec) + sizeof(SpecCounts) + names_.bytes(); }
};

/// Thread-safe. The mutex is a leaf, taken when an index is opened or closed and never per request.
class Specs {
 public:
  Specs() = default;
  Specs(const Specs &) = delete;
  Specs &operator=(const Specs &) = delete;
  ~Specs();

  /// The spec with these names, with one more use, to be returned by Spec::unuse(). nullptr if all specs together
  /// exceed the bound on buffers. Throws std::bad_alloc.
  Spec *use(const TableSpec &names);

  /// The number of specs deleted so far. Any thread, no lock.
  uint64_t retired() const { return retired_.load(std::memory_order_relaxed); }
  /// All specs, for INFORMATION_SCHEMA. Any thread. Throws std::bad_alloc.
  std::vector<OpenIndexNotes> all() const;
  /// Calls `visit`, with the mutex held, with the serial numbers of all specs by id; 0: none.
  template <class Visit>
  void visit_serials(Visit visit) {
    const std::lock_guard guard(mutex_);
    visit(std::span<const uint64_t>(serials_));
  }

 private:
  friend class Spec;
  void unuse(Spec *spec) noexcept;

  /// Both identify a spec by its names only.
  struct Hash {
    using is_transparent = void;
    size_t operator()(const TableSpec &names) const;
    size_t operator()(const Spec *spec) const { return (*this)(spec->spec()); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const TableSpec &left, const TableSpec &right) const;
    bool operator()(const Spec *left, const Spec *right) const { return left == right; }
    bool operator()(const TableSpec &left, const Spec *right) const { return (*this)(left, right->spec()); }
    bool operator()(const Spec *left, const TableSpec &right) const { return (*this)(left->spec(), right); }
  };

  mutable std::mutex mutex_;
  std::unordered_set<Spec *, Hash, Equal> by_names_;
  std::vector<uint32_t> free_ids_;  // with room for every id, so that giving one back allocates nothing
  std::vector<uint64_t> serials_;   // by id; 0: free
  pool::Tally bytes_;
  std::atomic<uint64_t> retired_{0};
  uint64_t next_serial_ = 1;
};

/// Holds one use of a spec; empty after release().
class SpecUse {
 public:
  explicit SpecUse(Spec *spec = nullptr) : spec_(spec) {}
  SpecUse(SpecUse &&other) noexcept : spec_(other.release()) {}
  SpecUse &operator=(SpecUse &&other) noexcept {
    if (this != &other) {
      if (spec_ != nullptr) spec_->unuse();
      spec_ = other.release();
    }
    return *this;
  }
  ~SpecUse() {
    if (spec_ != nullptr) spec_->unuse();
  }
  Spec *get() const { return spec_; }
  Spec *release() { return std::exchange(spec_, nullptr); }

 private:
  Spec *spec_;
};

}  // namespace postern::sql
