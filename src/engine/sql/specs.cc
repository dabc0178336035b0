#include "engine/sql/specs.h"

#include <algorithm>
#include <functional>
#include <new>

namespace postern::sql {
void Spec::unuse() noexcept {
  owner_->unuse(this);
}

Specs::~Specs() {
  for (Spec *const spec : by_names_) delete spec;
}

size_t Specs::Hash::operator()(const TableSpec &names) const {
  size_t hash = names.key_columns + (names.unicode ? 1 : 0);
  const auto mix = [&hash](size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15; };
  for (const Bytes name : {names.database, names.table, names.index}) mix(std::hash<Bytes>()(name));
  for (const std::span<const Bytes> list : {names.columns, names.filter_columns}) {
    mix(list.size());
    for (const Bytes name : list) mix(std::hash<Bytes>()(name));
  }
  return hash;
}

bool Specs::Equal::operator()(const TableSpec &left, const TableSpec &right) const {
  return left.database == right.database && left.table == right.table && left.index == right.index &&
         left.index_position == right.index_position && left.key_columns == right.key_columns &&
         left.unicode == right.unicode && std::ranges::equal(left.columns, right.columns) &&
         std::ranges::equal(left.filter_columns, right.filter_columns);
}

Spec *Specs::use(const TableSpec &names) {
  const std::lock_guard guard(mutex_);
  const auto found = by_names_.find(names);
  if (found != by_names_.end()) {
    ++(*found)->users_;
    return *found;
  }
  std::unique_ptr<Spec> made(new Spec(names));
  Spec *const spec = made.get();
  spec->owner_ = this;
  spec->users_ = 1;
  spec->serial_ = next_serial_++;
  if (free_ids_.empty()) {
    if (free_ids_.capacity() == serials_.size()) free_ids_.reserve(2 * serials_.size() + 64);
    serials_.push_back(0);
    free_ids_.push_back(static_cast<uint32_t>(serials_.size() - 1));
  }
  if (!bytes_.add(spec->bytes())) return nullptr;
  try {
    by_names_.insert(spec);
  } catch (const std::bad_alloc &) {
    bytes_.subtract(spec->bytes());
    throw;
  }
  spec->id_ = free_ids_.back();
  free_ids_.pop_back();
  serials_[spec->id_] = spec->serial_;
  return made.release();
}

std::vector<OpenIndexNotes> Specs::all() const {
  const auto list = [](std::span<const Bytes> names) {
    std::string text;
    for (const Bytes name : names) (text += text.empty() ? "" : ",") += name;
    return text;
  };
  std::vector<OpenIndexNotes> told;
  const std::lock_guard guard(mutex_);
  told.reserve(by_names_.size());
  for (const Spec *const one : by_names_) {
    const TableSpec &names = one->spec();
    told.push_back({.database = std::string(names.database),
                    .table = std::string(names.table),
                    .index = std::string(names.index),
                    .columns = list(names.columns),
                    .filter_columns = list(names.filter_columns),
                    .users = one->users_,
                    .finds = one->counts()->finds(),
                    .rows_examined = one->counts()->rows_examined(),
                    .writes = one->counts()->writes()});
  }
  return told;
}

void Specs::unuse(Spec *spec) noexcept {
  const std::lock_guard guard(mutex_);
  if (--spec->users_ != 0) return;
  by_names_.erase(spec);
  free_ids_.push_back(spec->id_);
  serials_[spec->id_] = 0;
  bytes_.subtract(spec->bytes());
  retired_.fetch_add(1, std::memory_order_relaxed);
  delete spec;
}

}  // namespace postern::sql
