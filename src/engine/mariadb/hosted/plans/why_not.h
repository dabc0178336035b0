// why_not.h: WhyNot, the reasons that a statement has no plan.
#pragma once

#include <cstdint>
#include <string_view>

namespace postern::mariadb {

enum class WhyNot : uint8_t {
#define WHY_NOT(name, words) name,
#include "engine/mariadb/hosted/plans/why_not.def"
#undef WHY_NOT
};

/// The reason in words.
constexpr std::string_view words(WhyNot why) {
  switch (why) {
#define WHY_NOT(name, text) \
  case WhyNot::name:        \
    return text;
#include "engine/mariadb/hosted/plans/why_not.def"
#undef WHY_NOT
  }
  return {};
}

/// Whether the reason lies in the table's present state, not in the statement.
constexpr bool is_of_table(WhyNot why) {
  return why >= WhyNot::no_column;
}

}  // namespace postern::mariadb
