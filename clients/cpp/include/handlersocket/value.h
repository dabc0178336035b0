// value.h: a value that is sent: NULL, bytes, an integer or a fraction. It borrows its bytes: they have to live until
// the call that takes it returns. Text is sent as it is, in the column's character set.
//
//   connection.insert(user, {7, "Yukari", nullptr, 1.5});
//   connection.find(user, {std::string_view("a\0b", 3)});
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace handlersocket {

class Value {
 public:
  enum class Kind : uint8_t { null, bytes, integer, natural, fraction };

  Value() = default;
  Value(std::nullptr_t) {}
  Value(std::nullopt_t) {}
  Value(std::string_view bytes) : kind_(Kind::bytes), bytes_(bytes) {}
  Value(const std::string &bytes) : Value(std::string_view(bytes)) {}
  /// A null pointer is NULL.
  Value(const char *text) : Value(text == nullptr ? Value() : Value(std::string_view(text))) {}
  Value(std::span<const std::byte> bytes)
      : Value(std::string_view(reinterpret_cast<const char *>(bytes.data()), bytes.size())) {}
  /// 1 or 0, as SQL's TRUE and FALSE.
  Value(std::same_as<bool> auto truth) : kind_(Kind::natural), natural_(truth) {}
  template <std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>) Value(T number) {
    if constexpr (std::signed_integral<T>) {
      kind_ = Kind::integer, integer_ = number;
    } else {
      kind_ = Kind::natural, natural_ = number;
    }
  }
  /// Sent in the fewest digits that mean it. SQL knows no infinity and no NaN: the server refuses them.
  Value(std::floating_point auto number) : kind_(Kind::fraction), fraction_(static_cast<double>(number)) {}
  template <class T>
  Value(const std::optional<T> &value) : Value(value ? Value(*value) : Value()) {}

  Kind kind() const { return kind_; }
  std::string_view bytes() const { return bytes_; }
  int64_t integer() const { return integer_; }
  uint64_t natural() const { return natural_; }
  double fraction() const { return fraction_; }

 private:
  Kind kind_ = Kind::null;
  union {
    std::string_view bytes_{};
    int64_t integer_;
    uint64_t natural_;
    double fraction_;
  };
};

/// Values as a call takes them: {1, "two"}, a vector or an array. For arguments only: it owns nothing.
class Values : public std::span<const Value> {
 public:
  Values(std::initializer_list<Value> values) : std::span<const Value>(values.begin(), values.size()) {}
  template <class Range>
  requires std::convertible_to<const Range &, std::span<const Value>> Values(const Range &values)
      : std::span<const Value>(values) {}
};

}  // namespace handlersocket
