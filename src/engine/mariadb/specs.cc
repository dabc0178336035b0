#include "engine/mariadb/specs.h"

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
  auto *const spec = new Spec;
  spec->owner_ = this;
  spec->key_ = std::move(key);
  spec->names_ = split(spec->key_);
  spec->users_ = 1;
  spec->serial_ = next_serial_++;
  if (free_ids_.empty()) {
    spec->id_ = next_id_++;
  } else {
    spec->id_ = free_ids_.back();
    free_ids_.pop_back();
  }
  by_key_.emplace(spec->key_, spec);
  return spec;
}

void Specs::unuse(Spec *spec) noexcept {
  const std::lock_guard guard(mutex_);
  if (--spec->users_ != 0) return;
  by_key_.erase(spec->key_);
  free_ids_.push_back(spec->id_);
  delete spec;
}

}  // namespace postern::mariadb
