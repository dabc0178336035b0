// plan_values.h: the values of a statement that is planned once for many: which of them need a plan of their own, and
// how the others stand in its text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "contract/value.h"

namespace postern::sql {

/// A plan with LIMIT is made for so many rows, the next power of two; executions take the first ones.
uint64_t limit_class(uint64_t rows);

/// True for a number that LIMIT or OFFSET accepts. `rows`: capped, so that two can be added.
bool is_row_count(const Value &value, uint64_t &rows);

/// True for a number above every signed integer: servers compare such numbers differently.
bool is_beyond(const Value &value);
/// Whether it is written with a point, or was bound as a DECIMAL.
bool is_decimal(const Value &value);

/// Equal values have equal hashes; their types do not count.
uint64_t hash_of_values(std::span<const Value> values);

struct LiteralRules {
  bool any_byte = false;  ///< a byte above 127 is never a part of a quote or a backslash in the client's character set
  bool backslash_escapes = true;
};

/// Appends the value as a literal. Returns false if it has none that every server reads alike: NULL, binary strings,
/// and texts with a NUL or with bytes that the rules exclude.
bool append_literal(std::string &text, const Value &value, LiteralRules rules);

}  // namespace postern::sql
