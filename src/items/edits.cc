#include "items/edits.h"

namespace postern::items {
namespace {

/// The number in a counter's column: decimal digits, with or without blanks after them.
bool counted_number(const Value &value, uint64_t &number) {
  switch (value.kind()) {
    case Value::Kind::null: return false;
    case Value::Kind::integer: number = static_cast<uint64_t>(value.integer()); return value.integer() >= 0;
    case Value::Kind::natural: number = value.natural(); return true;
    case Value::Kind::bytes: {
      Bytes digits = value.bytes();
      while (digits.ends_with(' ')) digits.remove_suffix(1);
      return parse_natural(digits, number);
    }
  }
  return false;
}

}  // namespace

Decision ItemEdit::present(Row row, Draft &next) {
  seen_ = {.state = state_of(container_, row)};
  if (is_expired(seen_.state.expires_at, now_)) {
    seen_.expired = true;
    if (command_.action == ItemAction::erase) return Decision::erase;
    // Only commands that make a new item reach an insert.
    return command_.makes_item() ? store(next) : Decision::keep;
  }
  if (command_.compares && seen_.state.cas != command_.cas && command_.action != ItemAction::add) {
    seen_.other_cas = true;
    return Decision::keep;
  }
  seen_.found = true;
  switch (command_.action) {
    case ItemAction::set:
    case ItemAction::replace: return store(next);
    case ItemAction::append:
    case ItemAction::prepend: return join(next);
    case ItemAction::increment:
    case ItemAction::decrement: return count(row, next);
    case ItemAction::get:
    case ItemAction::touch: renew_expiry(next); return Decision::write;
    case ItemAction::erase: return Decision::erase;
    default: return Decision::keep;  // add
  }
}

Decision ItemEdit::store(Draft &next) {
  for (uint32_t column = container_.first_value_column(); column < values_.size(); ++column)
    next.set(column, values_[column]);
  return Decision::write;
}

/// The client's flags choose the value column of append and prepend.
Decision ItemEdit::join(Draft &next) {
  const uint32_t chosen = command_.flags < container_.value_columns() ? command_.flags : 0;
  next.extend(container_.first_value_column() + chosen, command_.value, command_.action == ItemAction::prepend);
  renew_cas(next);
  return Decision::write;
}

/// The row's flags choose the value column of increment and decrement.
Decision ItemEdit::count(Row row, Draft &next) {
  const uint32_t chosen = seen_.state.flags < container_.value_columns() ? seen_.state.flags : 0;
  const uint32_t column = container_.first_value_column() + chosen;
  uint64_t number = 0;
  if (!counted_number(row[column], number)) {
    seen_.no_number = true;
    return Decision::keep;
  }
  number = command_.changed(number);
  seen_.number = number;
  next.set(column, Value::of_natural(number));
  renew_cas(next);
  if (command_.touches) renew_expiry(next);
  return Decision::write;
}

void ItemEdit::renew_cas(Draft &next) {
  if (!container_.keeps_cas()) return;
  next.set(container_.cas_column(), values_[container_.cas_column()]);
  seen_.state.cas = values_[container_.cas_column()].natural();
}

void ItemEdit::renew_expiry(Draft &next) {
  if (!container_.keeps_expiry()) return;
  next.set(container_.expiry_column(), values_[container_.expiry_column()]);
  seen_.state.expires_at = values_[container_.expiry_column()].integer();
}

}  // namespace postern::items
