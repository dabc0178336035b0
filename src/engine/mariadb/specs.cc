#include "engine/mariadb/specs.h"

#include <new>

namespace postern::mariadb {
namespace {

/// One string that tells two specs apart whatever bytes their names hold, and keeps all that is in them.
std::string join(const TableSpec &names) {
  std::string key;
  for (const Bytes name : {names.database, names.table, names.index, names.columns, names.filter_columns}) {
    const auto size = static_cast<uint32_t>(name.size());
    key.append(reinterpret_cast<const char *>(&size), sizeof size);
    key.append(name);
  }
  if (names.whole_unique_key) key.append(reinterpret_cast<const char *>(&names.key_columns), sizeof names.key_columns);
  return key;
}

TableSpec split(Bytes key) {
  TableSpec names;
  for (Bytes *const name : {&names.database, &names.table, &names.index, &names.columns, &names.filter_columns}) {
    uint32_t size;
    std::memcpy(&size, key.data(), sizeof size);
    *name = key.substr(sizeof size, size);
    key.remove_prefix(sizeof size + size);
  }
  names.whole_unique_key = !key.empty();
  if (names.whole_unique_key) std::memcpy(&names.key_columns, key.data(), sizeof names.key_columns);
  return names;
}

}  // namespace

void Spec::unuse() noexcept {
  owner_->unuse(this);
}

Specs::~Specs() {
  for (const auto &[key, spec] : by_key_) delete spec;
}

Spec *Specs::use(const TableSpec &names) {
  std::string key = join(names);
  const std::lock_guard guard(mutex_);
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    ++found->second->users_;
    return found->second;
  }
  auto made = std::make_unique<Spec>();
  Spec *const spec = made.get();
  spec->owner_ = this;
  spec->key_ = std::move(key);
  spec->names_ = split(spec->key_);
  spec->users_ = 1;
  spec->serial_ = next_serial_++;
  if (free_ids_.empty()) {
    if (free_ids_.capacity() == serials_.size()) free_ids_.reserve(2 * serials_.size() + 64);
    serials_.push_back(0);
    free_ids_.push_back(static_cast<uint32_t>(serials_.size() - 1));
  }
  if (!bytes_.add(spec->bytes())) return nullptr;
  try {
    by_key_.emplace(spec->key_, spec);
  } catch (const std::bad_alloc &) {
    bytes_.subtract(spec->bytes());
    throw;
  }
  spec->id_ = free_ids_.back();
  free_ids_.pop_back();
  serials_[spec->id_] = spec->serial_;
  return made.release();
}

void Specs::unuse(Spec *spec) noexcept {
  const std::lock_guard guard(mutex_);
  if (--spec->users_ != 0) return;
  by_key_.erase(spec->key_);
  free_ids_.push_back(spec->id_);
  serials_[spec->id_] = 0;
  bytes_.subtract(spec->bytes());
  retired_.fetch_add(1, std::memory_order_relaxed);
  delete spec;
}

}  // namespace postern::mariadb
